"""Every listed server, checked once a day. Law: one question at a time, and none that must wait.

A round walks through the listings of servers that were checked before, in slices; a listing that came without
a check, such as an operator's, is never hidden for one. Of each that was last checked a day ago, the
deployment's bot is asked; without a bot, or while it is not in the server, what was known stays known. In a
fleet one node asks, and the others merge what it found.
"""

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus

from msgspec import UNSET

from chatplatform.platform_client import PlatformAway
from core.actors import GATEWAY
from core.clock import Clock
from core.ledger import Ledger
from core.refusals import NotFound, Unavailable
from core.rows import SERVERS, Listing
from listings.eligibility import check
from listings.finding import ref_slices
from web.people.server_checking import ServerChecking

AGE_MS = 86_400_000
"""How old a check is when the next one is due."""
EVERY_SECONDS = 600.0


class ServerRechecks:
    """Checks again.

    Args:
        grace_ms: how long a listing may fail before it is hidden.
        asks: returns True for a listing of which this node asks.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        checking: ServerChecking,
        grace_ms: int,
        asks: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._checking = checking
        self._grace_ms = grace_ms
        self._asks = asks

    async def run(self, stop: asyncio.Event) -> None:
        """Make a round now and then, until `stop` is set."""
        while not stop.is_set():
            await self.round()
            try:
                async with asyncio.timeout(EVERY_SECONDS):
                    await stop.wait()
            except TimeoutError:
                continue

    async def round(self) -> None:
        """Check what is due. While the platform wants to be asked later, or the journal takes no writes, the
        next round goes on."""
        try:
            for refs in self._slices():
                for ref in refs:
                    await self._check(ref)
                    await asyncio.sleep(0)
                await asyncio.sleep(0)
        except (PlatformAway, Unavailable):
            return

    def _slices(self) -> Iterator[list[str]]:
        """Yield the listings that are due, in slices."""
        listings = self._ledger.state.listings
        for refs in ref_slices(listings.refs):
            yield [
                ref
                for ref in refs
                if ref.startswith(SERVERS) and ref in listings and self._is_due(listings.peek(ref))
            ]

    def _is_due(self, row: Listing) -> bool:
        known, now_ms = row.eligibility, self._clock.now_ms()
        if known is UNSET or row.review == "denied":
            return False
        is_old = now_ms - known.at_ms >= AGE_MS and self._checking.has_bot
        is_over = known.failing_ms is not None and now_ms - known.failing_ms >= self._grace_ms
        return (is_old or (is_over and known.hidden_ms is None)) and self._asks(row.ref)

    async def _check(self, ref: str) -> None:
        """Check one listing. Raises PlatformAway for a platform that wants to be asked later, and
        Unavailable."""
        try:
            now = await self._checking.look(ref.removeprefix(SERVERS))
        except PlatformAway as away:
            if away.reason != "refused" or away.status == HTTPStatus.UNAUTHORIZED:
                raise
            return  # of this server alone
        try:
            events = check(self._ledger.state, ref, now, self._clock.now_ms(), self._grace_ms, by=GATEWAY)
        except NotFound:
            return  # removed while the platform was asked
        self._ledger.commit(events)
