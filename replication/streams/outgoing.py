"""The records that the stream lacks: records read back from the journal, then the queue.

Invariant: nothing leaves before it is durable, and nothing is left out.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from core.ledger import Ledger
from replication.streams.entries import Captured
from replication.streams.journal_records import UNREADABLE, JournalRecords, Records
from replication.streams.queue import Queue

log = logging.getLogger(__name__)

SENT_AT_ONCE = 1_024  # records
READ_AT_ONCE = 512  # records of the journal


class Durability(Protocol):
    @property
    def durable_position(self) -> int:
        """The newest position that is on disk."""


class Batch(NamedTuple):
    """The records to send behind position `after`; `has_more` if the next batch may have some at once."""

    after: int
    captured: Sequence[Captured]
    has_more: bool


class Outgoing:
    def __init__(self, ledger: Ledger, journal: Durability, records: JournalRecords, queue: Queue) -> None:
        self._ledger = ledger
        self._journal = journal
        self._records = records
        self._queue = queue
        self._backlog: Records | None = None

    @property
    def has_work(self) -> bool:
        return bool(len(self._queue)) or self._backlog is not None

    @property
    def overflowed(self) -> bool:
        """True if the queue has left records out: `resume` reads them back."""
        return self._queue.overflowed

    def missing(self, top: int) -> int:
        """About how many records a stream up to this position lacks."""
        return len(self._queue) + (self._queue.complete_from - top if self._backlog else 0)

    def beginning(self) -> int:
        """Return where a stream begins that nobody has read: behind a copy, if there is anything to copy."""
        state = self._ledger.state
        return (
            self._queue.complete_from
            if state.listings.refs or state.listings.unlisted or state.users.refs or state.fleet.removed
            else 0
        )

    async def is_of_this_journal(self, position: int, proof: bytes) -> bool:
        """Tell if an entry with this position and proof can be of this node's journal."""
        return position <= self._ledger.head and await self._records.have(position, proof)

    def pause(self) -> None:
        """The position of the stream is unknown; `resume` follows."""
        self._backlog = None

    async def resume(self, top: int) -> None:
        """Go on behind this position."""
        self._queue.acknowledge_overflow()
        self._queue.sent(top)
        if top < self._queue.complete_from:
            await self._ledger.durable(self._queue.complete_from)  # or the journal would seem to end before
            self._backlog = self._records.between(top, self._queue.complete_from)

    async def skip_to_head(self) -> None:
        """A new epoch begins: everything up to here is of the old one, or in a copy."""
        await self._ledger.durable(self._ledger.head)
        self._queue.restart(self._ledger.head)

    def sent(self, position: int) -> None:
        self._queue.sent(position)

    async def next(self, top: int) -> Batch:
        """Return what comes behind the top of the stream."""
        if self._backlog is not None:
            return await self._read_back(self._backlog, top)
        captured = self._queue.durable(self._journal.durable_position, SENT_AT_ONCE)
        return Batch(top, captured, has_more=len(captured) >= SENT_AT_ONCE)

    async def _read_back(self, backlog: Records, top: int) -> Batch:
        try:
            records = await self._records.take(backlog, READ_AT_ONCE)
        except UNREADABLE:
            log.info("the journal does not reach back to what others have not read: they will take a copy")
            top, records = self._queue.complete_from, []
        if not records:
            self._backlog = None
        captured = list(self._queue.capture(records, self._ledger.head))
        await self._ledger.durable(self._ledger.head)
        return Batch(top, captured, has_more=True)

    def close(self) -> None:
        self._records.close()
