"""The daily checks of listed servers. Invariant: one question at a time, and no request waits for one.

A round walks in slices through the listings that were checked before. A listing without a check, such as one
that the operator submitted, is never hidden. The platform is asked about each server whose last check is a
day old, with the deployment's bot. Without a bot, or while it is not in the server, the last facts stay. In a
fleet one node asks, and the others merge its answers.

The first question without an answer ends a round, because the platform is away. The next round begins behind
that server, so a server without an answer does not stop the others.
"""

import asyncio
from collections.abc import Callable, Sequence

from chatplatform.platform_client import PlatformAway
from core.actors import GATEWAY
from core.clock import MS_PER_DAY, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from core.listing_table import ref_slices
from core.rows import Listing
from kinds.registry import KINDS
from listings.eligibility import check
from web.people.rounds import in_rounds
from web.people.server_checking import ServerChecking

AGE_MS = MS_PER_DAY
"""The age of a check at which the next one is due."""
EVERY_SECONDS = 600.0
_CHECKED = sorted(kind.prefix for kind in KINDS if kind.has("checks"))


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
        self._after = ""
        """The listing behind which the next round begins."""

    async def run(self, stop: asyncio.Event) -> None:
        """Make a round now and then, until `stop` is set."""
        await in_rounds(self.round, EVERY_SECONDS, stop)

    async def round(self) -> None:
        """Check what is due. While the platform gives no answer, or the journal takes no writes, the next
        round goes on."""
        begin = self._after
        try:
            await self._check_between(begin, "")
            await self._check_between("", begin)
        except (PlatformAway, Unavailable):
            return
        self._after = ""

    async def _check_between(self, after: str, last: str) -> None:
        """Check what is due of the servers behind one up to another, which is the last one if it is empty.
        Raises PlatformAway and Unavailable."""
        for prefix in _CHECKED:
            for refs in ref_slices(self._ledger.state.listings.refs, max(after, prefix)):
                wanted = [ref for ref in refs if ref.startswith(prefix) and (not last or ref <= last)]
                await self._check_due(wanted)
                if len(wanted) < len(refs):
                    break
                await asyncio.sleep(0)

    async def _check_due(self, refs: Sequence[str]) -> None:
        listings = self._ledger.state.listings
        for ref in [ref for ref in refs if self._is_due(listings.peek(ref))]:
            self._after = ref
            if ref in listings:
                await self._check(ref)

    def _is_due(self, row: Listing) -> bool:
        known, now_ms = row.eligibility, self._clock.now_ms()
        if known is None or row.state == "denied":
            return False
        is_old = now_ms - known.at_ms >= AGE_MS and self._checking.has_bot
        is_over = known.failing_ms is not None and now_ms - known.failing_ms >= self._grace_ms
        return (is_old or (is_over and known.hidden_ms is None)) and self._asks(row.ref)

    async def _check(self, ref: str) -> None:
        """Check one listing. Raises PlatformAway and Unavailable."""
        now = await self._checking.look(ref.partition("/")[2])
        if ref not in self._ledger.state.listings:
            return  # removed while the platform was asked
        events = check(self._ledger.state, ref, now, self._clock.now_ms(), self._grace_ms, by=GATEWAY)
        self._ledger.commit(events)
