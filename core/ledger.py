"""The one writer. Law: `commit` is a plain function, so nothing can happen between a rule and its events.

Position n is the n-th record ever committed, from 1. `head` is the newest one applied; the journal's
`durable` is the newest one on disk; `durable <= head` always. Effects (a reply, a webhook) wait for
`durable(position)`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from core.events import Event, encode_record
from core.state import State

Reader = Callable[[int, Sequence[Event]], None]
Stamper = Callable[[Sequence[Event]], Sequence[Event]]


class Journal(Protocol):
    """Where records go. `journal.Journal` writes them to disk."""

    def append(self, record: bytes) -> int:
        """Takes the record to be written next and returns its position. Raises Unavailable."""

    async def durable(self, position: int) -> None:
        """Returns once the record is on disk. Raises Unavailable when that cannot be promised."""


class Ledger:
    def __init__(self, state: State, journal: Journal, head: int, stamp: Stamper | None = None) -> None:
        """`stamp` makes of a record's events those that a fleet can put in order."""
        self.state = state
        self.head = head
        self._journal = journal
        self._stamp = stamp
        self._readers: list[Reader] = []

    def subscribe(self, reader: Reader) -> None:
        """Calls `reader(position, events)` after each commit; it may not commit itself."""
        self._readers.append(reader)

    def commit(self, events: Sequence[Event]) -> int:
        """Appends the events as one record and applies them. Returns its position; raises Unavailable.

        Without events nothing is written, and the position is the head's.
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
