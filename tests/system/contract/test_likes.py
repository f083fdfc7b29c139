"""Likes of a theme, through the management API: one like a user, until the user takes it back."""

import pytest

from tests.support.gateways import BOT, OTHER_USER, USER, ThreadGateway
from tests.support.made_listings import THEME, approved_theme

HOUR_SECONDS = 3_600


@pytest.fixture
def here(gateway: ThreadGateway) -> str:
    """Return the path of an approved theme."""
    return approved_theme(gateway)


def likes(gateway: ThreadGateway, here: str) -> int:
    return int(gateway.done("GET", f"{here}/numbers")["total"])


def test_a_user_gives_one_like_however_often(gateway: ThreadGateway, here: str) -> None:
    for _ in range(3):
        assert gateway.done("PUT", f"{here}/likes/{USER}") == {"success": True, "likes": 1}
        gateway.clock.advance(48 * HOUR_SECONDS)
    assert gateway.done("PUT", f"{here}/likes/{OTHER_USER}")["likes"] == 2
    months = gateway.done("GET", f"{here}/numbers")["months"]
    assert sum(month["votes"] for month in months) == 2


def test_a_like_that_is_taken_back_can_be_given_again_at_once(gateway: ThreadGateway, here: str) -> None:
    for _ in range(3):
        assert gateway.done("PUT", f"{here}/likes/{USER}")["likes"] == 1
        assert gateway.done("DELETE", f"{here}/likes/{USER}")["likes"] == 0
        assert gateway.done("DELETE", f"{here}/likes/{USER}")["likes"] == 0
    numbers = gateway.done("GET", f"{here}/numbers")
    assert (numbers["total"], sum(month["votes"] for month in numbers["months"])) == (0, 0)
    deeds = {act["deed"] for act in gateway.done("GET", f"{here}/history")["history"]}
    assert "votes_struck" not in deeds, "the owner reads of what moderators remove alone"


def counts(gateway: ThreadGateway, here: str) -> tuple[int, int, int]:
    """Return the likes of today, of this month, and of all time."""
    numbers = gateway.done("GET", f"{here}/numbers")
    return numbers["days"][-1]["votes"], numbers["months"][-1]["votes"], numbers["total"]


def test_a_like_that_is_taken_back_and_given_again_on_one_day_counts_once(
    gateway: ThreadGateway, here: str
) -> None:
    gateway.done("PUT", f"{here}/likes/{OTHER_USER}")
    for _ in range(3):
        gateway.done("PUT", f"{here}/likes/{USER}")
        assert counts(gateway, here) == (2, 2, 2)
        gateway.done("DELETE", f"{here}/likes/{USER}")
        assert counts(gateway, here) == (1, 1, 1)
    gateway.done("PUT", f"{here}/likes/{USER}")
    for _ in range(2):
        gateway.restart()
        assert counts(gateway, here) == (2, 2, 2)


def test_a_like_that_is_taken_back_on_a_later_day_is_gone_from_its_own(
    gateway: ThreadGateway, here: str
) -> None:
    gateway.done("PUT", f"{here}/likes/{USER}")
    gateway.clock.advance(48 * HOUR_SECONDS)
    gateway.done("DELETE", f"{here}/likes/{USER}")
    gateway.done("PUT", f"{here}/likes/{USER}")
    numbers = gateway.done("GET", f"{here}/numbers")
    assert [each["votes"] for each in numbers["days"][-3:]] == [0, 0, 1]


def test_a_like_survives_a_restart(gateway: ThreadGateway, here: str) -> None:
    gateway.done("PUT", f"{here}/likes/{USER}")
    gateway.done("PUT", f"{here}/likes/{OTHER_USER}")
    gateway.done("DELETE", f"{here}/likes/{USER}")
    digest = gateway.digest()
    gateway.restart()
    assert (gateway.digest(), likes(gateway, here)) == (digest, 1)


def test_a_moderator_strikes_likes_out_and_they_wait_as_votes_do(gateway: ThreadGateway, here: str) -> None:
    gateway.done("PUT", f"{here}/likes/{USER}")
    struck = gateway.done("POST", f"{here}/votes/strike", {"users": [USER], "reason": "Bought"})
    assert (struck["votes"], likes(gateway, here)) == (1, 0)
    refused = gateway.operate("PUT", f"{here}/likes/{USER}")
    assert (refused.status_code, "was removed" in refused.json()["error"]) == (409, True)
    gateway.clock.advance(24 * HOUR_SECONDS)
    assert gateway.done("PUT", f"{here}/likes/{USER}")["likes"] == 1


def test_only_an_approved_theme_can_be_liked(gateway: ThreadGateway) -> None:
    here = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    refused = gateway.operate("PUT", f"{here}/likes/{USER}")
    assert (refused.status_code, refused.json()["error"]) == (409, "Only an approved listing can be liked.")


def test_a_quarantined_user_likes_nothing(gateway: ThreadGateway, here: str) -> None:
    gateway.done("PUT", f"/manage/users/{USER}/quarantines/vote", {"reason": "Buys", "until": None})
    assert gateway.operate("PUT", f"{here}/likes/{USER}").status_code == 403


def test_the_like_of_an_erased_user_is_gone(gateway: ThreadGateway, here: str) -> None:
    gateway.done("PUT", f"{here}/likes/{USER}")
    gateway.done("DELETE", f"/manage/users/{USER}")
    assert likes(gateway, here) == 0


def test_a_theme_takes_no_votes_and_a_bot_no_likes(gateway: ThreadGateway, here: str) -> None:
    gateway.list_bot(BOT)
    assert gateway.operate("POST", f"{here}/votes", {"user": USER}).status_code == 404
    assert gateway.operate("PUT", f"/manage/bots/{BOT}/likes/{USER}").status_code == 404
