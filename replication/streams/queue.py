"""Facts that are not in the stream yet. Invariant: facts stay here until the stream has them.

Facts are captured when their record is committed, because that costs nothing then. Records from before the
start, or too many to keep here, are read back from the journal.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from core.events import Event
from replication.facts.capture import Capture
from replication.streams.entries import Captured

QUEUED_MOST = 100_000  # records; more are read back from the journal when there is time


class Queue:
    def __init__(self, capture: Capture, head: int, most: int = QUEUED_MOST) -> None:
        self._capture = capture
        self._most = most
        self._queue: deque[Captured] = deque()
        self._overflowed = False
        self._complete_from = head

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def complete_from(self) -> int:
        """The position behind which the queue has all facts that the stream lacks."""
        return self._complete_from

    @property
    def overflowed(self) -> bool:
        """True if records were left out: they go to the stream before anything behind them."""
        return self._overflowed

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        facts = self._capture.facts(events)
        if facts:
            if len(self._queue) >= self._most:
                self.restart(position - 1)
                self._overflowed = True
            self._queue.append(Captured(position, position, facts, events))

    def restart(self, head: int) -> None:
        """Drop everything up to this position."""
        self._queue.clear()
        self._complete_from = head

    def acknowledge_overflow(self) -> None:
        """The sender reads back what was left out."""
        self._overflowed = False

    def capture(self, records: Iterable[tuple[int, Sequence[Event]]], head: int) -> Iterator[Captured]:
        """Yield the facts of records that were read back; `head` is the newest record of all."""
        for position, events in records:
            facts = self._capture.facts(events)
            if facts:
                yield Captured(position, head, facts, events)

    def durable(self, position: int, most: int) -> list[Captured]:
        """Return the first records that are durable up to this position, at most so many."""
        captured: list[Captured] = []
        for one in islice(self._queue, most):
            if one.durable > position:
                break
            captured.append(one)
        return captured

    def sent(self, position: int) -> None:
        """Everything up to here is in the stream. If Redis loses it, it is read back."""
        while self._queue and self._queue[0].position <= position:
            self._complete_from = self._queue.popleft().position
