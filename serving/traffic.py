"""Counts and durations of answers, by endpoint and status class.

Invariant: the set of series is fixed before the first request, and counting one makes no object that outlives
it.

An endpoint is known by the operation's id of its route. Whatever no route has answered (an unknown path, a
wrong method) is counted together, and so are requests that the server itself refuses before it reads them.

Readers compare two looks: `traffic.look(now_ns)` copies the counts, and `later.since(earlier)` holds the
answers between them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.clock import NS_PER_SECOND
from core.durations import BOUNDS_NS, NO_DURATIONS, DurationCounts, Durations

OTHER = "other"
"""The endpoint of requests that no route has answered."""
REFUSED = "refused"
"""The endpoint of requests that the server itself has refused: malformed, too large, too slow. Nobody knows
when they began, so they have counts and no durations."""

CLASSES = ("2xx", "3xx", "4xx", "5xx")
_FIRST_DIGIT = 2  # of the status of a final answer, at least
_SHORTEST_NS = BOUNDS_NS[0]


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
        """Return the durations of all endpoints. Requests that the server refused have none."""
        timed = [each for series, each in self.by_series.items() if series.endpoint != REFUSED]
        return sum(timed, NO_DURATIONS)


class Look(NamedTuple):
    """All counts since the start, as of one moment (monotonic). Two looks share the durations of a series
    that has answered nothing in between."""

    at_ns: int
    series: Sequence[Series]
    durations: Sequence[Durations]

    @property
    def by_series(self) -> Mapping[Series, Durations]:
        return dict(zip(self.series, self.durations, strict=True))

    def since(self, earlier: "Look") -> Period:
        between = (
            (series, now - before)
            for series, now, before in zip(self.series, self.durations, earlier.durations, strict=True)
            if now is not before
        )
        came = {series: durations for series, durations in between if durations.count}
        return Period((self.at_ns - earlier.at_ns) / NS_PER_SECOND, came)


class EndpointTraffic:
    """The answers of one endpoint."""

    __slots__ = ("classes",)

    def __init__(self) -> None:
        self.classes = tuple(DurationCounts() for _ in range(_FIRST_DIGIT + len(CLASSES)))
        """By the first digit of the status: those that no final answer begins with stay empty."""

    def add(self, status: int, taken_ns: int) -> None:
        """Count an answer. A vote check pays for this one."""
        counts = self.classes[status // 100]
        # DurationCounts.add, written out: the call would cost as much as its work.
        counts.total_ns += taken_ns
        # Nearly every vote check is in the first bucket, and a search would be half of the cost.
        counts.buckets[0 if taken_ns <= _SHORTEST_NS else bisect_left(BOUNDS_NS, taken_ns)] += 1


class Traffic:
    """The answers of all endpoints."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are the operation ids of all routes."""
        self._endpoints = {name: EndpointTraffic() for name in (*names, OTHER, REFUSED)}
        counts = {
            Series(name, status_class): counts
            for name, endpoint in self._endpoints.items()
            for status_class, counts in zip(CLASSES, endpoint.classes[_FIRST_DIGIT:], strict=True)
        }
        self._series, self._counts = tuple(counts), tuple(counts.values())

    @property
    def endpoints(self) -> Sequence[str]:
        return tuple(self._endpoints)

    def of(self, name: str | None) -> EndpointTraffic:
        """Return the counts of an endpoint; those of OTHER for a name that no route has."""
        return self._endpoints.get(name or OTHER) or self._endpoints[OTHER]

    def look(self, now_ns: int) -> Look:
        """Copy all counts. It takes about a tenth of a millisecond."""
        return Look(now_ns, self._series, tuple([counts.look() for counts in self._counts]))
