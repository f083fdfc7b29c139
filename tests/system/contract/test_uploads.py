"""`POST /manage/files`, and forms with files: over sockets, to a gateway that knows clips."""

import hashlib
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.clip_gateway import ClipGateway, serving_clips
from tests.support.gateways import eventually
from tests.support.media_files import (
    large_png,
    long_mp3,
    long_ogg,
    many_frames,
    padded_ogg,
    picture,
    sound,
    zip_bomb,
)
from tests.support.page_visitor import words
from tests.support.people_gateway import Person
from tests.support.platform_stand_in import ADA, BEN, CLEO

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
UPLOAD_BYTES = 1 << 20
NO_PICTURE = "must be a file of one of these types: PNG, GIF or WEBP"
TOO_LARGE = "must not be larger than 512 KiB"
NO_SOUND = "must be a file of one of these types: MP3 or OGG"
DAMAGED = "must be a whole file, and this one is damaged"
TOO_MANY_PIXELS = "must not have more than 32 million pixels, in all its frames together"
TOO_MANY_FRAMES = "must not have more than 200 frames"
TOO_LONG = "must not be longer than 5.2 seconds"
NAMED = "../../etc/passwd\\..\\x.png"
Parts = list[tuple[str, tuple[str | None, Any]]]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipGateway]:
    folder = tmp_path_factory.mktemp("uploads") / "data"
    with serving_clips(folder, **{"files.upload_bytes": UPLOAD_BYTES}) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def ada(gateway: ClipGateway) -> Person:
    return gateway.person(ADA)


def error_of(answer: requests.Response, status: int = 400) -> dict[str, str]:
    assert answer.status_code == status, answer.text
    found: dict[str, str] = answer.json().get("fields", {})
    return found


def kept_files(gateway: ClipGateway) -> set[str]:
    """Return the names of all files in the folder of uploads."""
    folder = Path(gateway.folder) / "blobs"
    return {each.name for each in folder.rglob("*") if each.is_file()} if folder.exists() else set()


def children_of(gateway: ClipGateway) -> set[int]:
    """Return the numbers of the processes that a gateway has started, also of those that have ended."""
    tasks = Path(f"/proc/{gateway.process.pid}/task").iterdir()
    return {int(each) for task in tasks for each in (task / "children").read_text().split()}


def decoders_of(gateway: ClipGateway) -> list[int]:
    """Return the numbers of the decoder's processes."""
    lines = {each: Path(f"/proc/{each}/cmdline").read_bytes() for each in children_of(gateway)}
    return [each for each, line in lines.items() if b"decoder.process" in line]


