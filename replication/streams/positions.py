"""The positions up to which this node has read other streams.

Invariant: reading begins at the oldest cursor of a name.

Cursors, in the journal, say what is merged; positions, in memory, say what was read. They differ after a
copy, which moves cursors alone, and behind a gap that nobody can fill, where only positions move.
"""

from core.fleet_table import FleetView, label_of, name_and_epoch
from replication.transport.link import EntryId


class ReadPositions:
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
