"""The two clocks. Law: no other module reads the time.

Wall time, in Unix milliseconds, dates facts that outlive the process (votes, listings, deliveries).
Monotonic time, in nanoseconds, drives buckets and timers: it never jumps when the machine's clock is set.
Both are integers, so that a promised wait is exact.
"""

import time
from typing import Protocol

NS_PER_SECOND = 1_000_000_000


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in Unix milliseconds."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed moment; never goes back."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


class FakeClock:
    """A clock that stands still until told to advance."""

    def __init__(self, now_ms: int = 1_750_000_000_000, monotonic_ns: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ns = monotonic_ns

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1_000)
        self._monotonic_ns += round(seconds * NS_PER_SECOND)

    def advance_ms(self, milliseconds: int) -> None:
        self._now_ms += milliseconds
        self._monotonic_ns += milliseconds * 1_000_000
