"""Settings and clocks that differ between nodes.

Invariant: a warning is logged only for a certain difference.

The status of a node has the settings that all should have alike, and its wall clock. A status that follows
one that was read before is at most as old as a heartbeat; the first one of a node may have any age, so it
says nothing about the clock.
"""

from collections.abc import Mapping

from core.clock import Clock
from replication.members.status import Change
from replication.members.warnings import Warnings

CLOCK_SECONDS = 10.0
"""The difference of clocks that is tolerated, beyond the age of a status."""
STATUSES_APART = 2
"""In a row: a single one may have been held up between its clock and its writing."""


class Differences:
    def __init__(
        self,
        name: str,
        settings: Mapping[str, str],
        clock: Clock,
        warnings: Warnings,
        heartbeat_seconds: float,
    ) -> None:
        """`settings` are those that all nodes should have alike, by name."""
        self._name = name
        self._settings = settings
        self._clock = clock
        self._warnings = warnings
        self._most_ms = round((CLOCK_SECONDS + heartbeat_seconds) * 1_000)
        self._apart: dict[str, int] = {}
        """The number of statuses in a row whose clock was apart, by node."""

    def compare(self, change: Change) -> None:
        """Compare a new status with this node's settings and clock."""
        name, status, is_next = change
        for setting, value in self._settings.items():
            theirs = status.settings.get(setting, value)
            self._warnings.note(
                (setting, name),
                f"{setting} is {value} at this node ({self._name}) and {theirs} at node {name}: "
                "give all nodes the same value"
                if theirs != value
                else None,
                f"{setting} is the same at nodes {self._name} and {name} again",
            )
        if not is_next:
            self._apart[name] = 0
        elif status.at_ms:
            self._compare_clock(name, status.at_ms - self._clock.now_ms())

    def _compare_clock(self, name: str, ahead_ms: int) -> None:
        topic = ("clock", name)
        over = f"the clocks of nodes {self._name} and {name} agree again"
        if abs(ahead_ms) > self._most_ms:
            self._apart[name] = self._apart.get(name, 0) + 1
            if self._apart[name] >= STATUSES_APART:
                side = "ahead of" if ahead_ms > 0 else "behind"
                self._warnings.note(
                    topic,
                    f"the clock of node {name} is {abs(ahead_ms) / 1_000:.0f} s {side} that of this node "
                    f"({self._name}): votes end at the wrong time; synchronise the clocks",
                    over,
                )
            return
        self._apart[name] = 0
        if abs(ahead_ms) * 2 < self._most_ms:
            self._warnings.note(topic, None, over)