def is_gone(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


# -- The API ------------------------------------------------------------------------------------------------


def test_an_upload_answers_the_facts_of_the_clean_file(gateway: ClipGateway) -> None:
    file = gateway.uploaded(picture("GIF", frames=3), "pictures")
    digest = file.pop("digest")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest in "".join(kept_files(gateway))
    look = file.pop("look")
    assert re.fullmatch("[0-9a-f]{16}", look)
    assert {name: file[name] for name in ("media_type", "width", "height", "frames")} == {
        "media_type": "image/gif",
        "width": 128,
        "height": 85,
        "frames": 3,
    }
    heard = gateway.uploaded(sound(seconds=0.5), "sound")
    assert (heard["media_type"], heard["length_ms"], len(heard["peaks"])) == ("audio/mpeg", 500, 64)


def test_the_same_file_twice_is_one_file(gateway: ClipGateway) -> None:
    first = gateway.uploaded(picture(), "pictures")
    before = kept_files(gateway)
    assert gateway.uploaded(picture(), "pictures", BEN) == first
    assert kept_files(gateway) == before


@pytest.mark.parametrize(
    ("content", "field", "says"),
    [
        pytest.param(lambda: SVG, "pictures", NO_PICTURE, id="SVG in disguise"),
        pytest.param(lambda: b"", "pictures", NO_PICTURE, id="nothing"),
        pytest.param(lambda: picture("JPEG"), "pictures", NO_PICTURE, id="another type"),
        pytest.param(lambda: b"\x89PNG\r\n\x1a\n" + picture("GIF"), "pictures", NO_PICTURE, id="wrong magic"),
        pytest.param(lambda: picture()[:200], "pictures", DAMAGED, id="a cut picture"),
        pytest.param(lambda: sound()[:2_000], "sound", DAMAGED, id="a cut sound"),
        pytest.param(lambda: b"%PDF-1.7\n" + picture(), "pictures", NO_PICTURE, id="a polyglot with a head"),
        pytest.param(lambda: picture("GIF") + b"<script>", "pictures", DAMAGED, id="a polyglot with a tail"),
        pytest.param(
            lambda: large_png(50_000, 50_000), "pictures", TOO_MANY_PIXELS, id="a bomb of dimensions"
        ),
        pytest.param(
            lambda: picture("GIF", frames=40, size=(1_000, 1_000)),
            "pictures",
            TOO_MANY_PIXELS,
            id="a bomb of frames",
        ),
        pytest.param(lambda: many_frames("GIF", 201), "pictures", TOO_MANY_FRAMES, id="201 frames"),
        pytest.param(
            lambda: picture("WEBP", frames=2), "cover", "must not have more than 1 frames", id="2 frames"
        ),
        pytest.param(zip_bomb, "pictures", NO_PICTURE, id="a ZIP bomb"),
        pytest.param(zip_bomb, "sound", NO_SOUND, id="a ZIP bomb for a sound"),
        pytest.param(lambda: long_ogg(200_000), "sound", TOO_LONG, id="hours of Ogg in 200 KB"),
        pytest.param(lambda: long_mp3(200_000), "sound", TOO_LONG, id="minutes of MP3 in 200 KB"),
        pytest.param(lambda: sound(seconds=5.3), "sound", TOO_LONG, id="5.3 seconds"),
        pytest.param(lambda: padded_ogg((512 << 10) + 1), "sound", TOO_LARGE, id="512 KiB + 1"),
        pytest.param(picture, "sound", NO_SOUND, id="a picture for a sound"),
    ],
)
def test_a_bad_file_is_refused_with_the_field_and_the_reason(
    gateway: ClipGateway, content: Callable[[], bytes], field: str, says: str
) -> None:
    before = kept_files(gateway)
    assert error_of(gateway.upload(content(), field)) == {field: says}
    assert kept_files(gateway) == before


@pytest.mark.parametrize("query", ["kind=bots&field=name", "kind=clips&field=name", "kind=x&field=sound"])
def test_an_upload_is_for_a_field_of_files(gateway: ClipGateway, query: str) -> None:
    answer = gateway.operate("POST", f"/manage/files?user={ADA}&{query}")
    assert error_of(answer) == {"field": "must be a field with files"}


def test_an_upload_names_its_user(gateway: ClipGateway) -> None:
    assert set(error_of(gateway.operate("POST", "/manage/files?kind=clips&field=sound"))) == {"user"}


def test_a_user_under_a_quarantine_for_submit_uploads_nothing(gateway: ClipGateway) -> None:
    path = f"/manage/users/{BEN}/quarantines/submit"
    gateway.done("PUT", path, {"reason": "Copies others."})
    before = kept_files(gateway)
    assert gateway.upload(picture("WEBP"), "pictures", BEN).status_code == 403
    assert kept_files(gateway) == before
    gateway.done("DELETE", path)


def test_an_upload_needs_the_operator_token(gateway: ClipGateway) -> None:
    url = f"{gateway.base_url}/manage/files?user={ADA}&kind=clips&field=cover"
    assert gateway.session.post(url, data=picture()).status_code == 401


def test_a_body_that_is_too_large_is_not_read(gateway: ClipGateway) -> None:
    answer = gateway.upload(bytes(UPLOAD_BYTES + 1), "cover")
    assert answer.status_code == 413
    assert str(UPLOAD_BYTES) in answer.json()["error"]
    # Without the token, a file may be no larger than any other body: it is not kept in memory either.
    url = f"{gateway.base_url}/manage/files?user={ADA}&kind=clips&field=cover"
    assert gateway.session.post(url, data=bytes(70_000)).status_code == 401
    other = gateway.session.post(
        f"{gateway.base_url}/manage/clips",
        data=bytes(70_000),
        headers={"Authorization": f"Bearer {gateway.operator_token}"},
    )
    assert other.status_code == 413


def half_upload(gateway: ClipGateway, address: str) -> tuple[socket.socket, bytes]:
    """Begin an upload of the greatest size, and return the first bytes of the answer to its head."""
    host, port = gateway.base_url.removeprefix("http://").split(":")
    half = socket.create_connection((host, int(port)), source_address=(address, 0))
    half.sendall(
        f"POST /manage/files?user={ADA}&kind=clips&field=cover HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {gateway.operator_token}\r\nContent-Length: {UPLOAD_BYTES}\r\n"
        "Expect: 100-continue\r\n\r\n".encode()
    )
    return half, half.recv(12)


def test_bodies_of_uploads_take_a_bounded_memory_together_and_those_of_an_address_half_of_it(
    gateway: ClipGateway,
) -> None:
    with ExitStack() as stack:
        for address in ("127.0.0.2", "127.0.0.3"):
            for status in (100, 100, 100, 100, 503):  # UPLOADS_AT_ONCE is 8
                half, begin = half_upload(gateway, address)
                stack.enter_context(half)
                assert begin == f"HTTP/1.1 {status}".encode()
            # The others have room as long as not all of it is taken.
            assert gateway.upload(picture(), "cover").status_code == (201 if address == "127.0.0.2" else 503)
        assert gateway.upload(picture(), "cover").headers["retry-after"] == "5"
        pieces = iter([bytes(70_000)])  # without a length
        assert gateway.upload(pieces, "cover").status_code == 503  # type: ignore[arg-type]
        assert gateway.done("GET", "/manage/clips") is not None
    eventually(lambda: gateway.upload(picture(), "cover").status_code == 201)


def test_a_user_uploads_120_files_a_minute_at_most(tmp_path: Path) -> None:
    with serving_clips(tmp_path / "data", **{"files.uploads_per_minute": 2}) as gateway:
        statuses = [gateway.upload(picture(), "cover").status_code for _ in range(3)]
        assert statuses == [201, 201, 429]
        assert gateway.upload(picture(), "cover", BEN).status_code == 201
        ada = gateway.person(ADA)
        refused = sent(ada, "/clips/new", {"name": "A good name"}, [image("cover", picture())])
        assert (refused.status_code, 'value="A good name"' in refused.text) == (429, True)


def test_metrics_and_the_debug_page_tell_of_files_and_uploads(tmp_path: Path) -> None:
    with serving_clips(tmp_path / "data") as gateway:
        gateway.uploaded(picture(), "cover")
        assert gateway.upload(SVG, "cover").status_code == 400
        files = gateway.done("GET", "/debug/overview.json")["files"]
        assert (files["count"], files["uploads"]) == (1, {"clean": 1, "refused": 1, "failed": 0})
        assert files["decoder_starts"] == 1
        scraped = gateway.operate("GET", "/metrics").text
        assert f"votegate_files_bytes {files['bytes']:.1f}" in scraped
        assert 'votegate_file_uploads_total{outcome="refused"} 1.0' in scraped


def test_a_cut_upload_leaves_nothing(gateway: ClipGateway) -> None:
    before = kept_files(gateway)
    host, port = gateway.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        head = f"POST /manage/files?user={ADA}&kind=clips&field=cover HTTP/1.1\r\nHost: x\r\n"
        token = f"Authorization: Bearer {gateway.operator_token}\r\nContent-Length: 90000\r\n\r\n"
        half.sendall((head + token).encode() + picture()[:300])
    gateway.done("GET", "/manage/clips")
    assert kept_files(gateway) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_decoder_costs_nothing_but_its_upload(gateway: ClipGateway, number: signal.Signals) -> None:
    gateway.uploaded(picture(), "cover")
    (decoder,) = decoders_of(gateway)
    before = kept_files(gateway)
    os.kill(decoder, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        hangs = threads.submit(gateway.upload, picture(size=(20, 20)), "cover")
        done = gateway.person(None)  # another session: the gateway goes on meanwhile
        for _ in range(20):
            assert done.get("/clips.json").status_code == 200
        assert not hangs.done()
        os.kill(decoder, number)
        os.kill(decoder, signal.SIGCONT)
        refused = hangs.result()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert refused.json()["error"] == "The file could not be read right now. Try again in a moment."
    assert kept_files(gateway) == before
    assert gateway.uploaded(picture(size=(20, 20)), "cover")["width"] == 20
    eventually(lambda: decoder not in children_of(gateway))  # no zombie
    assert len(decoders_of(gateway)) == 1
    assert gateway.process.poll() is None


def test_a_killed_gateway_takes_its_decoder_with_it(tmp_path: Path) -> None:
    with serving_clips(tmp_path / "data") as gateway:
        gateway.uploaded(picture(), "cover")
        (decoder,) = decoders_of(gateway)
        os.kill(decoder, signal.SIGSTOP)
        gateway.close()  # with SIGKILL
        eventually(lambda: is_gone(decoder))
        gateway.start()


def test_a_listing_names_files_by_their_digests(gateway: ClipGateway) -> None:
    heard, seen = gateway.uploaded(sound(), "sound"), gateway.uploaded(picture(), "pictures")
    clip = gateway.done(
        *("POST", "/manage/clips"),
        {"owner_id": ADA, "name": "Ding", "sound": heard["digest"], "pictures": [seen["digest"]]},
    )
    assert (clip["sound"], clip["cover"], clip["pictures"]) == (heard, None, [seen])
    edited = {"owner_id": ADA, "name": "Dong", "sound": heard["digest"], "cover": None, "pictures": []}
    assert gateway.done("PUT", f"/manage/clips/{clip['id']}", edited)["pictures"] == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"sound": "0" * 64},
            {"sound": "must be the digest of an uploaded file: upload it, or do that again"},
        ),
        ({"sound": "../x"}, {"sound": "must be the digest of an uploaded file: upload it, or do that again"}),
        (
            {"sound": {"digest": "x"}},
            {"sound": "must be the digest of an uploaded file: upload it, or do that again"},
        ),
        ({}, {"sound": "is required"}),
    ],
)
def test_a_listing_names_no_other_file(gateway: ClipGateway, fields: Any, says: dict[str, str]) -> None:
    answer = gateway.operate("POST", "/manage/clips", {"owner_id": ADA, "name": "Ding", **fields})
    found = error_of(answer)
    assert found.keys() == says.keys()
    if fields:
        assert found == says


