"""serving/timeline.py: the last minutes of the process."""

import pytest

from core.clock import NS_PER_MS
from serving.timeline import MINUTE, POINTS, EndpointUse, Gauges, LoopLag, Timeline
from serving.traffic import Traffic
from tests.support.fake_clock import FakeClock

MB = 1 << 20


class Process:
    """The numbers of a process that a test sets."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.traffic = Traffic(["checkVote", "updateStats"])
        self.lag = LoopLag(self.clock)
        self.votes = self.head = self.durable = 7
        gauges = Gauges(lambda: self.votes, lambda: self.head, lambda: self.durable, lambda: 64 * MB)
        self.timeline = Timeline(self.clock, self.traffic, self.lag, gauges)

    def answer(self, requests: int, endpoint: str = "checkVote", status: int = 200, ms: float = 1) -> None:
        for _ in range(requests):
            self.traffic.of(endpoint).add(status, round(ms * NS_PER_MS))

    def point(self, seconds: float = 2) -> None:
        self.clock.advance(seconds)
        self.timeline.step()


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_point_tells_of_the_two_seconds_before_it(process: Process) -> None:
    process.answer(100, ms=0.4)
    process.point()
    process.answer(8, ms=0.4)
    process.answer(2, "updateStats", 500, ms=40)
    process.votes += 3
    process.point()
    process.point()

    _, busy, quiet = process.timeline.points

    assert (busy.requests_per_second, busy.votes_per_second) == (5.0, 1.5)
    assert busy.p50_ms is not None
    assert busy.p50_ms <= 0.5
    assert busy.p99_ms is not None
    assert busy.p99_ms > 25
    assert (busy.at_ms, busy.resident_bytes) == (process.clock.now_ms() - 2_000, 64 * MB)
    assert (quiet.requests_per_second, quiet.votes_per_second) == (0.0, 0.0)
    assert (quiet.p50_ms, quiet.p99_ms) == (None, None)


def test_only_five_minutes_are_kept(process: Process) -> None:
    for _ in range(POINTS + 3):
        process.point()

    points = process.timeline.points
    assert len(points) == POINTS
    assert points[-1].at_ms - points[0].at_ms == (POINTS - 1) * 2_000


def test_the_last_minute_is_told_by_endpoint_and_class_the_most_first(process: Process) -> None:
    process.answer(1_000)
    process.point()
    for _ in range(MINUTE):
        process.answer(2)
        process.point()
    process.answer(90, "updateStats", 429)
    process.answer(1, "unknown", 404)
    process.point()

    uses = process.timeline.last_minute()

    assert [use[:3] for use in uses] == [
        ("updateStats", "4xx", 90),
        ("checkVote", "2xx", (MINUTE - 1) * 2),
        ("other", "4xx", 1),
    ]
    assert isinstance(uses[0], EndpointUse)
    assert uses[0].per_second == 1.5


def test_a_position_ages_from_the_point_that_first_saw_it(process: Process) -> None:
    process.point()
    now_ns = process.clock.monotonic_ns
    assert process.timeline.head.age_seconds(now_ns()) is None

    process.head = 8
    process.point()
    process.point()

    assert process.timeline.head.age_seconds(now_ns()) == 2.0
    assert process.timeline.durable.age_seconds(now_ns()) is None


def test_two_points_at_one_moment_divide_by_nothing(process: Process) -> None:
    process.answer(5)
    process.point(0)

    assert process.timeline.points[0].requests_per_second == 0.0
