"""Histograms of durations, with fixed buckets: counting one more keeps no object.

`DurationCounts` counts, in the part of the program that takes the time. `Durations` is a copy of its numbers
for readers. All histograms have the same bounds, so they can be added and compared.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from core.clock import NS_PER_SECOND

BOUNDS_SECONDS = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005),
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""The upper bounds of the buckets. Vote checks stand at the beginning, webhooks that time out at the end."""
BOUNDS_NS = tuple(round(bound * NS_PER_SECOND) for bound in BOUNDS_SECONDS)


@dataclass(frozen=True, slots=True)
class Durations:
    """A histogram: how many durations lie in each bucket, the last one without a bound, and their sum."""

    buckets: Sequence[int]
    total_ns: int

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def quantile_seconds(self, share: float) -> float | None:
        """Return the duration that this share of all does not exceed, as PromQL's `histogram_quantile` does.

        It lies on a line between the bounds of its bucket; beyond the last bound it is that bound. None
        without durations.
        """
        count = self.count
        if not count:
            return None
        rank, below = share * count, 0
        for place, held in enumerate(self.buckets[:-1]):
            if held and below + held >= rank:
                begin = BOUNDS_SECONDS[place - 1] if place else 0.0
                return begin + (BOUNDS_SECONDS[place] - begin) * (rank - below) / held
            below += held
        return BOUNDS_SECONDS[-1]

    def __add__(self, other: "Durations") -> "Durations":
        buckets = tuple(one + two for one, two in zip(self.buckets, other.buckets, strict=True))
        return Durations(buckets, self.total_ns + other.total_ns)

    def __sub__(self, earlier: "Durations") -> "Durations":
        buckets = tuple(one - two for one, two in zip(self.buckets, earlier.buckets, strict=True))
        return Durations(buckets, self.total_ns - earlier.total_ns)


NO_DURATIONS = Durations((0,) * (len(BOUNDS_NS) + 1), 0)


class DurationCounts:
    """A histogram that grows. One thread adds; any other may look meanwhile."""

    __slots__ = ("_looked", "buckets", "total_ns")

    def __init__(self) -> None:
        self.buckets = list(NO_DURATIONS.buckets)
        self.total_ns = 0
        self._looked = NO_DURATIONS

    def add(self, taken_ns: int) -> None:
        self.total_ns += taken_ns
        self.buckets[bisect_left(BOUNDS_NS, taken_ns)] += 1

    def look(self) -> Durations:
        """Return the numbers as they are now: the same object as before, if nothing was counted since."""
        buckets = tuple(self.buckets)
        if buckets != self._looked.buckets:
            self._looked = Durations(buckets, self.total_ns)
        return self._looked