def test_a_file_of_another_field_is_refused(gateway: ClipGateway) -> None:
    heard, cover = gateway.uploaded(sound(), "sound"), gateway.uploaded(picture(), "cover")
    assert cover["width"] == 300
    named = {"owner_id": ADA, "name": "Ding", "sound": cover["digest"], "pictures": [cover["digest"]]}
    assert error_of(gateway.operate("POST", "/manage/clips", named)) == {
        "sound": "must be a file of one of these types: MP3 or OGG",
        "pictures.0": "must not be larger than 128 x 128 pixels",
    }
    twice = gateway.uploaded(picture(), "pictures")["digest"]
    doubled = {"owner_id": ADA, "name": "Ding", "sound": heard["digest"], "pictures": [twice, twice]}
    assert error_of(gateway.operate("POST", "/manage/clips", doubled)) == {
        "pictures": "must not name one twice"
    }


def test_the_command_uploads_a_file(gateway: ClipGateway, tmp_path: Path) -> None:
    file = tmp_path / "cover.png"
    file.write_bytes(picture())
    asked = ("files", "upload", str(file), "--user", ADA, "--kind", "clips", "--field", "cover")
    ended = gateway.ended("admin", "--url", gateway.base_url, *asked, "--json")
    assert ended.returncode == 0, ended.stderr
    assert '"image/png"' in ended.stdout


