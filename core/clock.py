"""The two clocks. Invariant: no other module reads the time.

* Wall time, in Unix milliseconds, dates facts that outlive the process (votes, listings, deliveries).
* Monotonic time, in nanoseconds, drives buckets and timers. It does not jump when somebody sets the clock.
* Steady time, in milliseconds, is monotonic time that started at the wall time of the process's start. It
  drives the timers of dated facts: a `Moment` converts the date of a fact once, when its timer begins.

All times are integers, so that a promised wait is exact.
"""

import time
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000
MS_PER_DAY = 86_400_000
_FIRST_DAY = date(1970, 1, 1)


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in Unix milliseconds."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since some fixed moment. They never go back."""

    def steady_ms(self) -> int:
        """Steady time in milliseconds. It is monotonic, and was wall time when the process began."""


class Moment(NamedTuple):
    """The readings of both clocks at one moment.

    `rounding_ms` is 1 if more than `steady_ms` had passed. A wait up to a wall time is that much longer: the
    clocks begin their milliseconds at different times, so it would end up to 1 ms too early.
    """

    steady_ms: int
    wall_ms: int
    rounding_ms: int = 0


def moment(clock: Clock) -> Moment:
    wall_ms = clock.now_ms()  # first, so that the time between the readings makes no wait shorter
    rounding_ms = 1 if clock.monotonic_ns() % NS_PER_MS else 0
    return Moment(clock.steady_ms(), wall_ms, rounding_ms)


def day_of(at_ms: int) -> int:
    """Return the UTC day of a wall time, counted from the first of January 1970."""
    return at_ms // MS_PER_DAY


def month_of(at_ms: int) -> int:
    """Return the UTC month of a wall time, counted from January 1970."""
    return month_of_day(day_of(at_ms))


@lru_cache(maxsize=256)
def month_of_day(day: int) -> int:
    """Return the month of a day as `day_of` counts it, as `month_of` counts it."""
    at = _FIRST_DAY + timedelta(days=day)
    return (at.year - _FIRST_DAY.year) * 12 + at.month - 1


def date_of(day: int) -> str:
    """Return a day as `day_of` counts it in the form 2026-01-31."""
    return (_FIRST_DAY + timedelta(days=day)).isoformat()


def month_name(month: int) -> str:
    """Return a month as `month_of` counts it in the form 2026-01."""
    year, month = divmod(month, 12)
    return f"{_FIRST_DAY.year + year}-{month + 1:02}"


class SystemClock:
    def __init__(self) -> None:
        self.monotonic_ns = time.monotonic_ns  # no function of Python around it: vote checks read it twice
        self._steady_ahead_ms = self.now_ms() - self.monotonic_ns() // NS_PER_MS

    def now_ms(self) -> int:
        return time.time_ns() // NS_PER_MS

    def steady_ms(self) -> int:
        return self._steady_ahead_ms + time.monotonic_ns() // NS_PER_MS
