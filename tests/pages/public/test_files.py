"""The files of listings: who gets them, and what browsers make of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clip_gateway import ClipGateway, file_path, ogg, png, serving_clips
from tests.support.people_gateway import Person
from tests.support.platform_stand_in import ADA, BEN, CLEO


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipGateway]:
    with serving_clips(tmp_path_factory.mktemp("files") / "data") as gateway:
        yield gateway


@pytest.fixture(scope="module")
def clip(gateway: ClipGateway) -> dict[str, Any]:
    return gateway.approved()


@pytest.fixture
def stranger(gateway: ClipGateway) -> Person:
    return gateway.person(None)


def test_everybody_gets_the_files_of_a_public_listing_for_ever(
    stranger: Person, clip: dict[str, Any]
) -> None:
    for file, begin in ((clip["cover"], b"\x89PNG"), (clip["sound"], b"OggS")):
        answer = stranger.get(file_path(file))
        assert answer.status_code == 200
        assert answer.content.startswith(begin)
        assert len(answer.content) == file["size"]
        assert answer.headers["Content-Type"] == file["media_type"]
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_no_browser_takes_a_file_for_a_page(stranger: Person, clip: dict[str, Any]) -> None:
    headers = stranger.get(file_path(clip["cover"])).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "Vary" not in headers
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize("ending", ["html", "svg", "png.html", "gif", "PNG", ""])
def test_a_file_has_one_address(stranger: Person, clip: dict[str, Any], ending: str) -> None:
    assert stranger.get(f"/files/{clip['cover']['digest']}.{ending}").status_code == 404


@pytest.mark.parametrize("name", ["x.png", "..%2f..%2fsealing.keys", "0" * 64 + ".png", "A" * 64 + ".png"])
def test_any_other_name_is_not_found(stranger: Person, name: str) -> None:
    assert stranger.get(f"/files/{name}").status_code == 404


def test_the_file_of_a_listing_in_review_is_for_its_owners_and_moderators(
    gateway: ClipGateway, stranger: Person
) -> None:
    path = file_path(gateway.submitted(1)["cover"])
    found = {user: gateway.person(user).get(path) for user in (ADA, CLEO, BEN)}
    assert {user: answer.status_code for user, answer in found.items()} == {ADA: 200, CLEO: 200, BEN: 404}
    assert stranger.get(path).status_code == 404
    for user in (ADA, CLEO):
        assert found[user].headers["Cache-Control"] == "private, no-cache"
        assert found[user].headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert found[user].headers["X-Robots-Tag"] == "noindex"


def test_an_upload_is_for_its_sender_until_a_listing_names_it(gateway: ClipGateway, stranger: Person) -> None:
    path = file_path(gateway.uploaded(png(2), "cover"))
    assert gateway.person(ADA).get(path).status_code == 200
    assert gateway.person(CLEO).get(path).status_code == 404
    assert stranger.get(path).status_code == 404


def test_a_proposed_picture_is_not_public_and_the_denied_one_is_not_any_more(
    gateway: ClipGateway, stranger: Person
) -> None:
    clip = gateway.approved(3)
    old, new = clip["cover"], gateway.uploaded(png(4), "cover")
    gateway.done("POST", f"/manage/clips/{clip['id']}/withdraw", {"reason": "Not nice."})
    assert stranger.get(file_path(old)).status_code == 404
    assert gateway.person(ADA).get(file_path(old)).status_code == 200
    fields = {"owner_id": ADA, "name": "Ding", "sound": clip["sound"]["digest"], "cover": new["digest"]}
    gateway.done("PUT", f"/manage/clips/{clip['id']}", fields)
    assert stranger.get(file_path(new)).status_code == 404
    for file in (old, new):  # the moderator compares both
        assert gateway.person(CLEO).get(file_path(file)).status_code == 200
    gateway.done("POST", f"/manage/clips/{clip['id']}/approve", {})
    assert stranger.get(file_path(new)).status_code == 200
    assert stranger.get(file_path(old)).status_code == 404


def test_a_client_that_has_a_file_gets_none(stranger: Person, clip: dict[str, Any]) -> None:
    path = file_path(clip["cover"])
    tag = stranger.get(path).headers["ETag"]
    again = stranger.get(path, **{"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


# -- downloads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "saved"),
    [
        ("Ding", 'filename="Ding.png"'),
        ("Ding.png", 'filename="Ding.png"'),
        ("", 'filename="'),
        ("../../etc/passwd", 'filename="passwd.png"'),
        ("..\\..\\boot.ini", 'filename="boot.ini.png"'),
        ('a"; x="b', 'filename="a_ x_b.png"'),
        ("a\r\nSet-Cookie: b=c", 'filename="a_Set-Cookie_ b_c.png"'),
        ("ドラゴン", "filename*=UTF-8''%E3%83%89%E3%83%A9%E3%82%B4%E3%83%B3.png"),
        ("x" * 500, f'filename="{"x" * 80}.png"'),
    ],
)
def test_a_download_has_the_name_that_was_asked_for_without_parts_of_a_path(
    stranger: Person, clip: dict[str, Any], asked: str, saved: str
) -> None:
    answer = stranger.request("GET", file_path(clip["cover"]), params={"download": asked})
    disposition = answer.headers["Content-Disposition"]
    assert answer.status_code == 200
    assert disposition.startswith("attachment; filename=")
    assert saved in disposition
    assert "Set-Cookie" not in answer.headers
    assert "Content-Disposition" not in stranger.get(file_path(clip["cover"])).headers


# -- parts, as players ask for them (RFC 9110, 14) ---------------------------------------------------------


@pytest.mark.parametrize("asked", ["bytes=0-1", "bytes=10-", "bytes=-5", "bytes=3-99999999", "bytes=0-0"])
def test_a_player_gets_the_part_that_it_asks_for(stranger: Person, clip: dict[str, Any], asked: str) -> None:
    path = file_path(clip["sound"])
    whole = stranger.get(path).content
    first, last = asked.removeprefix("bytes=").split("-")
    begin = int(first) if first else len(whole) - int(last)
    end = int(last) + 1 if first and last else len(whole)
    answer = stranger.get(path, Range=asked)
    assert (answer.status_code, answer.content) == (206, whole[begin:end])
    assert answer.headers["Content-Range"] == f"bytes {begin}-{min(end, len(whole)) - 1}/{len(whole)}"
    assert answer.headers["Content-Length"] == str(len(answer.content))


@pytest.mark.parametrize("asked", ["bytes=99999999-", "bytes=-0"])
def test_a_part_behind_the_end_cannot_be_had(stranger: Person, clip: dict[str, Any], asked: str) -> None:
    answer = stranger.get(file_path(clip["sound"]), Range=asked)
    assert answer.status_code == 416
    assert answer.headers["Content-Range"] == f"bytes */{clip['sound']['size']}"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-9", "bytes=9-3", "items=0-1", "bytes=x-y", "bytes=-", "\xb2"])
def test_what_is_no_single_part_gets_the_whole_file(
    stranger: Person, clip: dict[str, Any], asked: str
) -> None:
    answer = stranger.get(file_path(clip["sound"]), Range=asked)
    assert (answer.status_code, len(answer.content)) == (200, clip["sound"]["size"])


def test_an_upload_beyond_the_room_of_a_user_is_refused_with_its_field(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("full") / "data"
    with serving_clips(folder, **{"files.bytes_per_user": 1 << 20}) as gateway:
        big = [png(seed, 350, 300) for seed in range(5)]
        statuses = [gateway.upload(each, "cover").status_code for each in big]
        assert statuses == [201, 201, 201, 400, 400]
        refused = gateway.upload(big[4], "cover").json()
        assert refused["fields"]["cover"] == "is too much: all files of a user together may take 1 MiB"
        assert gateway.upload(big[4], "cover", BEN).status_code == 201
        assert len([*(folder / "blobs").iterdir()]) == 4
        assert gateway.upload(ogg(), "sound").status_code == 201
