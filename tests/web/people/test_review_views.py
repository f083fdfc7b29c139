"""web/people/review_views.py: what the chat platform says, and how long a page waits for it."""

import asyncio
from typing import Any

import pytest

from chatplatform.answers import PlatformApplication
from chatplatform.platform_client import ChatPlatform, PlatformAway, Told
from core.events import ListingReviewed, ListingSaved
from core.ledger import Ledger
from core.state import State
from handlers.user_views import UserViews
from kinds.bots import BOTS
from kinds.servers import SERVERS
from listings.ownership import Ownership
from people.roles import Moderators
from people.user_sessions import Sessions
from tests.support.coroutines import run
from tests.support.people import TERMS
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    NOW_MS,
    OTHER_REF,
    OWNER,
    SERVER_PROFILE,
    SERVER_REF,
)
from web.people import review_views
from web.people.review_views import PlatformView, ReviewViews

BOT = BOT_REF.partition("/")[2]


class Platform(ChatPlatform):
    """A platform that does what it is told."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked = 0

    async def application(self, _: str, *, refresh: bool = False) -> Told:  # noqa: ARG002 (the port has it)
        self.asked += 1
        answer = self._answer
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.sleep(3_600)
        assert isinstance(answer, Told)
        return answer


def _users(state: State) -> UserViews:
    moderators = Moderators(state, frozenset())
    return UserViews(state, moderators, Sessions(state, moderators, TERMS))


def views(state: State, answer: Any = None) -> ReviewViews:
    return ReviewViews(state, Ownership(state), _users(state), Platform(answer))


def test_what_the_platform_said_comes_with_its_time(state: State) -> None:
    told = Told(PlatformApplication(BOT, "Bot", is_inviteable="no", has_commands="yes"), NOW_MS)
    view = run(views(state, told).platform(BOTS, BOT))
    assert view == PlatformView(known="told", at=NOW_MS, name="Bot", is_inviteable="no", has_commands="yes")


@pytest.mark.parametrize(
    ("answer", "known", "at"),
    [(Told(None, NOW_MS), "no application", NOW_MS), (PlatformAway("refused"), "away", None)],
)
def test_what_it_did_not_say_is_unknown(state: State, answer: Any, known: str, at: int | None) -> None:
    view = run(views(state, answer).platform(BOTS, BOT))
    assert (view.known, view.at, view.is_inviteable, view.has_commands) == (known, at, "unknown", "unknown")


def test_a_page_does_not_wait_long(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_views, "LOOK_SECONDS", 0.01)
    assert run(views(state).platform(BOTS, BOT)) == PlatformView(known="away", at=None)


def test_of_a_server_nothing_is_asked(state: State) -> None:
    assert run(views(state).platform(SERVERS, BOT)) == PlatformView(known="not asked", at=None)


def test_a_decision_that_no_trail_remembers_has_no_actor(ledger: Ledger, state: State) -> None:
    ledger.commit([ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS)])
    ledger.commit([ListingSaved(OTHER_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)])
    ledger.commit([ListingReviewed(OTHER_REF, "denied", "No.", NOW_MS)])
    ledger.commit([ListingSaved(SERVER_REF, OWNER, SERVER_PROFILE, "in_review", NOW_MS)])
    ownership = Ownership(state)
    for _ in ownership.survey():
        pass
    desk = ReviewViews(state, ownership, _users(state), Platform(None))
    (denied,) = desk.decided()
    assert (denied.ref, denied.decision, denied.reason) == (OTHER_REF, "denied", "No.")
    shown = desk.review(state.listings[SERVER_REF], PlatformView(known="not asked", at=None), NOW_MS)
    assert [each.ref for each in shown.others] == [BOT_REF, OTHER_REF]
    assert (shown.owner.username, shown.owner.first_at) == (None, None)
