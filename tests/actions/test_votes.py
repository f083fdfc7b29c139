"""actions/votes.py: nothing is removed for a moderator who was signed out during the search."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actions.action import Call
from actions.votes import remove
from core.actors import user_actor
from core.ledger import Ledger
from core.webhook_events import NewDeliveries
from forms.reading import read
from kinds.bots import BOTS
from languages.refusals import Refusal
from listings.forms import Strike
from tests.support.committed_rows import a_listing
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import BOT_REF, NOW_MS, USER
from votes.rules import cast_vote


async def in_slices(work: Iterable[None]) -> None:
    for _ in work:
        pass


def test_a_session_that_ends_during_the_search_ends_the_removal(ledger: Ledger) -> None:
    a_listing(ledger)
    ledger.commit(cast_vote(ledger.state, BOT_REF, USER, NewDeliveries(str, 0), now_ms=NOW_MS, cooldown_ms=1))
    before = ledger.head

    def still_allowed() -> None:
        raise Refusal("sign_in_required")

    tools = SimpleNamespace(ledger=ledger, clock=FakeClock(NOW_MS), in_slices=in_slices)
    call = Call(
        cast(Any, tools),
        user_actor("777777777777777777"),
        NOW_MS,
        BOTS,
        (BOT_REF.partition("/")[2],),
        still_allowed,
    )
    with pytest.raises(Refusal, match="sign_in_required"):
        run(remove(call, read(Strike, {"reason": "Bought.", "since": 0})))
    assert ledger.head == before
    assert ledger.state.votes.get(BOT_REF, int(USER)) is not None
