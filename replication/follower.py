"""Merges the streams of the other nodes. Invariant: each stream is merged in order and without a gap.

One XREAD waits for all streams at once, each from this node's own position. An entry says behind which
position it begins. If that is not merged yet, something is missing, and the stream is closed until a copy has
filled the gap. An entry that does not open with the fleet's keys is neither merged nor
skipped: the follower tries it again, and reads nothing else of that node meanwhile.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView, label_of, name_and_epoch
from replication.applying import Applying
from replication.members import RefusedNodes, Registry
from replication.merge import FactSource
from replication.publisher import Entry
from replication.redis_link import EntryId, Foreign, Link
from replication.usage import Usage

log = logging.getLogger(__name__)

STUCK_BEATS = 3


class Gaps:
    """The positions up to which this node has read other streams, and the gaps behind them.

    Invariant: a gap that somebody can fill is filled, and a node waits for no gap endlessly. Reading begins
    at the oldest cursor of a name.

    Cursors, in the journal, say what is merged; positions, in memory, say what was read. They differ after a
    copy, which moves cursors alone, and behind a gap that nobody can fill, where only positions move.

    If another node knows more of a node than this one, either that node's stream is about to say it, or, when
    nothing of it moves for some heartbeats, a copy is taken of the node that knows most. An entry that begins
    behind an unknown position closes its stream until a copy has filled the gap. A gap of a node that is gone
    may be lost: nobody who is there can fill it. After a while the stream is read on behind it, because facts
    stand for themselves; but the cursor stays, so that a copy is taken when somebody comes back who knows
    more.
    """

    def __init__(self, registry: Registry, fleet: FleetView, clock: Clock, lost_seconds: float) -> None:
        """A gap of a node that is gone is lost if nobody can fill it for `lost_seconds`."""
        self._registry = registry
        self._fleet = fleet
        self._clock = clock
        self._lost_ns = round(lost_seconds * NS_PER_SECOND)
        self._read: dict[str, EntryId] = {}
        """The last entry that was read, by name."""
        self._closed: dict[str, int] = {}
        """Node ids whose next entry begins behind a gap, since when (monotonic)."""
        self._stuck: dict[str, int] = {}
        """Node ids of which others know more, and the number of heartbeats for which nothing has moved."""
        self._cursors: dict[str, int] = {}
        self._lost: set[str] = set()
        """Node ids with gaps that nobody who is there can fill."""

    def read_to(self, name: str) -> EntryId:
        """Return the id of the entry behind which to read the node's stream."""
        if name not in self._read:
            ids = map(name_and_epoch, self._fleet.cursors)
            oldest = min((epoch for other, epoch in ids if other == name), default=0)
            self._read[name] = EntryId(oldest, self._fleet.cursors.get(label_of(name, oldest), 0))
        return self._read[name]

    def move(self, name: str, id_: EntryId) -> None:
        """The entry was read."""
        self._read[name] = id_

    def has_read(self, name: str, newest: EntryId) -> bool:
        return self.read_to(name) >= newest

    def is_merged(self, node_id: str, position: int) -> bool:
        """Return True if this node has merged the other one up to there, from its stream or from a copy."""
        return position <= self._fleet.cursors.get(node_id, 0)

    def missing(self) -> dict[str, int]:
        """Return how many positions others know of each node that this one does not, by node id."""
        known, own = self._fleet.cursors, self._fleet.label
        return {
            node_id: behind
            for node_id, positions in self._registry.known().items()
            if node_id != own and (behind := max(positions.values()) - known.get(node_id, 0)) > 0
        }

    def heartbeat(self) -> None:
        """Look for nodes of which nothing moves although others know more."""
        cursors = dict(self._fleet.cursors)
        moved = {name_and_epoch(each)[0] for each in cursors if cursors[each] != self._cursors.get(each)}
        self._cursors = cursors
        self._lost = {node_id for node_id in self._lost if not self._is_there(node_id)}
        self._stuck = {
            node_id: 0 if name_and_epoch(node_id)[0] in moved else self._stuck.get(node_id, 0) + 1
            for node_id in self.missing()
        }

    @property
    def has_closed(self) -> bool:
        """True while a stream is not read because its next entry begins behind a gap."""
        return bool(self._closed)

    def is_closed(self, name: str) -> bool:
        """Return True if nothing may be read of the node for now."""
        return any(name_and_epoch(node_id)[0] == name for node_id in self._closed)

    def is_before(self, node_id: str, before: int) -> bool:
        """Return True for a gap before an entry that begins behind this position, and close the stream."""
        if before <= self._fleet.cursors.get(node_id, 0):
            return False
        if node_id not in self._lost:
            self._closed.setdefault(node_id, self._clock.monotonic_ns())
        return True

    def is_unconfirmed(self, name: str, epoch: int) -> bool:
        """Return True if the node's status of that epoch is still to be read. Until then, nobody knows that
        its entries are of this fleet; those of a node that is gone are taken for that."""
        if self._registry.confirms(name, epoch):
            return False
        return name not in self._registry.others or self._registry.silent_ns(name) < self._lost_ns

    def is_lost(self, node_id: str) -> bool:
        """Return True if the node's stream is read on behind its gap."""
        return node_id in self._lost

    def donor(self) -> str | None:
        """Return the name of the node to take a copy of; None if no gap needs one."""
        known = self._registry.known()
        stuck = [node_id for node_id, beats in self._stuck.items() if beats > STUCK_BEATS]
        for node_id in [*self._closed, *stuck]:
            names = {at: name for name, at in known.get(node_id, {}).items() if self._registry.is_there(name)}
            best = max(names, default=0)
            if best > self._fleet.cursors.get(node_id, 0):
                return names[best]
            self._give_up_if_lost(node_id)
        return None

    def filled(self) -> None:
        """A copy was taken; a gap that it did not fill shows again."""
        self._closed.clear()
        self._stuck.clear()

    def _is_there(self, node_id: str) -> bool:
        name = name_and_epoch(node_id)[0]
        member = self._registry.others.get(name)
        return member is not None and self._registry.is_there(name) and member.status.label == node_id

    def _give_up_if_lost(self, node_id: str) -> None:
        """Nobody who is there can fill the gap. If its node is gone as well, perhaps nobody ever can."""
        since_ns = self._closed.get(node_id)
        if since_ns is None or self._is_there(node_id):
            return
        if self._clock.monotonic_ns() - since_ns < self._lost_ns:
            return
        log.warning("nobody who is there knows all that node %s told: reading on behind it", node_id)
        del self._closed[node_id]
        self._lost.add(node_id)


