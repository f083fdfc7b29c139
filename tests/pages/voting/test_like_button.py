"""pages/voting/likes.py: the guards of the button that likes a listing are those of the vote button."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.made_listings import THEME, approved_theme
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[PeopleGateway]:
    limits = {"votes.per_minute_of_user": 5, "votes.per_minute_of_address": 8}
    with serving(tmp_path / "data", **limits) as gateway:
        yield gateway


def likes(gateway: PeopleGateway, here: str) -> int:
    return int(gateway.done("GET", f"{here}/numbers")["total"])


def test_an_account_that_is_too_young_likes_nothing_but_takes_a_like_back(tmp_path: Path) -> None:
    with serving(tmp_path, **{"votes.min_account_days": 3_650}) as gateway:
        here = approved_theme(gateway)
        ben, page = gateway.person(BEN), here.removeprefix("/manage")
        assert "Your account is too young to like" in words(ben.acted(f"{page}/like", {"like": "on"}))
        assert likes(gateway, here) == 0
        gateway.done("PUT", f"{here}/likes/{BEN}")  # the operator's own site has its own guards
        assert "Your like is taken back." in words(ben.acted(f"{page}/like", {"like": "off"}))
        assert likes(gateway, here) == 0


def test_a_user_under_quarantine_likes_nothing_and_reads_why(gateway: PeopleGateway) -> None:
    here = approved_theme(gateway)
    ben, page = gateway.person(BEN), here.removeprefix("/manage")
    gateway.done("PUT", f"/manage/users/{BEN}/quarantines/vote", {"reason": "Buys likes", "until": None})
    refused = ben.post(f"{page}/like", {"like": "on"})
    assert (refused.status_code, "Buys likes" in words(refused.text)) == (403, True)
    assert likes(gateway, here) == 0


def test_presses_of_one_user_and_of_one_address_are_limited(strict: PeopleGateway) -> None:
    here = approved_theme(strict)
    page = f"{here.removeprefix('/manage')}/like"
    ada, ben = strict.person(ADA), strict.person(BEN)
    pressed = [ada.post(page, {"like": each}).status_code for each in ("on", "off", "on", "off", "on", "off")]
    assert pressed == [303] * 5 + [429]
    assert [ben.post(page, {"like": "on"}).status_code for _ in range(4)] == [303, 303, 303, 429]
    assert likes(strict, here) == 2
    strict.clock.advance(60)
    assert ben.post(page, {"like": "off"}).status_code == 303


def test_a_listing_that_is_not_public_gets_no_like(gateway: PeopleGateway) -> None:
    other = {**THEME, "primary": "#010203"}
    page = f"/themes/{gateway.done('POST', '/manage/themes', other)['id']}"
    assert gateway.person(BEN).post(f"{page}/like", {"like": "on"}).status_code == 404
