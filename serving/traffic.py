"""Counts of what was answered, by endpoint and status class, with how long it took. Law: the set of series is
fixed before the first request, and counting one makes no object that outlives it.

An endpoint is known by the operation's id of its route. Whatever no route has answered (an unknown path, a
wrong method) is counted together, and so is what the server itself refuses before anybody reads it.

Readers compare two looks: `traffic.look(now_ns)` copies the counts, and `later.since(earlier)` holds the
answers between them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.clock import NS_PER_SECOND

OTHER = "other"
"""The endpoint of requests that no route has answered."""
REFUSED = "refused"
"""The endpoint of requests that the server itself has refused: malformed, too large, too slow. Nobody knows
when they began, so they have counts and no durations."""

BOUNDS_SECONDS = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005),
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
"""The upper bounds of the buckets. Vote checks stand at the beginning, webhook tests at the end."""
BOUNDS_NS = tuple(round(bound * NS_PER_SECOND) for bound in BOUNDS_SECONDS)
CLASSES = ("2xx", "3xx", "4xx", "5xx")
_FIRST_DIGIT = 2  # of the status of a final answer, at least


@dataclass(frozen=True)
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
        buckets = [one + two for one, two in zip(self.buckets, other.buckets, strict=True)]
        return Durations(buckets, self.total_ns + other.total_ns)

    def __sub__(self, earlier: "Durations") -> "Durations":
        buckets = [one - two for one, two in zip(self.buckets, earlier.buckets, strict=True)]
        return Durations(buckets, self.total_ns - earlier.total_ns)


NO_DURATIONS = Durations((0,) * (len(BOUNDS_NS) + 1), 0)


class Series(NamedTuple):
    endpoint: str
    status_class: str


@dataclass(frozen=True)
class Period:
    """The answers of some seconds. A series without answers is not among them."""

    seconds: float
    by_series: Mapping[Series, Durations]

    @property
    def count(self) -> int:
        return sum(each.count for each in self.by_series.values())

    def per_second(self, durations: Durations) -> float:
        return durations.count / self.seconds if self.seconds > 0 else 0.0

    def of_all(self) -> Durations:
        """Return the durations of all endpoints; without what the server refused, which has none."""
        timed = [each for series, each in self.by_series.items() if series.endpoint != REFUSED]
        return sum(timed, NO_DURATIONS)


class Look(NamedTuple):
    """All counts since the start, as of one moment (monotonic)."""

    at_ns: int
    by_series: Mapping[Series, Durations]

    def since(self, earlier: "Look") -> Period:
        between = {
            series: durations - earlier.by_series[series] for series, durations in self.by_series.items()
        }
        came = {series: durations for series, durations in between.items() if durations.count}
        return Period((self.at_ns - earlier.at_ns) / NS_PER_SECOND, came)


class _Counts:
    """One series."""

    __slots__ = ("buckets", "total_ns")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_NS) + 1)
        self.total_ns = 0


class EndpointTraffic:
    """The answers of one endpoint."""

    __slots__ = ("classes",)

    def __init__(self) -> None:
        self.classes = tuple(_Counts() for _ in range(_FIRST_DIGIT + len(CLASSES)))
        """By the first digit of the status: those that no final answer begins with stay empty."""

    def add(self, status: int, taken_ns: int) -> None:
        """Count an answer. A vote check pays for this one."""
        counts = self.classes[status // 100]
        counts.total_ns += taken_ns
        counts.buckets[bisect_left(BOUNDS_NS, taken_ns)] += 1


class Traffic:
    """The answers of all endpoints."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are the operation ids of all routes."""
        self._endpoints = {name: EndpointTraffic() for name in (*names, OTHER, REFUSED)}

    @property
    def endpoints(self) -> Sequence[str]:
        return tuple(self._endpoints)

    def of(self, name: str | None) -> EndpointTraffic:
        """Return the counts of an endpoint; those of OTHER for a name that no route has."""
        return self._endpoints.get(name or OTHER) or self._endpoints[OTHER]

    def look(self, now_ns: int) -> Look:
        """Copy all counts. It takes about a fifth of a millisecond."""
        by_series = {
            Series(name, status_class): Durations(tuple(counts.buckets), counts.total_ns)
            for name, endpoint in self._endpoints.items()
            for status_class, counts in zip(CLASSES, endpoint.classes[_FIRST_DIGIT:], strict=True)
        }
        return Look(now_ns, by_series)
