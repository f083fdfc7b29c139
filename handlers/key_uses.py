"""The days on which API keys were used. Invariant: a request only adds a digest to a set.

At the end of each minute the keys of the set are looked up. Each key that was not yet used on that day gets
an event. A crash loses the uses of the last minute. In a fleet, each node writes the uses that it has seen,
unless it knows of the day already: a key costs a node one event a day at most.
"""

import asyncio
from collections.abc import Callable, Iterator

from core.clock import Clock, day_of
from core.failures import Unavailable
from core.ledger import Ledger
from handlers.slices import in_slices
from listings.keys import used_keys

MINUTE_MS = 60_000
SLICE = 64  # keys


class KeyUses:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._used = set[str]()
        self._since_ms = clock.now_ms()
        self.note: Callable[[str], None] = self._used.add
        """Takes the digest of a key that was accepted. A vote check calls it: it is no function of Python."""

    async def run(self) -> None:
        """Write the uses of each minute. A day ends with a minute, so no use is dated by the next day."""
        while True:
            await asyncio.sleep((MINUTE_MS - self._clock.now_ms() % MINUTE_MS) / 1_000)
            if self._clock.now_ms() // MINUTE_MS != self._since_ms // MINUTE_MS:  # a timer may be early
                await self.step()

    async def step(self) -> None:
        """Write the uses since the last step. While the journal takes no writes, they wait for the next."""
        day, self._since_ms = day_of(self._since_ms), self._clock.now_ms()
        await in_slices(self._slices(day))

    def _slices(self, day: int) -> Iterator[None]:
        for _ in range(0, len(self._used), SLICE):
            few = [self._used.pop() for _ in range(min(SLICE, len(self._used)))]
            try:
                self._ledger.commit(used_keys(self._ledger.state, few, day))
            except Unavailable:
                self._used.update(few)
                return
            yield
