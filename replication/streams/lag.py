"""Streams that are behind. A node that was busy for a moment is not behind.

The end of what is to be sent or read moves on. From time to time the node notes the end. If it has not come
there `BEHIND_SECONDS` later, it is behind, until nothing is left or it has reached an end in half that time.
"""

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import name_and_epoch
from core.ledger import Ledger
from replication.members.warnings import Warnings
from replication.streams.gaps import Gaps
from replication.streams.publisher import Publisher

BEHIND_SECONDS = 30.0
_BEHIND_NS = round(BEHIND_SECONDS * NS_PER_SECOND)


class Pursuit:
    """A position that follows a moving end."""

    def __init__(self) -> None:
        self.is_behind = False
        self._end = self._since_ns = 0

    def look(self, at: int, end: int, now_ns: int) -> None:
        """Note the position and the end at a time."""
        took_ns = now_ns - self._since_ns
        if at >= end:
            self.is_behind = False
        elif self._end and at < self._end:
            self.is_behind = self.is_behind or took_ns >= _BEHIND_NS
            return
        elif self._end and took_ns * 2 < _BEHIND_NS:
            self.is_behind = False
        self._end, self._since_ns = (0 if at >= end else end), now_ns


class Lag:
    def __init__(
        self, name: str, ledger: Ledger, publisher: Publisher, gaps: Gaps, clock: Clock, warnings: Warnings
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._publisher = publisher
        self._gaps = gaps
        self._clock = clock
        self._warnings = warnings
        self._sending = Pursuit()
        self._reading: dict[str, Pursuit] = {}
        """By node id."""

    def look(self) -> None:
        """Warn of streams that are behind; to be called with every heartbeat, with Redis or without."""
        now_ns = self._clock.monotonic_ns()
        self._look_at_sending(now_ns)
        self._look_at_reading(now_ns)

    def _look_at_sending(self, now_ns: int) -> None:
        unsent = self._publisher.unsent
        top = self._publisher.top or 0
        self._sending.look(top, max(self._ledger.head, top + 1) if unsent else top, now_ns)
        self._warnings.note(
            ("telling", ""),
            f"this node ({self._name}) is behind: what it did {BEHIND_SECONDS:g} s ago is not told yet, "
            f"about {unsent} changes by now"
            if self._sending.is_behind
            else None,
            f"this node ({self._name}) is behind no more: what it did is told",
        )

    def _look_at_reading(self, now_ns: int) -> None:
        missing = self._gaps.missing()
        cursors = self._ledger.state.fleet.cursors
        for node_id in {*missing, *self._reading}:
            at, behind = cursors.get(node_id, 0), missing.get(node_id, 0)
            pursuit = self._reading.setdefault(node_id, Pursuit())
            pursuit.look(at, at + behind, now_ns)
            self._warnings.note(
                (f"reading {node_id}", name_and_epoch(node_id)[0]),
                f"this node ({self._name}) is behind: what node {node_id} told {BEHIND_SECONDS:g} s ago is "
                f"not read yet, {behind} positions by now"
                if pursuit.is_behind
                else None,
                f"this node ({self._name}) is behind no more: what node {node_id} told is read",
            )
            if not behind:
                del self._reading[node_id]
