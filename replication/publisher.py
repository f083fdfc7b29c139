"""From this node's journal to its stream in Redis.

Invariant: the stream has the records of the journal, in their order, or fewer. A record leaves only after it
is durable.

The outgoing records capture the facts of a committed record, and read back from the journal what they lack.
The publisher appends them to the node's stream as entries: an entry contains all facts behind one position,
up to another. Entries are in Redis: nodes of other versions must understand them.
"""

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec
from redis.exceptions import ResponseError

from core.events import Event, UnknownEvent, decode_record, encode_record
from core.ledger import Ledger
from journal.journal import Journal
from journal.segments import JournalCorrupt, JournalReader
from replication.capture import Capture
from replication.epochs import Identity
from replication.facts import Fact, ListingFact
from replication.members import KnownElsewhere
from replication.redis_link import ENVELOPE, EntryId, Foreign, Link
from storage.folder import Folder
from storage.sealing import KeyMissing

ENTRY_COST = 128  # facts; those of listings are larger
LISTING_COST = 8


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """All facts of the positions behind `before`, up to that of the entry's id.

    `proof` is of the record at that position: another proof there means another journal.
    """

    before: int
    proof: bytes
    facts: list[Fact]


class Captured(NamedTuple):
    """The facts of the record at `position`."""

    position: int
    facts: list[Fact]
    events: Sequence[Event]


def proof_of(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=8).digest()


def entries(captured: Sequence[Captured], before: int) -> Iterator[tuple[int, Entry]]:
    """Yield (position, entry) for entries that say all this, behind position `before`."""
    facts: list[Fact] = []
    cost = 0
    for index, one in enumerate(captured):
        facts += one.facts
        cost += sum(LISTING_COST if isinstance(fact, ListingFact) else 1 for fact in one.facts)
        if cost >= ENTRY_COST or index == len(captured) - 1:
            yield one.position, Entry(before, proof_of(encode_record(one.events)), facts)
            before, facts, cost = one.position, [], 0


log = logging.getLogger(__name__)

QUEUED_MOST = 100_000  # records; more are read back from the journal when there is time
SENT_AT_ONCE = 1_024  # records
READ_AT_ONCE = 512  # records of the journal
UNREADABLE = (JournalCorrupt, KeyMissing, UnknownEvent, OSError)
Records = Iterator[tuple[int, Sequence[Event]]]


class Batch(NamedTuple):
    """The records to send behind position `after`; `has_more` if the next batch may have some at once."""

    after: int
    captured: Sequence[Captured]
    has_more: bool


