"""The health of the process now and in the last minutes: memory, the delay of the event loop, traffic."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from core.clock import NS_PER_MS, NS_PER_SECOND, Clock
from core.durations import DurationCounts
from serving.traffic import Look, Traffic

SAMPLE_SECONDS = 0.25
SAMPLES = 240  # one minute


class LoopLag:
    """Measures how much too late a sleep ends, and keeps the samples of the last minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples_ms: deque[float] = deque([0.0], maxlen=SAMPLES)
        self.delays = DurationCounts()
        """All samples since the start."""

    @property
    def max_ms(self) -> float:
        """The longest delay of the last minute."""
        return max(self._samples_ms)

    @property
    def samples_ms(self) -> Sequence[float]:
        """The samples of the last minute, four a second, the oldest first."""
        return self._samples_ms

    def max_of_last(self, samples: int) -> float:
        return max(islice(reversed(self._samples_ms), samples))

    async def run(self) -> None:
        while True:
            await self.step()

    async def step(self) -> None:
        asked_ns = self._clock.monotonic_ns()
        await asyncio.sleep(SAMPLE_SECONDS)
        slept_ns = self._clock.monotonic_ns() - asked_ns
        late_ns = max(slept_ns - round(SAMPLE_SECONDS * NS_PER_SECOND), 0)
        self.delays.add(late_ns)
        self._samples_ms.append(round(late_ns / NS_PER_MS, 3))


def resident_bytes() -> int:
    """Return the resident set size (Linux: VmRSS in /proc/self/status)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1_024
    return 0


POINT_SECONDS = 2.0
POINTS = 150  # five minutes
MINUTE = 30  # points
LAG_SAMPLES = round(POINT_SECONDS / SAMPLE_SECONDS)  # of the event loop, in a point
MS_PER_SECOND = 1_000


class Point(NamedTuple):
    """The two seconds before `at_ms`. A quantile is None without requests."""

    at_ms: int
    requests_per_second: float
    votes_per_second: float
    p50_ms: float | None
    p99_ms: float | None
    loop_lag_ms: float
    resident_bytes: int | None
    """None while the kernel does not say."""


class EndpointUse(NamedTuple):
    """The answers of an endpoint with a class of statuses in the last minute."""

    endpoint: str
    status_class: str
    requests: int
    per_second: float
    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True)
class Gauges:
    """Calls that ask for a number of this moment."""

    votes: Callable[[], int]
    """Votes that were cast since the start."""
    head: Callable[[], int]
    durable: Callable[[], int]
    resident_bytes: Callable[[], int | None]


class Moved:
    """A position of the log, and when it was first seen."""

    def __init__(self, position: int) -> None:
        self.position = position
        self._at_ns: int | None = None

    def see(self, position: int, now_ns: int) -> None:
        if position != self.position:
            self.position, self._at_ns = position, now_ns

    def age_seconds(self, now_ns: int) -> float | None:
        """Return how long the position has stood still; None if it never moved."""
        return None if self._at_ns is None else (now_ns - self._at_ns) / NS_PER_SECOND


class Timeline:
    """The last minutes of the process, a point every two seconds. Invariant: no request pays for a point.

    A timer compares two looks at counts that are kept anyway. The ring holds five minutes and forgets the
    oldest.
    """

    def __init__(self, clock: Clock, traffic: Traffic, lag: LoopLag, gauges: Gauges) -> None:
        self._clock = clock
        self._traffic = traffic
        self._lag = lag
        self._gauges = gauges
        self._points: deque[Point] = deque(maxlen=POINTS)
        self._looks: deque[Look] = deque([traffic.look(clock.monotonic_ns())], maxlen=MINUTE + 1)
        self._votes = gauges.votes()
        self.head, self.durable = Moved(gauges.head()), Moved(gauges.durable())

    @property
    def points(self) -> Sequence[Point]:
        """The oldest first."""
        return tuple(self._points)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(POINT_SECONDS)
            self.step()

    def step(self) -> None:
        """Add a point."""
        look, gauges = self._traffic.look(self._clock.monotonic_ns()), self._gauges
        period = look.since(self._looks[-1])
        self._looks.append(look)
        self.head.see(gauges.head(), look.at_ns)
        self.durable.see(gauges.durable(), look.at_ns)
        before, self._votes = self._votes, gauges.votes()
        timed = period.of_all()
        point = Point(
            self._clock.now_ms(),
            round(period.count / period.seconds, 2) if period.seconds else 0.0,
            round((self._votes - before) / period.seconds, 2) if period.seconds else 0.0,
            _ms(timed.quantile_seconds(0.5)),
            _ms(timed.quantile_seconds(0.99)),
            self._lag.max_of_last(LAG_SAMPLES),
            gauges.resident_bytes(),
        )
        self._points.append(point)

    def last_minute(self) -> Sequence[EndpointUse]:
        """Return the answers of the last minute, the most frequent first."""
        period = self._looks[-1].since(self._looks[0])
        uses = [
            EndpointUse(
                series.endpoint,
                series.status_class,
                durations.count,
                round(period.per_second(durations), 2),
                _ms(durations.quantile_seconds(0.5)),
                _ms(durations.quantile_seconds(0.99)),
            )
            for series, durations in period.by_series.items()
        ]
        return sorted(uses, key=lambda use: (-use.requests, use))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * MS_PER_SECOND, 3)
