"""From this node's journal to its stream.

Invariant: the stream has the records of the journal, in their order, or fewer.

The newest entry of the stream is the only record of what was sent. Whenever that is uncertain, the
publisher reads it and goes on behind it (`_reconcile`). Redis refuses what the stream has already, because
ids only grow. If the newest entry is none of this journal's, or the others know more than this node has
announced, the stream is of another journal, and the node begins a new epoch.
"""

import asyncio
import logging
from typing import Protocol

from redis.exceptions import ResponseError

from core.ledger import Ledger
from replication.members.status import KnownElsewhere
from replication.streams.entries import entries
from replication.streams.identity import Identity
from replication.streams.outgoing import Outgoing
from replication.streams.own_stream import OwnStream
from replication.transport.envelopes import Foreign
from replication.transport.link import EntryId
from replication.transport.pacing import Pacing

log = logging.getLogger(__name__)

TOO_SMALL = "equal or smaller"


class Others(Protocol):
    def known_elsewhere(self) -> KnownElsewhere: ...


class Publisher:
    def __init__(
        self,
        stream: OwnStream,
        ledger: Ledger,
        outgoing: Outgoing,
        identity: Identity,
        others: Others,
        pacing: Pacing,
    ) -> None:
        self.top: int | None = None
        """The newest position in the stream; None while that is not known."""
        self.has_reconciled = False
        """True once, since the start, this node has found out that the stream is its own."""
        self._stream = stream
        self._ledger = ledger
        self._outgoing = outgoing
        self._identity = identity
        self._others = others
        self._pacing = pacing
        self._has_entries = False
        """The stream of this epoch has entries: it may not become empty any more."""
        self._announced = ledger.head
        """The newest position that another node can know; if one knows more, it knows another journal."""
        self._must_reconcile = True
        self._refusals = 0
        """The number of steps in a row whose ids were too old for the stream."""
        self._work = asyncio.Event()
        self._work.set()

    @property
    def node_id(self) -> str:
        return self._identity.node_id

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
        """Return when there may be something to send and the pace allows a step."""
        await self._work.wait()
        await self._pacing.turn()

    def close(self) -> None:
        self._outgoing.close()

    async def step(self) -> None:
        """Send what there is. Raises UNREACHABLE and Unavailable."""
        self._pacing.began()
        self._work.clear()
        try:
            if self._must_reconcile:
                self._outgoing.pause()
                self.top, self._must_reconcile = None, False
                await self._reconcile()
            while not self._must_reconcile and await self._send(self.top or 0):
                pass
        except BaseException as error:
            self.recheck()
            if not (isinstance(error, ResponseError) and TOO_SMALL in str(error)):
                raise
            await self._refused_as_old()

    async def is_reconciled(self) -> bool:
        """Tell if the stream still ends where this node left it, and no node knows more than it announced.
        Raises UNREACHABLE."""
        known, left, epoch = self._others.known_elsewhere(), self.top, self._identity.epoch
        if known.newest_epoch > epoch or (left is None and self._must_reconcile):
            return False
        if known.read is not None and known.read.furthest > self._announced:
            return False
        if not self._has_entries or left is None:
            return True
        newest = await self._stream.newest()
        if newest is None:
            return False
        return EntryId(epoch, left) <= newest[0] <= EntryId(epoch, self._announced)  # a step may be sending

    async def trim(self, most_bytes: int) -> None:
        """Cut off what everybody has read, and what takes too much room; the newest entry stays. Raises
        UNREACHABLE."""
        read = self._others.known_elsewhere().read
        if read is not None and self.top:
            await self._stream.cut_before(EntryId(self._identity.epoch, min(read.slowest + 1, self.top)))
        await self._stream.cut_to(most_bytes)

    async def _refused_as_old(self) -> None:
        """The last id of the stream is higher than its newest entry, if that was cut off: begin a new one."""
        self._refusals += 1
        if self._refusals > 1:
            await self._stream.delete()

    # -- finding the position --------------------------------------------------------------------------

    async def _reconcile(self) -> None:
        """Find the position behind which to go on, or that it is too early to tell."""
        await self._identity.finish_epoch()
        top = await self._own_top()
        known = self._others.known_elsewhere()
        if known.newest_epoch > self._identity.epoch:  # followers would ignore an earlier one
            await self._begin_epoch(known.newest_epoch)
            top = None
            known = self._others.known_elsewhere()
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
        newest = await self._stream.newest()
        if newest is None:
            return None
        id_, envelope = newest
        try:
            entry = self._stream.open(id_, envelope)
        except Foreign as foreign:
            log.error("%s: this node begins a new stream", foreign)
            await self._stream.delete()
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
        """Send a batch. Returns True if there is more."""
        if self._outgoing.overflowed:
            self.recheck()
            return False
        batch = await self._outgoing.next(top)
        if batch.after != top:
            self.top = batch.after
        sent = list(entries(batch.captured, top))
        if sent:
            newest, _ = sent[-1]
            self.announce(newest)
            await self._stream.append(self._identity.epoch, sent)
            self._refusals = 0
            self._has_entries = True
            self.top = newest
            self._outgoing.sent(newest)
        return batch.has_more
