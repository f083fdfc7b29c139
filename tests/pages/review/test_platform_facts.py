"""pages/review/listing_view.py: the facts of the chat platform, and the time that a page waits for them."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actions.action import Call
from chatplatform.answers import PlatformApplication
from chatplatform.platform_client import ChatPlatform, PlatformAway, Told
from core.actors import OPERATOR
from core.events import ListingSaved
from core.ledger import Ledger
from core.state import State
from kinds.registry import BY_PLURAL
from listings.ownership import Ownership
from pages.page import PageCall
from pages.review import listing_view
from pages.review.listing_view import PlatformView, platform_view, review_view
from people.permissions import Moderators
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


def page_of(state: State, ref: str, answer: Any = None) -> PageCall:
    """The call of the page about a listing, beside a platform that answers so."""
    moderators, ownership = Moderators(state, frozenset()), Ownership(state)
    for _ in ownership.survey():
        pass
    tools = SimpleNamespace(
        ledger=SimpleNamespace(state=state),
        moderators=moderators,
        sessions=Sessions(state, moderators, TERMS),
        ownership=ownership,
    )
    kind, _, listing_id = ref.partition("/")
    call = Call(cast(Any, tools), OPERATOR, NOW_MS, BY_PLURAL[kind], (listing_id,))
    site = SimpleNamespace(platform=Platform(answer))
    return PageCall(call, cast(Any, None), cast(Any, site))


def facts(state: State, answer: Any = None, ref: str = BOT_REF) -> PlatformView:
    return run(platform_view(page_of(state, ref, answer)))


def test_what_the_platform_said_comes_with_its_time(state: State) -> None:
    told = Told(PlatformApplication(BOT, "Bot", is_inviteable="no", has_commands="yes"), NOW_MS)
    view = facts(state, told)
    assert view == PlatformView(known="told", at=NOW_MS, name="Bot", is_inviteable="no", has_commands="yes")


@pytest.mark.parametrize(
    ("answer", "known", "at"),
    [(Told(None, NOW_MS), "no application", NOW_MS), (PlatformAway("refused"), "away", None)],
)
def test_what_it_did_not_say_is_unknown(state: State, answer: Any, known: str, at: int | None) -> None:
    view = facts(state, answer)
    assert (view.known, view.at, view.is_inviteable, view.has_commands) == (known, at, "unknown", "unknown")


def test_a_page_does_not_wait_long(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_view, "LOOK_SECONDS", 0.01)
    assert facts(state) == PlatformView(known="away", at=None)


def test_of_a_server_nothing_is_asked(state: State) -> None:
    assert facts(state, ref=SERVER_REF) == PlatformView(known="not asked", at=None)


def test_an_owner_who_has_never_signed_in_is_shown_with_the_other_listings(
    ledger: Ledger, state: State
) -> None:
    for ref, profile in ((BOT_REF, BOT_PROFILE), (OTHER_REF, BOT_PROFILE), (SERVER_REF, SERVER_PROFILE)):
        ledger.commit([ListingSaved(ref, OWNER, profile, "in_review", NOW_MS)])
    row = state.listings[SERVER_REF]
    shown = review_view(page_of(state, SERVER_REF), row, PlatformView(known="not asked", at=None))
    assert [each.ref for each in shown.others] == [BOT_REF, OTHER_REF]
    assert (shown.owner.username, shown.owner.first_at) == (None, None)
