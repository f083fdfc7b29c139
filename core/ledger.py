"""The one writer. Invariant: `commit` is a plain function, so nothing happens between a rule and its events.

Position n is the n-th record ever committed, from 1. `head` is the position of the newest record applied, and
never behind the newest one on disk. Effects (a reply, a webhook) wait for `durable(position)`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from core.events import Event, encode_record
from core.state import State

Reader = Callable[[int, Sequence[Event]], None]
Stamper = Callable[[Sequence[Event]], Sequence[Event]]


class Journal(Protocol):
    """The port to the journal. `journal.Journal` writes records to disk."""

    def append(self, record: bytes) -> int:
        """Take the next record to write and return its position. Raises Unavailable."""

    async def durable(self, position: int) -> None:
        """Return once the record is on disk. Raises Unavailable if the journal cannot promise that."""


class FoundRecord(NamedTuple):
    """A durable record, with the proof that a reader has read up to it."""

    position: int
    proof: int
    events: Sequence[Event]


class FoundPage(NamedTuple):
    """Records that match. The search has reached `position`; `is_last` is true if it is the durable end."""

    records: Sequence[FoundRecord]
    position: int
    proof: int
    is_last: bool


class Ledger:
    def __init__(self, state: State, journal: Journal, head: int, stamp: Stamper | None = None) -> None:
        """`stamp` returns a record's events with the stamps by which a fleet orders them."""
        self.state = state
        self.head = head
        self._journal = journal
        self._stamp = stamp
        self._readers: list[Reader] = []

    def subscribe(self, reader: Reader) -> None:
        """Call `reader(position, events)` after each commit. A reader must not commit."""
        self._readers.append(reader)

    def commit(self, events: Sequence[Event]) -> int:
        """Append the events as one record, apply them, and return its position. Raises Unavailable.

        Without events, nothing is written, and the position is that of the head.
        """
        if not events:
            return self.head
        if self._stamp is not None:
            events = self._stamp(events)
        self.head = self._journal.append(encode_record(events))
        for event in events:
            self.state.apply(event)
        for reader in self._readers:
            reader(self.head, events)
        return self.head

    async def durable(self, position: int) -> None:
        await self._journal.durable(position)