def test_the_command_of_an_edit_keeps_the_files(gateway: ClipGateway) -> None:
    clip = gateway.submitted(7)
    seen = gateway.uploaded(picture(), "pictures")["digest"]
    asked = ("clips", "edit", clip["id"], "--name", "Dong", "--picture", seen)
    ended = gateway.ended("admin", "--url", gateway.base_url, *asked)
    assert ended.returncode == 0, ended.stderr
    shown = gateway.done("GET", f"/manage/clips/{clip['id']}")
    assert (shown["name"], shown["sound"], shown["cover"]) == ("Dong", clip["sound"], clip["cover"])
    assert [each["digest"] for each in shown["pictures"]] == [seen]


def test_the_data_of_a_user_names_the_files(gateway: ClipGateway) -> None:
    clip, waiting = gateway.submitted(11, BEN), gateway.uploaded(picture(size=(41, 41)), "cover", BEN)
    files = gateway.person(BEN).get("/me/data.json").json()["files"]
    named = {(each["listing"], each["digest"]) for each in files}
    ref = f"clips/{clip['id']}"
    assert {
        (ref, clip["sound"]["digest"]),
        (ref, clip["cover"]["digest"]),
        (None, waiting["digest"]),
    } <= named
    cover = next(each for each in files if each["digest"] == clip["cover"]["digest"])
    assert gateway.person(BEN).get(cover["path"]).status_code == 200