class Outgoing:
    """The records that the stream lacks.

    Invariant: nothing leaves before it is durable, and nothing is left out.

    Facts are captured when their record is committed, because that costs nothing then, and stay in a queue
    until the stream has them. Records from before the start, or too many for the queue, are read back from
    the journal, in a thread: the event loop never waits for the disk.
    """

    def __init__(
        self, ledger: Ledger, journal: Journal, folder: Folder, capture: Capture, most: int = QUEUED_MOST
    ) -> None:
        self.complete_from = ledger.head
        """The position behind which the queue has all facts that the stream lacks."""
        self.has_overflowed = False
        """True if the queue has left records out: `resume` reads them back."""
        self.newest = 0
        """The newest record since the start that other nodes are to hear of."""
        self._ledger = ledger
        self._journal = journal
        self._folder = folder
        self._capture = capture
        self._most = most
        self._queue: deque[Captured] = deque()
        self._backlog: Records | None = None
        """Records that are read back before the queue is sent."""
        self._thread = ThreadPoolExecutor(1, "read back")

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        facts = self._capture.facts(events)
        if facts:
            if len(self._queue) >= self._most:
                self._restart(position - 1)
                self.has_overflowed = True
            self._queue.append(Captured(position, facts, events))
            self.newest = position

    @property
    def has_work(self) -> bool:
        return bool(self._queue) or self._backlog is not None

    def missing(self, top: int) -> int:
        """About how many records a stream up to this position lacks."""
        return len(self._queue) + (self.complete_from - top if self._backlog else 0)

    def beginning(self) -> int:
        """Return where a stream begins that nobody has read: behind a copy, if there is anything to copy."""
        state = self._ledger.state
        return (
            self.complete_from
            if state.listings.refs or state.listings.unlisted or state.users.refs or state.fleet.removed
            else 0
        )

    async def is_of_this_journal(self, position: int, proof: bytes) -> bool:
        """Return True if an entry with this position and proof can be of this node's journal. If the disk no
        longer has the record, assume so."""
        if position > self._ledger.head:
            return False
        try:
            found = await self._take(self._between(position - 1, position), 1)
        except UNREADABLE:
            return True
        return all(proof_of(encode_record(events)) == proof for _, events in found)

    async def resume(self, top: int) -> None:
        """Go on behind this position."""
        self.has_overflowed, self._backlog = False, None
        self.sent(top)
        if top < self.complete_from:
            await self._ledger.durable(self.complete_from)  # or the journal would seem to end before
            self._backlog = self._between(top, self.complete_from)

    async def skip_to_head(self) -> None:
        """A new epoch begins: everything up to here is of the old one, or in a copy."""
        await self._ledger.durable(self._ledger.head)
        self._restart(self._ledger.head)

    def sent(self, position: int) -> None:
        """Everything up to here is in the stream. If Redis loses it, it is read back."""
        while self._queue and self._queue[0].position <= position:
            self.complete_from = self._queue.popleft().position

    async def next(self, top: int) -> Batch:
        """Return what comes behind the top of the stream."""
        if self._backlog is not None:
            return await self._read_back(self._backlog, top)
        durable = self._journal.durable_position
        first = islice(self._queue, SENT_AT_ONCE)
        captured = list(takewhile(lambda one: one.position <= durable, first))
        return Batch(top, captured, has_more=len(captured) >= SENT_AT_ONCE)

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    def _restart(self, head: int) -> None:
        """Drop everything up to this position."""
        self._queue.clear()
        self.complete_from = head

    async def _read_back(self, backlog: Records, top: int) -> Batch:
        try:
            records = await self._take(backlog, READ_AT_ONCE)
        except UNREADABLE:
            log.info("the journal does not reach back to what others have not read: they will take a copy")
            top, records = self.complete_from, []
        if not records:
            self._backlog = None
        facts = ((position, self._capture.facts(events), events) for position, events in records)
        captured = [Captured(*each) for each in facts if each[1]]
        await self._ledger.durable(self._ledger.head)  # facts say how things are now
        return Batch(top, captured, has_more=True)

    def _between(self, after: int, until: int) -> Records:
        """Yield (position, events) behind `after` up to `until`; for `_take` only. Raises UNREADABLE."""
        for position, record in JournalReader(self._folder).records(after, until):
            yield position, decode_record(record)

    async def _take(self, records: Records, most: int) -> list[tuple[int, Sequence[Event]]]:
        """Return the next records, at most so many, without waiting on the loop. Raises UNREADABLE."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: list(islice(records, most)))


TOO_SMALL = "equal or smaller"


class Publisher:
    """Sends the outgoing records to the stream.

    The newest entry of the stream is the only record of what was sent. Whenever that is uncertain, the
    publisher reads it and goes on behind it (`_reconcile`). Redis refuses what the stream has already,
    because ids only grow. If the newest entry is none of this journal's, or the others know more than this
    node has announced, the stream is of another journal, and the node begins a new epoch.
    """

    def __init__(
        self,
        link: Link,
        name: str,
        ledger: Ledger,
        outgoing: Outgoing,
        identity: Identity,
        known_elsewhere: Callable[[], KnownElsewhere],
    ) -> None:
        self.top: int | None = None
        """The newest position in the stream; None while that is not known."""
        self.has_reconciled = False
        """True once, since the start, this node has found out that the stream is its own."""
        self._link = link
        self._stream = link.key("stream", name)
        self._ledger = ledger
        self._outgoing = outgoing
        self._identity = identity
        self._known_elsewhere = known_elsewhere
        self._has_entries = False
        """The stream of this epoch has entries: it may not become empty any more."""
        self._announced = ledger.head
        """The newest position that another node can know; if one knows more, it knows another journal."""
        self._must_reconcile = True
        self._refusals = 0
        """The number of consecutive steps whose ids were too old for the stream."""
        self._work = asyncio.Event()
        self._work.set()

    @property
    def unsent(self) -> int:
        """About how many records the stream does not have yet."""
        return self._outgoing.missing(self.top or 0)

    def wake(self) -> None:
        """A record may have become durable."""
        if self._outgoing.has_work:
            self._work.set()

    def recheck(self) -> None:
        """Read the stream's newest entry before anything more is sent."""
        self._must_reconcile = True
        self._work.set()

    def announce(self, position: int) -> None:
        """Other nodes can know this node's records up to there from now on."""
        self._announced = max(position, self._announced)

    async def wait(self) -> None:
        """Return when there may be something to send."""
        await self._work.wait()

    def close(self) -> None:
        self._outgoing.close()

    async def step(self) -> None:
        """Send what there is. Raises UNREACHABLE and Unavailable."""
        self._work.clear()
        try:
            if self._must_reconcile:
                self.top, self._must_reconcile = None, False
                await self._reconcile()
            while not self._must_reconcile and await self._send(self.top or 0):
                pass
        except BaseException as error:
            self.recheck()
            if not (isinstance(error, ResponseError) and TOO_SMALL in str(error)):
                raise
            # The last id of the stream is higher than its newest entry, if that was cut off: begin a new one.
            self._refusals += 1
            if self._refusals > 1:
                await self._link.redis.delete(self._stream)

    async def is_reconciled(self) -> bool:
        """Return True if the stream still ends where this node left it, and no node knows more than it
        announced. Raises UNREACHABLE."""
        known, left, epoch = self._known_elsewhere(), self.top, self._identity.epoch
        if known.newest_epoch > epoch or (left is None and self._must_reconcile):
            return False
        if known.read is not None and known.read.furthest > self._announced:
            return False
        if not self._has_entries or left is None:
            return True
        newest = await self._link.newest_of_ours(self._stream)
        if newest is None:
            return False
        end = newest.id  # a step may be sending
        return EntryId(epoch, left) <= end <= EntryId(epoch, self._announced)

    async def trim(self, most_bytes: int) -> None:
        """Cut off what everybody has read, and what takes too much room; the newest entry stays. Raises
        UNREACHABLE."""
        redis, read = self._link.redis, self._known_elsewhere().read
        if read is not None and self.top:
            oldest = EntryId(self._identity.epoch, min(read.slowest + 1, self.top))
            await redis.xtrim(self._stream, minid=str(oldest), approximate=False)
        # By default Redis samples the oldest entries only: they may be much smaller than the others.
        used = await redis.memory_usage(self._stream, samples=0) or 0
        if used > most_bytes:
            kept = max(await redis.xlen(self._stream) * most_bytes // used, 1)
            log.warning("the stream takes %d bytes: a node that has not read it yet will take a copy", used)
            await redis.xtrim(self._stream, maxlen=kept, approximate=False)

    # -- finding the position --------------------------------------------------------------------------

    async def _reconcile(self) -> None:
        """Find the position behind which to go on, or that it is too early to tell."""
        await self._identity.move_votes()  # a full disk may have kept them from it
        top = await self._own_top()
        known = self._known_elsewhere()
        if known.newest_epoch > self._identity.epoch:  # followers would ignore an earlier one
            await self._begin_epoch(known.newest_epoch)
            top = None
            known = self._known_elsewhere()
        if known.read is not None and known.read.furthest > self._announced:  # the stream is lost as well
            await self._begin_epoch(self._identity.epoch)
            top = None
            known = known._replace(read=None)
        knows_others = bool(self._ledger.state.fleet.cursors)
        if top is None and known.read is None and knows_others and not known.is_complete:
            self._must_reconcile = True  # Redis lost everything, and somebody may still say what it was
            return
        self._identity.confirm()
        self.has_reconciled = True
        if top is None or top.epoch < self._identity.epoch:
            position = self._outgoing.beginning() if known.read is None else known.read.slowest
        else:
            position = top.position
            self._has_entries = True
        self.top = position
        await self._outgoing.resume(position)

    async def _own_top(self) -> EntryId | None:
        """Return the id of the newest entry if it is of this node's journal; else begin a new stream."""
        newest = await self._link.newest_of_ours(self._stream)
        if newest is None:
            return None
        id_, envelope = newest
        try:
            entry = self._link.open(envelope, f"{self._stream}/{id_}", Entry)
        except Foreign as foreign:
            log.error("%s: this node begins a new stream", foreign)
            await self._link.redis.delete(self._stream)
            return None
        epoch = self._identity.epoch
        if id_.epoch < epoch:
            return id_
        if id_.epoch > epoch or not await self._outgoing.is_of_this_journal(id_.position, entry.proof):
            await self._begin_epoch(id_.epoch)
            return None
        return id_

    async def _begin_epoch(self, after: int) -> None:
        await self._identity.begin_epoch(after)
        await self._outgoing.skip_to_head()
        self._has_entries = False
        self._announced = self._ledger.head

    # -- sending ---------------------------------------------------------------------------------------

    async def _send(self, top: int) -> bool:
        """Send a batch. Return True if there is more."""
        if self._outgoing.has_overflowed:
            self.recheck()
            return False
        batch = await self._outgoing.next(top)
        if batch.after != top:
            self.top = batch.after
        sent = list(entries(batch.captured, top))
        if sent:
            newest, _ = sent[-1]
            self.announce(newest)
            await self._append(sent)
            self._refusals = 0
            self._has_entries = True
            self.top = newest
            self._outgoing.sent(newest)
        return batch.has_more

    async def _append(self, sent: Sequence[tuple[int, Entry]]) -> None:
        """Append (position, entry) in one round trip. Redis refuses entries that it has: ids only grow."""
        pipeline, epoch = self._link.redis.pipeline(transaction=False), self._identity.epoch
        for position, entry in sent:
            id_ = EntryId(epoch, position)
            envelope = self._link.seal(entry, f"{self._stream}/{id_}")
            pipeline.xadd(self._stream, {ENVELOPE: envelope}, id=str(id_))
        await pipeline.execute()