ENTRIES_AT_ONCE = 16  # of each stream
REFUSED_SECONDS = 5.0


class Follower:
    def __init__(
        self,
        link: Link,
        registry: Registry,
        gaps: Gaps,
        applying: Applying,
        usage: Usage,
        clock: Clock,
    ) -> None:
        self.refused = RefusedNodes(registry.name)
        self._link = link
        self._registry = registry
        self._gaps = gaps
        self._applying = applying
        self._usage = usage
        self._clock = clock
        self._not_before_ns: dict[str, int] = {}

    async def step(self) -> bool:
        """Read once. Return True if entries were found, and no stream had as many as a step can take. Raises
        UNREACHABLE."""
        uses = self._link.key("uses")
        names = {self._link.key("stream", name): name for name in self._open()}
        cursors = {stream: self._gaps.read_to(name) for stream, name in names.items()}
        cursors[uses] = await self._usage.cursor()
        found = await self._link.read(cursors, ENTRIES_AT_ONCE)
        is_batch = bool(found) and all(len(entries) < ENTRIES_AT_ONCE for entries in found.values())
        self._usage.receive(found.pop(uses, ()))
        for stream, name in names.items():
            if stream not in found:
                self.refused.understood(name)  # the refused entry is gone
            for id_, envelope in found.get(stream, ()):
                if not await self._take(name, id_, envelope):
                    break
        return is_batch

    def _open(self) -> list[str]:
        """Return the nodes whose streams may be read on."""
        now_ns = self._clock.monotonic_ns()
        return [
            name
            for name in self._registry.others
            if not self._gaps.is_closed(name) and self._not_before_ns.get(name, now_ns) <= now_ns
        ]

    async def _take(self, name: str, id_: EntryId, envelope: bytes) -> bool:
        """Merge the entry. Return True if the next one may be read."""
        node_id = label_of(name, id_.epoch)
        if self._gaps.is_merged(node_id, id_.position):
            self._gaps.move(name, id_)
            return True  # a copy had it
        if self._registry.is_foreign(node_id):
            self._gaps.move(name, id_)
            return True
        if self._gaps.is_unconfirmed(name, id_.epoch):
            self._wait(name, self._registry.heartbeat_seconds / 2)
            return False
        try:
            entry = self._link.open(envelope, f"{self._link.key('stream', name)}/{id_}", Entry)
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._wait(name, REFUSED_SECONDS)
            return False
        self.refused.understood(name)
        if not self._gaps.is_before(node_id, entry.before):
            await self._applying.entry(entry.facts, node_id, id_.position)
        elif self._gaps.is_lost(node_id):
            await self._applying.facts(entry.facts, FactSource(node_id))
        else:
            return False
        self._gaps.move(name, id_)
        return True

    def _wait(self, name: str, seconds: float) -> None:
        """Read nothing of the node for a while."""
        self._not_before_ns[name] = self._clock.monotonic_ns() + round(seconds * NS_PER_SECOND)
