"""What this node lacks of the others. Law: what can be had is waited for, and nothing for ever.

More is known of a node elsewhere: then its stream is about to tell, or, if nothing of that node moves for
some beats, a copy is taken of whoever knows most. An entry that begins behind something unknown closes the
stream until a copy has filled the gap. What nobody knows who is there, of a node that is gone itself, may be
lost: after a while what comes behind it is read on, because facts stand for themselves; but nothing is noted
as known, so that a copy is taken when somebody comes back who knows it.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.fleet import FleetView, name_and_epoch
from replication.members.registry import Registry

log = logging.getLogger(__name__)

STUCK_BEATS = 3


class Gaps:
    def __init__(self, registry: Registry, fleet: FleetView, clock: Clock, lost_seconds: float) -> None:
        """`lost_seconds`: so long is waited for somebody who can fill a gap of a node that is gone."""
        self._registry = registry
        self._fleet = fleet
        self._clock = clock
        self._lost_ns = round(lost_seconds * NS_PER_SECOND)
        self._closed: dict[str, int] = {}
        """Labels of nodes whose next entry begins behind a gap, since when (monotonic)."""
        self._stuck: dict[str, int] = {}
        """Labels of nodes of which more is known elsewhere, and for how many beats nothing has moved."""
        self._cursors: dict[str, int] = {}
        self._hopeless: set[str] = set()
        """Labels of nodes that are gone, with gaps that nobody can fill who is there."""

    def missing(self) -> dict[str, int]:
        """How many positions others know of each node that this one does not, by label."""
        known, own = self._fleet.cursors, self._fleet.label
        return {
            label: behind
            for label, positions in self._registry.told().items()
            if label != own and (behind := max(positions.values()) - known.get(label, 0)) > 0
        }

    def beat(self) -> None:
        """Looks for what does not move although there is more."""
        cursors = dict(self._fleet.cursors)
        moved = {name_and_epoch(label)[0] for label in cursors if cursors[label] != self._cursors.get(label)}
        self._cursors = cursors
        self._hopeless = {label for label in self._hopeless if not self._lives(label)}
        self._stuck = {
            label: 0 if name_and_epoch(label)[0] in moved else self._stuck.get(label, 0) + 1
            for label in self.missing()
        }

    def is_closed(self, name: str) -> bool:
        """Whether nothing may be read of the node for now."""
        return any(name_and_epoch(label)[0] == name for label in self._closed)

    def is_one(self, label: str, before: int) -> bool:
        """Whether something is missing in front of an entry that says all behind that position; then the
        node's stream is closed."""
        if before <= self._fleet.cursors.get(label, 0):
            return False
        if label not in self._hopeless:
            self._closed.setdefault(label, self._clock.monotonic_ns())
        return True

    def is_hopeless(self, label: str) -> bool:
        """Whether what comes behind a gap of the node may be read on."""
        return label in self._hopeless

    def wanted(self) -> str | None:
        """The name of the node that a copy is to be taken of, if of any."""
        told = self._registry.told()
        stuck = [label for label, beats in self._stuck.items() if beats > STUCK_BEATS]
        for label in [*self._closed, *stuck]:
            there = {at: name for name, at in told.get(label, {}).items() if self._registry.is_there(name)}
            best = max(there, default=0)
            if best > self._fleet.cursors.get(label, 0):
                return there[best]
            self._maybe_hopeless(label)
        return None

    def filled(self) -> None:
        """A copy was taken; what it did not fill shows again."""
        self._closed.clear()
        self._stuck.clear()

    def _lives(self, label: str) -> bool:
        name = name_and_epoch(label)[0]
        heard = self._registry.others.get(name)
        return heard is not None and self._registry.is_there(name) and heard.status.label == label

    def _maybe_hopeless(self, label: str) -> None:
        """Nobody who is there knows more: if the node itself is gone as well, nobody ever will, perhaps."""
        since_ns = self._closed.get(label)
        if since_ns is None or self._lives(label) or self._clock.monotonic_ns() - since_ns < self._lost_ns:
            return
        log.warning("nobody who is there knows all that node %s told: reading on behind it", label)
        del self._closed[label]
        self._hopeless.add(label)
