"""The two clocks. Law: no other module reads the time.

Wall time, in Unix milliseconds, dates facts that outlive the process (votes, listings, deliveries).
Monotonic time, in nanoseconds, drives buckets and timers: it never jumps when the machine's clock is set.
Steady time is monotonic time in the terms of wall time: it begins where the wall clock was when the process
began, and nobody can set it. Timers of what wall time dates run on it: a fact is converted once, when its
timer begins, by a `Moment`. All are integers, so that a promised wait is exact.
"""

import time
from typing import NamedTuple, Protocol

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in Unix milliseconds."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed moment; never goes back."""

    def steady_ms(self) -> int:
        """Steady time in milliseconds: monotonic, and wall time when the process began."""


class Moment(NamedTuple):
    """What both clocks show at the same time."""

    steady_ms: int
    wall_ms: int


def moment(clock: Clock) -> Moment:
    return Moment(clock.steady_ms(), clock.now_ms())


class SystemClock:
    def __init__(self) -> None:
        self._steady_ahead_ms = self.now_ms() - self.monotonic_ns() // NS_PER_MS

    def now_ms(self) -> int:
        return time.time_ns() // NS_PER_MS

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def steady_ms(self) -> int:
        return self._steady_ahead_ms + time.monotonic_ns() // NS_PER_MS


class FakeClock:
    """A clock that stands still until told to advance, or set."""

    def __init__(self, now_ms: int = 1_750_000_000_000, monotonic_ns: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ns = monotonic_ns
        self._steady_ahead_ms = now_ms - monotonic_ns // NS_PER_MS

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def steady_ms(self) -> int:
        return self._steady_ahead_ms + self._monotonic_ns // NS_PER_MS

    def set_wall(self, seconds: float) -> None:
        """Sets the wall clock forth, or back, by so much. No time passes."""
        self._now_ms += round(seconds * 1_000)

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1_000)
        self._monotonic_ns += round(seconds * NS_PER_SECOND)

    def advance_ms(self, milliseconds: int) -> None:
        self._now_ms += milliseconds
        self._monotonic_ns += milliseconds * NS_PER_MS