def test_an_erasure_forgets_who_has_sent_a_file(gateway: ClipGateway) -> None:
    waiting = gateway.uploaded(picture(size=(43, 43)), "cover", CLEO)
    cleo = gateway.person(CLEO)
    assert cleo.get(f"/files/{waiting['digest']}.png").status_code == 200
    gateway.done("DELETE", f"/manage/users/{CLEO}")
    again = gateway.person(CLEO)
    assert again.get("/me/data.json").json()["files"] == []
    assert again.get(f"/files/{waiting['digest']}.png").status_code == 404


# -- Pages --------------------------------------------------------------------------------------------------


def sent(person: Person, path: str, fields: dict[str, str | list[str]], files: Parts) -> requests.Response:
    """Post a form as a browser does: multipart, with an empty part for each input without a file."""
    parts: Parts = []
    for name, value in fields.items():
        parts += [(name, (None, each)) for each in ([value] if isinstance(value, str) else value)]
    return person.request("POST", path, files=parts + files)


def image(name: str, content: bytes) -> tuple[str, tuple[str | None, Any]]:
    return (name, (NAMED, content))


def submitted(person: Person, name: str, files: Parts) -> str:
    answer = sent(person, "/clips/new", {"name": name}, files)
    assert answer.status_code == 303, words(answer.text)
    found = re.fullmatch("/clips/([0-9a-f]{12})/manage", answer.headers["location"])
    assert found is not None
    return found[1]


def test_people_submit_files_on_a_page_without_script(gateway: ClipGateway, ada: Person) -> None:
    asked = ada.page("/clips/new")
    assert (
        'type="file" id="pictures-file" name="pictures" accept="image/png,image/gif,image/webp" multiple'
        in asked
    )
    assert 'enctype="multipart/form-data"' in asked
    files = [image("sound", sound()), image("pictures", picture()), image("pictures", picture("GIF"))]
    clip = gateway.done("GET", f"/manage/clips/{submitted(ada, 'Gong', [*files, ('cover', ('', b''))])}")
    assert [each["media_type"] for each in clip["pictures"]] == ["image/png", "image/gif"]
    assert (clip["sound"]["length_ms"], clip["cover"], clip["owner_id"]) == (1_000, None, ADA)
    assert not any("passwd" in name for name in kept_files(gateway))


def test_a_form_that_is_sent_twice_leads_to_one_listing(ada: Person) -> None:
    files = [image("sound", sound(seconds=0.7))]
    assert submitted(ada, "Twice", files) == submitted(ada, "Twice", files)


def test_a_refused_form_keeps_texts_and_good_files(gateway: ClipGateway, ada: Person) -> None:
    files = [image("sound", sound(seconds=0.8)), image("cover", SVG), image("pictures", picture())]
    refused = sent(ada, "/clips/new", {"name": "A good name"}, files)
    assert refused.status_code == 400
    text = words(refused.text)
    assert "This is no file of these types: PNG, JPG or WEBP. Export it as one of them." in text
    assert 'value="A good name"' in refused.text
    kept = dict(re.findall(r'name="(sound|pictures)" value="([0-9a-f]{64})"', refused.text))
    assert kept.keys() == {"sound", "pictures"}
    again = sent(ada, "/clips/new", {"name": "A good name", **kept}, [])
    assert again.status_code == 303, words(again.text)
    clip = gateway.done("GET", f"/manage/clips/{again.headers['location'].split('/')[2]}")
    assert (clip["sound"]["digest"], clip["pictures"][0]["digest"]) == (kept["sound"], kept["pictures"])


