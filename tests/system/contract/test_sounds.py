"""Sounds: one file of at most 512 KiB and 5.2 seconds, categories, and pages that play it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kinds.sound_clips import SOUNDS
from tests.support.contract import uploaded
from tests.support.media_files import long_mp3, picture, sound
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO

MOST_BYTES = 512 << 10


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("sounds") / "data") as gateway:
        yield gateway


def faults(gateway: PeopleGateway, content: bytes) -> dict[str, str]:
    """Return why an upload is refused."""
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    path = f"{gateway.base_url}/manage/files?user={ADA}&kind=sounds&field=sound"
    answer = gateway.session.post(path, content, headers=headers, timeout=60)
    assert answer.status_code == 400, answer.text
    found: dict[str, str] = answer.json()["fields"]
    return found


def form(gateway: PeopleGateway, seconds: float = 0.2, **changed: Any) -> dict[str, Any]:
    file = uploaded(gateway, SOUNDS, "sound", sound(seconds=seconds), ADA)
    named = {"owner_id": ADA, "name": "Level up chime", "sound": file.digest, "categories": ["Other"]}
    return {**named, **changed}


def refused(gateway: PeopleGateway, **changed: Any) -> set[str]:
    answer = gateway.operate("POST", "/manage/sounds", form(gateway, **changed))
    assert answer.status_code == 400, answer.text
    return set(answer.json()["fields"])


def listed(gateway: PeopleGateway, seconds: float = 0.2, **changed: Any) -> str:
    """List a sound that everybody may hear. Return its path."""
    made = gateway.done("POST", "/manage/sounds", form(gateway, seconds, **changed))
    gateway.done("POST", f"/manage/sounds/{made['id']}/approve", {})
    return f"/sounds/{made['id']}"


@pytest.mark.parametrize("coding", ["mp3", "vorbis", "opus"])
def test_a_sound_is_mp3_or_ogg(gateway: PeopleGateway, coding: str) -> None:
    file = uploaded(gateway, SOUNDS, "sound", sound(coding, 0.2), ADA)
    assert file.media_type == ("audio/mpeg" if coding == "mp3" else "audio/ogg")


def test_a_sound_lasts_at_most_5_2_seconds_as_decoded(gateway: PeopleGateway) -> None:
    assert uploaded(gateway, SOUNDS, "sound", sound("opus", 5.2), ADA).length_ms == 5_200
    assert faults(gateway, sound("opus", 5.3)) == {"sound": "must not be longer than 5.2 seconds"}
    hours = long_mp3(200 << 10)
    assert faults(gateway, hours) == {"sound": "must not be longer than 5.2 seconds"}, "hours in 200 KB"


def test_a_sound_has_at_most_512_kib(gateway: PeopleGateway) -> None:
    assert set(faults(gateway, long_mp3(MOST_BYTES + 1_000))) == {"sound"}
    assert SOUNDS.file_rules["sound"].most_bytes == MOST_BYTES


def test_a_picture_is_no_sound(gateway: PeopleGateway) -> None:
    assert faults(gateway, picture()) == {"sound": "must be a file of one of these types: MP3 or OGG"}


def test_a_sound_has_one_category_or_more(gateway: PeopleGateway) -> None:
    assert refused(gateway, categories=[]) == {"categories"}
    assert refused(gateway, categories=["Quiet"]) == {"categories.0"}
    every = ["Memes", "Loud", "NSFW", "Other"]
    assert gateway.done("POST", "/manage/sounds", form(gateway, categories=every))["categories"] == every


def test_a_sound_names_an_uploaded_file(gateway: PeopleGateway) -> None:
    assert refused(gateway, sound="0" * 64) == {"sound"}
    assert refused(gateway, sound=None) == {"sound"}


def test_the_page_of_a_sound_plays_and_draws_it_and_gives_it_for_download(gateway: PeopleGateway) -> None:
    here = listed(gateway, 1.1, description="Four bright notes.")
    visitor = gateway.person(None)
    answer = visitor.get(here)
    page = answer.text
    assert "media-src 'self'" in answer.headers["Content-Security-Policy"]
    player = re.search(r'<audio controls preload="none" src="(/files/[0-9a-f]{64}\.mp3)"', page)
    assert player is not None
    assert "1.1 seconds" in words(page)
    path = re.search(r'<svg class="wave"[^>]*><path d="([^"]*)"', page)
    assert path is not None
    assert path[1].count("M") == 64
    heard = visitor.get(player[1])
    assert heard.headers["Content-Type"] == "audio/mpeg"
    assert f'href="{here}/download"' in page
    saved = visitor.get(visitor.get(f"{here}/download").headers["Location"])
    assert saved.content == heard.content
    assert 'filename="Level up chime.mp3"' in saved.headers["Content-Disposition"]


def test_cards_and_lists_play_sounds_and_mark_those_not_safe_for_work(gateway: PeopleGateway) -> None:
    here = listed(gateway, categories=["Memes", "Loud", "NSFW"], name="Air horn")
    gateway.clock.advance(60)  # lists are sorted again
    visitor = gateway.person(None)
    for address in ("/", "/sounds?sort=newest"):
        page = visitor.get(address).text
        assert f'href="{here}"' in page, address
        assert '<audio controls preload="none"' in page, address
        assert '<span class="chip warn">NSFW</span>' in page, address
    assert '<a class="chip warn"' in visitor.get(here).text


def test_a_moderator_hears_a_sound_before_everybody_does(gateway: PeopleGateway) -> None:
    made = gateway.done("POST", "/manage/sounds", form(gateway, 0.4, name="Door knock"))
    page = gateway.person(CLEO).get(f"/review/sounds/{made['id']}").text
    found = re.search(r'<audio controls preload="none" src="([^"]+)"', page)
    assert found is not None
    assert made["sound"]["digest"] not in words(page)
    assert gateway.person(CLEO).get(found[1]).status_code == 200
    assert gateway.person(ADA).get(found[1]).status_code == 200
    for other in (None, BEN):
        assert gateway.person(other).get(found[1]).status_code == 404
        assert gateway.person(other).get(f"/sounds/{made['id']}").status_code == 404


def test_the_owner_submits_a_sound_with_its_file_on_a_page(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    assert 'type="file"' in ada.get("/sounds/new").text
    parts = [
        ("name", (None, "Small bell")),
        ("categories", (None, "Other")),
        ("sound", ("../bell.mp3", sound(seconds=0.3))),
        ("description", (None, "")),
        ("tags", (None, "")),
    ]
    answer = ada.request("POST", "/sounds/new", files=parts)
    assert answer.status_code == 303, words(answer.text)
    shown = gateway.done("GET", f"/manage/sounds/{answer.headers['Location'].split('/')[2]}")
    assert (shown["name"], shown["state"], shown["owner_id"]) == ("Small bell", "in_review", ADA)


def test_users_like_a_sound(gateway: PeopleGateway) -> None:
    here = listed(gateway)
    gateway.person(BEN).acted(f"{here}/like", {"like": "on"})
    assert gateway.person(None).get(f"{here}.json").json()["votes"] == 1
