"""Positions in the streams of other nodes, and gaps: parts that this node lacks.

Invariant: a gap that somebody can fill is filled, and no gap is waited for for ever.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView, label_of, name_and_epoch
from replication.members import Registry
from replication.redis_link import EntryId


class ReadPositions:
    """The positions up to which this node has read other streams.

    Invariant: reading begins at the oldest cursor of a name.

    Cursors, in the journal, say what is merged; positions, in memory, say what was read. They differ after a
    copy, which moves cursors alone, and behind a gap that nobody can fill, where only positions move.
    """

    def __init__(self, fleet: FleetView) -> None:
        self._fleet = fleet
        self._read: dict[str, EntryId] = {}
        """By name."""

    def of(self, name: str) -> EntryId:
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
        return self.of(name) >= newest

    def is_merged(self, node_id: str, position: int) -> bool:
        """Tell if this node has merged the other one up to there, from its stream or from a copy."""
        return position <= self._fleet.cursors.get(node_id, 0)


log = logging.getLogger(__name__)

STUCK_BEATS = 3


class Gaps:
    """Gaps: parts of other nodes that this one lacks.

    Invariant: a gap that somebody can fill is filled, and no gap is waited for for ever.

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
        self._closed: dict[str, int] = {}
        """Node ids whose next entry begins behind a gap, since when (monotonic)."""
        self._stuck: dict[str, int] = {}
        """Node ids of which others know more, and the number of heartbeats for which nothing has moved."""
        self._cursors: dict[str, int] = {}
        self._lost: set[str] = set()
        """Node ids with gaps that nobody who is there can fill."""

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
        """Tell if nothing may be read of the node for now."""
        return any(name_and_epoch(node_id)[0] == name for node_id in self._closed)

    def is_before(self, node_id: str, before: int) -> bool:
        """Tell if a gap lies before an entry that begins behind this position; then close the stream."""
        if before <= self._fleet.cursors.get(node_id, 0):
            return False
        if node_id not in self._lost:
            self._closed.setdefault(node_id, self._clock.monotonic_ns())
        return True

    def is_unconfirmed(self, name: str, epoch: int) -> bool:
        """Tell if the node's status of that epoch is still to be read. Until then, nobody knows that its
        entries are of this fleet; of a node that is gone, they are taken for that."""
        if self._registry.confirms(name, epoch):
            return False
        return name not in self._registry.others or self._registry.silent_ns(name) < self._lost_ns

    def is_lost(self, node_id: str) -> bool:
        """Tell if the node's stream is read on behind its gap."""
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
