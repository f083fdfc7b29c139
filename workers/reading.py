"""A worker reads what another one has written before the client of that one has its answer.

A client does not know which worker answers it: its next request may come over another connection. So the
answer to a change waits until all workers that accept connections have read it, up to `LONGEST_SECONDS`.
While Redis is away, they cannot read: then only the first answer waits, until they have caught up.
"""

import asyncio
from collections.abc import Sequence

from core.clock import NS_PER_SECOND, Clock
from core.events import Event, Merged
from core.fleet_table import FleetView, name_and_epoch
from workers.common_memory import ACCEPTS, READ, CommonMemory

LONGEST_SECONDS = 0.25
STEP_SECONDS = 0.001


class SiblingReading:
    """The positions up to which the workers have read each other.

    Args:
        names: the names of the nodes that the workers are, by their numbers.
        fleet: the positions that this worker has read before its start.
    """

    def __init__(
        self, memory: CommonMemory, worker: int, names: Sequence[str], fleet: FleetView, clock: Clock
    ) -> None:
        self._words = memory.words
        self._read = memory.head(worker) + READ
        self._places = {name: place for place, name in enumerate(names)}
        heads = [memory.head(number + 1) for number in range(memory.workers) if number + 1 != worker]
        self._others = [(head + ACCEPTS, head + READ + worker - 1) for head in heads]
        self._missed = 0
        self._clock = clock
        for label, position in fleet.cursors.items():
            self._note(label, position)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        first = events[0]
        if isinstance(first, Merged) and first.label:
            self._note(first.label, first.position)

    def _note(self, label: str, position: int) -> None:
        place = self._places.get(name_and_epoch(label)[0])
        if place is not None:
            self._words[self._read + place] = position

    async def by_all(self, position: int) -> None:
        """Return when all workers have read this position of this one, or after `LONGEST_SECONDS`."""
        if not self._have_read(self._missed):
            return
        deadline_ns = self._clock.monotonic_ns() + round(LONGEST_SECONDS * NS_PER_SECOND)
        while not self._have_read(position):
            if self._clock.monotonic_ns() > deadline_ns:
                self._missed = position
                return
            await asyncio.sleep(STEP_SECONDS)

    def _have_read(self, position: int) -> bool:
        words = self._words
        return all(words[read] >= position or not words[accepts] for accepts, read in self._others)
