"""The end of what is over by itself, so that nothing is kept for ever: sessions, quarantines, cooldowns. Law:
in slices.
"""

import asyncio
from collections.abc import Iterator

from core.clock import Clock
from core.ledger import Ledger
from core.listing_table import ref_slices
from core.refusals import Unavailable
from handlers.slices import in_slices
from people.quarantine import sweep_users
from people.user_sessions import Sessions
from votes.rules import drop_cooldowns
from web.people.rounds import in_rounds

EVERY_SECONDS = 3_600.0


class Sweeping:
    def __init__(self, ledger: Ledger, clock: Clock, sessions: Sessions) -> None:
        self._ledger = ledger
        self._clock = clock
        self._sessions = sessions

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep now and then, until `stop` is set."""
        await in_rounds(self.sweep, EVERY_SECONDS, stop)

    async def sweep(self) -> None:
        """Look at all users once. While the journal takes no writes, the next sweep does it."""
        try:
            await in_slices(self._slices())
        except Unavailable:
            return

    def _slices(self) -> Iterator[None]:
        self._ledger.commit(drop_cooldowns(self._ledger.state, self._clock.now_ms()))
        for refs in ref_slices(self._ledger.state.users.refs):
            state, now_ms = self._ledger.state, self._clock.now_ms()
            self._ledger.commit(self._sessions.sweep(refs, now_ms))
            self._ledger.commit(sweep_users(state, refs, now_ms))
            yield
