"""Owners whose listings lost unique values to listings of other nodes. Invariant: each gets one notice.

Only a merge makes two holders of one value, so a single gateway has nothing to do here. In a fleet one node
tells an owner, and the others merge that. A check every 10 minutes catches what was missed: while the journal
took no writes, or while the node that should tell was gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from core.clock import Clock
from core.events import FREQUENT, Event, ListingMerged
from core.failures import Unavailable
from core.ledger import Ledger
from kinds.registry import kind_of
from listings.unique_values import UniqueValues, tell_loser

LOOK_AGAIN_SECONDS = 600.0


class LostValues:
    """Tells owners of their losses.

    Args:
        tells: returns True for a listing about which this node tells.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        unique: UniqueValues,
        in_slices: Callable[[Iterable[None]], Awaitable[None]],
        tells: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._unique = unique
        self._in_slices = in_slices
        self._tells = tells
        self._merged = asyncio.Event()
        self._merged.set()  # the node may have merged listings before it was stopped

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record. It comes behind `UniqueValues`, which has read the record then."""
        for event in events:
            if type(event) not in FREQUENT and type(event) is ListingMerged and kind_of(event.ref).unique:
                self._merged.set()

    async def run(self) -> None:
        """Tell owners until it is cancelled. It may run again after a failure."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await self._merged.wait()
            self._merged.clear()
            await self._in_slices(self._unique.survey())
            try:
                self._tell()
            except Unavailable:
                continue

    def _tell(self) -> None:
        for row, fields in self._unique.losses():
            if self._tells(row.ref):
                self._ledger.commit(tell_loser(row, fields, self._clock.now_ms()))