def test_a_missing_file_is_named(ada: Person) -> None:
    refused = sent(ada, "/clips/new", {"name": "Silent"}, [("sound", ("", b""))])
    assert refused.status_code == 400
    assert "Choose a file." in words(refused.text)


def test_too_many_files_are_refused_before_they_are_read(gateway: ClipGateway, ada: Person) -> None:
    before = kept_files(gateway)
    many = [image("pictures", picture(size=(20 + number, 9))) for number in range(5)]
    refused = sent(ada, "/clips/new", {"name": "Many"}, many)
    assert refused.status_code == 400
    assert "There are 5 of these. Keep 4 at most." in words(refused.text)
    assert kept_files(gateway) == before


def test_an_edit_keeps_or_replaces_the_present_files(gateway: ClipGateway, ada: Person) -> None:
    first, second, third = (picture(size=(30 + number, 30)) for number in range(3))
    given = [image("sound", sound(seconds=0.4)), image("pictures", first), image("pictures", second)]
    path = f"/clips/{submitted(ada, 'Edited', given)}/manage/profile"
    asked = ada.page(path)
    shown = re.findall(r'<input type="checkbox" name="pictures" value="([0-9a-f]{64})" checked>', asked)
    heard = re.findall(r'<input type="hidden" name="sound" value="([0-9a-f]{64})">', asked)
    assert (len(shown), len(heard)) == (2, 1)
    version = re.findall(r'name="version" value="(\w+)"', asked)[0]
    fields: dict[str, Any] = {"name": "Edited", "version": version, "sound": heard, "pictures": shown[1:]}
    answer = sent(ada, path, fields, [image("pictures", third)])
    assert answer.status_code == 303, words(answer.text)
    clip = gateway.done("GET", f"/manage/clips/{path.split('/')[2]}")
    assert [each["width"] for each in clip["pictures"]] == [31, 32]
    assert clip["sound"]["digest"] == heard[0]
    version = re.findall(r'name="version" value="(\w+)"', ada.page(path))[0]
    louder = sent(ada, path, {**fields, "version": version}, [image("sound", sound("vorbis"))])
    assert louder.status_code == 303
    changed = gateway.done("GET", f"/manage/clips/{path.split('/')[2]}")
    assert changed["sound"]["media_type"] == "audio/ogg"


def test_a_form_takes_files_in_its_fields_of_files_alone(ada: Person) -> None:
    for name in ("name", "other"):
        assert sent(ada, "/clips/new", {"name": "X"}, [image(name, picture())]).status_code == 400
    assert sent(ada, "/bots/new", {"name": "X"}, [image("name", picture())]).status_code == 400


def test_a_form_with_files_of_an_ended_session_leads_to_the_sign_in(gateway: ClipGateway) -> None:
    stranger = gateway.person(None)
    for size in (70_000, UPLOAD_BYTES):
        answer = sent(stranger, "/clips/new", {"name": "X"}, [image("cover", bytes(size))])
        assert (answer.status_code, answer.headers["location"]) == (303, "/signin")


def test_a_form_beyond_the_size_of_an_upload_is_refused(ada: Person) -> None:
    large = sent(ada, "/clips/new", {"name": "X"}, [image("cover", bytes(UPLOAD_BYTES))])
    assert large.status_code == 413


def test_a_user_under_a_quarantine_gets_the_texts_back(gateway: ClipGateway) -> None:
    ben = gateway.person(BEN)
    gateway.done("PUT", f"/manage/users/{BEN}/quarantines/submit", {"reason": "Copies others."})
    before = kept_files(gateway)
    refused = sent(ben, "/clips/new", {"name": "Copied"}, [image("sound", sound(seconds=0.3))])
    assert (refused.status_code, 'value="Copied"' in refused.text) == (403, True)
    assert kept_files(gateway) == before
    gateway.done("DELETE", f"/manage/users/{BEN}/quarantines/submit")


def test_the_digest_is_that_of_the_bytes_that_are_served(gateway: ClipGateway, ada: Person) -> None:
    file = gateway.uploaded(picture(), "cover")
    served = ada.get(f"/files/{file['digest']}.png")
    assert hashlib.sha256(served.content).hexdigest() == file["digest"]
