"""Removes expired sessions, quarantines and cooldowns, in slices, so that nothing is kept for ever."""

from collections.abc import Iterator

from actions.tools import Tools
from core.failures import Unavailable
from core.listing_table import ref_slices
from people.quarantine import sweep_users
from votes.rules import drop_cooldowns

EVERY_SECONDS = 3_600.0


async def sweep(tools: Tools) -> None:
    """Look at all users once. While the journal takes no writes, the next sweep does it."""
    try:
        await tools.in_slices(_slices(tools))
    except Unavailable:
        return


def _slices(tools: Tools) -> Iterator[None]:
    ledger, state = tools.ledger, tools.ledger.state
    ledger.commit(drop_cooldowns(state, tools.clock.now_ms()))
    for refs in ref_slices(state.users.refs):
        now_ms = tools.clock.now_ms()
        ledger.commit(tools.sessions.sweep(refs, now_ms))
        ledger.commit(sweep_users(state, refs, now_ms))
        yield
