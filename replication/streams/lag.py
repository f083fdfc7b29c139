"""A fleet that is behind. Law: who has something else to do for a moment is not behind.

What is to be told, or read, has an end that moves on. Now and then the end is remembered; who has not come to
it `BEHIND_SECONDS` later is behind, and is so until nothing is left, or an end was reached in half the time.
"""

from core.clock import NS_PER_SECOND, Clock
from core.fleet import name_and_epoch
from core.ledger import Ledger
from replication.members.registry import Registry
from replication.members.warnings import Concerns
from replication.streams.gaps import Gaps
from replication.streams.publisher import Publisher

BEHIND_SECONDS = 30.0
_BEHIND_NS = round(BEHIND_SECONDS * NS_PER_SECOND)


class Chase:
    """One position that follows another one."""

    def __init__(self) -> None:
        self.is_behind = False
        self._end = self._since_ns = 0

    def look(self, at: int, end: int, now_ns: int) -> None:
        """`at` is how far it is, `end` how far it is to come, as of now."""
        took_ns = now_ns - self._since_ns
        if at >= end:
            self.is_behind = False
        elif self._end and at < self._end:
            self.is_behind = self.is_behind or took_ns >= _BEHIND_NS
            return
        elif self._end and took_ns * 2 < _BEHIND_NS:
            self.is_behind = False
        self._end, self._since_ns = (0 if at >= end else end), now_ns


class Lagging:
    def __init__(
        self,
        ledger: Ledger,
        registry: Registry,
        publisher: Publisher,
        gaps: Gaps,
        clock: Clock,
        concerns: Concerns,
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._publisher = publisher
        self._gaps = gaps
        self._clock = clock
        self._concerns = concerns
        self._telling = Chase()
        self._reading: dict[str, Chase] = {}
        """By the labels of other nodes."""

    def look(self) -> None:
        """Looks how far everything is; to be called with every beat, with Redis or without."""
        now_ns = self._clock.monotonic_ns()
        self._look_at_telling(now_ns)
        self._look_at_reading(now_ns)
        self._look_at_silence()

    def _look_at_telling(self, now_ns: int) -> None:
        unsent = self._publisher.unsent
        top = self._publisher.top or 0
        self._telling.look(top, max(self._ledger.head, top + 1) if unsent else top, now_ns)
        name = self._registry.name
        self._concerns.note(
            ("telling", ""),
            f"this node ({name}) is behind: what it did {BEHIND_SECONDS:g} s ago is not told yet, "
            f"about {unsent} changes by now"
            if self._telling.is_behind
            else None,
            f"this node ({name}) is behind no more: what it did is told",
        )

    def _look_at_reading(self, now_ns: int) -> None:
        name, missing = self._registry.name, self._gaps.missing()
        cursors = self._ledger.state.fleet.cursors
        for label in {*missing, *self._reading}:
            at, behind = cursors.get(label, 0), missing.get(label, 0)
            chase = self._reading.setdefault(label, Chase())
            chase.look(at, at + behind, now_ns)
            self._concerns.note(
                (f"reading {label}", name_and_epoch(label)[0]),
                f"this node ({name}) is behind: what node {label} told {BEHIND_SECONDS:g} s ago is not read "
                f"yet, {behind} positions by now"
                if chase.is_behind
                else None,
                f"this node ({name}) is behind no more: what node {label} told is read",
            )
            if not behind:
                del self._reading[label]

    def _look_at_silence(self) -> None:
        if not self._registry.is_hearing:
            return  # nobody can say who is there
        for name in self._registry.others:
            topic, over = ("silence", name), f"node {name} is there again"
            if self._registry.is_there(name):
                self._concerns.note(topic, None, over)
            elif self._registry.silent_ns(name) >= _BEHIND_NS:
                words = f"node {name} has said nothing for {BEHIND_SECONDS:g} s"
                self._concerns.note(topic, words, over)
