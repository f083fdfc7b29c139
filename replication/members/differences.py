"""Where a node is another than this one, and should not be. Law: what cannot be told for sure is not told.

Each node's word has the settings that all should have alike, and the time of its clock. A word is as old as
the beat in which it was read, at most, if it has changed since the last one; the first word that is read of
a node may be of any age, and says nothing about its clock.
"""

from collections.abc import Mapping

from core.clock import Clock
from replication.members.warnings import Concerns
from replication.transport.envelopes import Status

CLOCK_SECONDS = 10.0
"""So far apart clocks may be, beside the age of a word."""
WORDS_APART = 2
"""In a row: one may have been held up between its time and its writing."""


class Differences:
    def __init__(
        self,
        name: str,
        settings: Mapping[str, str],
        clock: Clock,
        concerns: Concerns,
        beat_seconds: float,
    ) -> None:
        """`settings` are those that all nodes should have alike, by name."""
        self.settings = settings
        self._name = name
        self._clock = clock
        self._concerns = concerns
        self._most_ms = round((CLOCK_SECONDS + beat_seconds) * 1_000)
        self._apart: dict[str, int] = {}
        """How many words in a row were apart, by node."""

    def compare(self, name: str, status: Status, *, is_fresh: bool) -> None:
        """Reads the word of a node; a fresh one was written since this node has read the last one."""
        for setting, value in self.settings.items():
            theirs = status.settings.get(setting, value)
            self._concerns.note(
                (setting, name),
                f"{setting} is {value} at this node ({self._name}) and {theirs} at node {name}: "
                "give all nodes the same value"
                if theirs != value
                else None,
                f"{setting} is the same at nodes {self._name} and {name} again",
            )
        if is_fresh and status.at_ms:
            self._compare_clock(name, status.at_ms - self._clock.now_ms())
        elif not is_fresh:
            self._apart[name] = 0

    def _compare_clock(self, name: str, ahead_ms: int) -> None:
        topic = ("clock", name)
        over = f"the clocks of nodes {self._name} and {name} agree again"
        if abs(ahead_ms) > self._most_ms:
            self._apart[name] = self._apart.get(name, 0) + 1
            if self._apart[name] >= WORDS_APART:
                side = "ahead of" if ahead_ms > 0 else "behind"
                self._concerns.note(
                    topic,
                    f"the clock of node {name} is {abs(ahead_ms) / 1_000:.0f} s {side} that of this node "
                    f"({self._name}): votes end at the wrong time; synchronise the clocks",
                    over,
                )
            return
        self._apart[name] = 0
        if abs(ahead_ms) * 2 < self._most_ms:
            self._concerns.note(topic, None, over)
