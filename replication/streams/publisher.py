"""From this node's journal to its stream. Law: the stream says what the journal says, in its order, or less.

The stream's top is the only mark of what was sent: whenever anything is unsure, it is asked for, and sending
goes on behind it. What was in the stream already is refused by Redis, because ids only grow. When the top is
nothing that this journal holds, the journal is another one than the stream was made of, and the node begins
a new epoch.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from redis.exceptions import ResponseError

from core.clock import Clock
from core.events import Event, NodeNamed, UnknownEvent, decode_record, encode_record
from core.fleet import label_of, name_and_epoch
from core.ledger import Ledger
from journal.segments import JournalCorrupt, JournalReader
from replication.streams.provisional import Tentative
from replication.streams.queue import Queue, Told, entries
from replication.transport.envelopes import Entry, Envelopes, Foreign, Id, id_of, proof_of
from replication.transport.link import ENVELOPE, Link
from replication.transport.pacing import Pacing
from storage.folder import Folder
from storage.sealing import KeyMissing

log = logging.getLogger(__name__)

SENT_AT_ONCE = 1_024  # records
READ_AT_ONCE = 512  # records of the journal
TOO_SMALL = "equal or smaller"
UNREADABLE = (JournalCorrupt, KeyMissing, UnknownEvent, OSError)
Records = list[tuple[int, Sequence[Event]]]


class Publisher:
    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        name: str,
        ledger: Ledger,
        queue: Queue,
        folder: Folder,
        clock: Clock,
        pacing: Pacing,
        durable: Callable[[], int],
        known: Callable[[], tuple[int, int] | None],
        tentative: Tentative,
        newest_epoch: Callable[[], int] = lambda: 0,
        has_listened: Callable[[], bool] = lambda: True,
    ) -> None:
        """`durable()` is the newest durable position; `known()` up to where others know what this node has
        told: the slowest and the furthest of them, None if nobody knows anything; `newest_epoch()` the latest
        under this name that they know of; `has_listened()` whether they have had the time to say so."""
        self.name = name
        self.top: int | None = None
        """The newest position in the stream; None while that is not known."""
        self._link = link
        self._envelopes = envelopes
        self._ledger = ledger
        self._queue = queue
        self._folder = folder
        self._clock = clock
        self._pacing = pacing
        self._durable = durable
        self._known = known
        self._tentative = tentative
        self._newest_epoch = newest_epoch
        self._has_listened = has_listened
        self.has_agreed = False
        """Since the start: this node is who it says that it is."""
        self._has_sent = False
        """Or found: the stream is not to be empty any more."""
        self._backlog: Iterator[tuple[int, Sequence[Event]]] | None = None
        self._vouched = ledger.head
        self._doubted = True
        self._refusals = 0
        """How often in a row ids were too old for the stream."""
        self._thread = ThreadPoolExecutor(1, "read back")
        self._work = asyncio.Event()
        self._work.set()

    @property
    def label(self) -> str:
        return self._ledger.state.fleet.label

    @property
    def unsent(self) -> int:
        """About how many records the stream does not have yet."""
        return len(self._queue) + (self._queue.complete_from - (self.top or 0) if self._backlog else 0)

    def wake(self) -> None:
        """Something may have become durable."""
        if len(self._queue) or self._backlog is not None:
            self._work.set()

    def doubt(self) -> None:
        """What the stream holds is to be asked for before anything more is sent."""
        self._doubted = True
        self._work.set()

    def vouch(self, position: int) -> None:
        """Others may know what this node did up to there; if they know more, it was not this journal."""
        self._vouched = max(position, self._vouched)

    async def wait(self) -> None:
        """Returns when there may be something to send, and the last step was long enough ago."""
        await self._work.wait()
        await self._pacing.turn()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    async def step(self) -> None:
        """Sends what there is. Raises UNREACHABLE."""
        self._pacing.began()
        self._work.clear()
        try:
            if self._doubted:
                self.top = self._backlog = None
                self._doubted = False
                await self._agree()
            while not self._doubted and await self._send(self.top or 0):
                pass
        except BaseException as error:
            self.doubt()
            if not (isinstance(error, ResponseError) and TOO_SMALL in str(error)):
                raise
            await self._refused_as_old()

    async def is_agreed(self) -> bool:
        """Whether the stream still ends where this node has left it, and others know no more than it did."""
        known, left = self._known(), self.top
        _, epoch = name_and_epoch(self.label)
        if self._newest_epoch() > epoch or (left is None and self._doubted):
            return False
        if known is not None and known[1] > self._vouched:
            return False
        if not self._has_sent or left is None:
            return True
        newest = await self._newest()
        if newest is None:
            return False
        return Id(epoch, left) <= newest[0] <= Id(epoch, self._vouched)  # more may be on its way

    async def trim(self, most_bytes: int) -> None:
        """Cuts off what everybody has read, and what takes too much room; the top stays. Raises
        UNREACHABLE."""
        redis, stream, known = self._link.redis, self._link.stream(self.name), self._known()
        if known is not None and self.top:
            oldest = Id(name_and_epoch(self.label)[1], min(known[0] + 1, self.top))
            await redis.xtrim(stream, minid=str(oldest), approximate=False)
        used = await redis.memory_usage(stream) or 0
        if used > most_bytes:
            kept = max(await redis.xlen(stream) * most_bytes // used, 1)
            log.warning("the stream takes %d bytes: whoever has not read it yet will take a copy", used)
            await redis.xtrim(stream, maxlen=kept, approximate=False)

    async def _refused_as_old(self) -> None:
        """The stream has come further than its top, if that was cut off: then it is begun anew."""
        self._refusals += 1
        if self._refusals > 1:
            await self._link.redis.delete(self._link.stream(self.name))

    # -- what the stream holds -------------------------------------------------------------------------

    async def _newest(self) -> tuple[Id, bytes] | None:
        found = await self._link.newest_of_ours(self._link.stream(self.name))
        return (id_of(found[0]), found[1]) if found is not None else None

    async def _agree(self) -> None:
        """Finds out behind which position to go on, or that it is too early to tell."""
        await self._tentative.move()  # what a full disk has kept from being moved
        _, epoch = name_and_epoch(self.label)
        newest = await self._newest()
        if newest is not None:
            try:
                entry = self._envelopes.open(newest[1], self.place(newest[0]), Entry)
            except Foreign as foreign:
                log.error("%s: this node's own stream is begun anew", foreign)
                await self._link.redis.delete(self._link.stream(self.name))
                newest = None
            else:
                if newest[0].epoch > epoch or not await self._is_ours(newest[0], entry.proof):
                    await self._begin_epoch(newest[0].epoch)
                    newest = None
        later = self._newest_epoch()
        if later > name_and_epoch(self.label)[1]:  # followers would look for nothing earlier
            await self._begin_epoch(later)
            newest = None
        known = self._known()
        if known is not None and known[1] > self._vouched:  # and the stream has been lost as well
            await self._begin_epoch(name_and_epoch(self.label)[1])
            newest = known = None
        if newest is None and known is None and self._ledger.state.fleet.cursors and not self._has_listened():
            self._doubted = True  # Redis has lost all that was told: others may say what it was
            return
        self._tentative.settle()
        self.has_agreed = True
        if newest is None or newest[0].epoch < name_and_epoch(self.label)[1]:
            top = self._beginning() if known is None else known[0]
        else:
            top = newest[0].position
            self._has_sent = True
        self._queue.arrived(top)
        self.top = top
        if top < self._queue.complete_from:
            await self._ledger.durable(self._queue.complete_from)  # or the journal would seem to end before
            self._backlog = self._records(top, self._queue.complete_from)

    def _beginning(self) -> int:
        """Where a stream begins that nobody has read: a copy is to come before it, unless there is nothing to
        copy."""
        state = self._ledger.state
        return self._queue.complete_from if state.refs or state.ghosts or state.fleet.removed else 0

    async def _is_ours(self, newest: Id, proof: bytes) -> bool:
        _, epoch = name_and_epoch(self.label)
        if newest.epoch < epoch:
            return True
        if newest.position > self._ledger.head:
            return False
        try:
            found = await self._in_thread(list, self._records(newest.position - 1, newest.position))
        except UNREADABLE:
            return True  # older than all that is on disk: nothing speaks against it
        return all(proof_of(encode_record(events)) == proof for _, events in found)

    async def _begin_epoch(self, after: int) -> None:
        log.warning("the stream of node %s is ahead of its data: they are older, or others", self.name)
        before, epoch = self.label, max(after + 1, self._clock.now_ms())
        self._ledger.commit([NodeNamed(label_of(self.name, epoch))])
        self._tentative.disown(before)
        await self._tentative.move()
        await self._ledger.durable(self._ledger.head)
        self._queue.forget(self._ledger.head)  # it says what the old epoch has done
        self._has_sent = False
        self._vouched = self._ledger.head

    # -- sending ---------------------------------------------------------------------------------------

    async def _send(self, top: int) -> bool:
        """Whether there is more than was sent."""
        if self._queue.overflowed:
            self._queue.overflowed = False
            self.doubt()
            return False
        backlog = self._backlog
        if backlog is None:
            told = self._queue.durable(self._durable(), SENT_AT_ONCE)
        else:
            told = await self._read_back(backlog)
        sent = list(entries(told, top))
        if sent:
            self.vouch(sent[-1][0])
            await self._add(sent)
            self._refusals = 0
            self._has_sent = True
            self.top = sent[-1][0]
            self._queue.arrived(self.top)
        return len(told) >= SENT_AT_ONCE or backlog is not None

    async def _read_back(self, backlog: Iterator[tuple[int, Sequence[Event]]]) -> list[Told]:
        try:
            records = await self._in_thread(list, islice(backlog, READ_AT_ONCE))
        except UNREADABLE:
            log.info("the journal does not reach back to what others have not read: they will take a copy")
            self.top, records = self._queue.complete_from, []
        if not records:
            self._backlog = None
        told = list(self._queue.read_back(records, self._ledger.head))
        await self._ledger.durable(self._ledger.head)
        return told

    async def _add(self, sent: Sequence[tuple[int, Entry]]) -> None:
        _, epoch = name_and_epoch(self.label)
        stream = self._link.stream(self.name)
        pipeline = self._link.redis.pipeline(transaction=False)
        for position, entry in sent:
            id_ = Id(epoch, position)
            pipeline.xadd(stream, {ENVELOPE: self._envelopes.seal(entry, self.place(id_))}, id=str(id_))
        await pipeline.execute()

    def place(self, id_: Id) -> str:
        return f"{self._link.stream(self.name)}/{id_}"

    def _records(self, after: int, until: int) -> Iterator[tuple[int, Sequence[Event]]]:
        for position, record in JournalReader(self._folder).records(after, until):
            yield position, decode_record(record)

    async def _in_thread(self, call: Callable[..., Records], *arguments: object) -> Records:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)
