"""What is to be told and is not yet. Law: a fact stays here until it is known to be in the stream.

Facts are captured when their record is committed, because that costs nothing then; what this node did before
it started, or what was too much to keep here, is read back from the journal.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from core.events import Event, encode_record
from replication.facts.capture import Capture
from replication.facts.kinds import Fact, ListingFact
from replication.transport.envelopes import Entry, proof_of

QUEUED_MOST = 100_000  # records; beyond, they are read back from the journal when there is time
ENTRY_COST = 128  # facts, of which those of listings are larger
LISTING_COST = 8


class Told(NamedTuple):
    """What the record at `position` says, as of when the record at `durable` was the newest."""

    position: int
    durable: int
    facts: list[Fact]
    events: Sequence[Event]


class Queue:
    def __init__(self, capture: Capture, head: int, most: int = QUEUED_MOST) -> None:
        self._capture = capture
        self._most = most
        self.overflowed = False
        """Records were left out: they are to be read back before anything behind them is told."""
        self._queue: deque[Told] = deque()
        self.complete_from = head
        """All that the records behind this position say is here."""

    def __len__(self) -> int:
        return len(self._queue)

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Reads a committed record."""
        facts = self._capture.facts(events)
        if facts:
            if len(self._queue) >= self._most:
                self.forget(position - 1)
                self.overflowed = True
            self._queue.append(Told(position, position, facts, events))

    def forget(self, head: int) -> None:
        self._queue.clear()
        self.complete_from = head

    def read_back(self, records: Iterable[tuple[int, Sequence[Event]]], head: int) -> Iterator[Told]:
        """What records of the journal say that are not here; `head` is the newest of all."""
        for position, events in records:
            facts = self._capture.facts(events)
            if facts:
                yield Told(position, head, facts, events)

    def durable(self, position: int, most: int) -> list[Told]:
        """What comes next, at most so many records, of those that are durable up to this position."""
        told: list[Told] = []
        for one in islice(self._queue, most):
            if one.durable > position:
                break
            told.append(one)
        return told

    def arrived(self, position: int) -> None:
        """Everything up to here is in the stream. Should it be lost there, it is read back."""
        while self._queue and self._queue[0].position <= position:
            self.complete_from = self._queue.popleft().position


def entries(told: Sequence[Told], before: int) -> Iterator[tuple[int, Entry]]:
    """(position, entry) for entries that say all this, behind position `before`."""
    facts: list[Fact] = []
    cost = 0
    for index, one in enumerate(told):
        facts += one.facts
        cost += sum(LISTING_COST if isinstance(fact, ListingFact) else 1 for fact in one.facts)
        if cost >= ENTRY_COST or index == len(told) - 1:
            yield one.position, Entry(before, proof_of(encode_record(one.events)), facts)
            before, facts, cost = one.position, [], 0
