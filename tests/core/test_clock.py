"""core/clock.py: wall time for facts, monotonic time for timers."""

import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st

from core.clock import NS_PER_SECOND, Clock, Moment, SystemClock, date_of, day_of, moment
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock


def test_wall_time_is_in_unix_milliseconds() -> None:
    with freeze_time("2025-06-15T15:06:40.123456Z"):
        assert SystemClock().now_ms() == 1_750_000_000_123


@pytest.mark.parametrize(
    ("at_ms", "date"),
    [
        (0, "1970-01-01"),
        (86_399_999, "1970-01-01"),
        (86_400_000, "1970-01-02"),
        (1_750_000_000_000, "2025-06-15"),
    ],
)
def test_a_day_is_of_utc(at_ms: int, date: str) -> None:
    assert date_of(day_of(at_ms)) == date


def test_monotonic_time_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.monotonic_ns() for _ in range(1_000)]
    assert readings == sorted(readings)


def test_monotonic_time_counts_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic_ns", lambda: 7)
    assert SystemClock().monotonic_ns() == 7


def test_a_fake_clock_stands_still_until_it_is_advanced() -> None:
    clock: Clock = FakeClock(now_ms=1_000, monotonic_ns=5)
    assert [clock.now_ms(), clock.now_ms()] == [1_000, 1_000]
    assert [clock.monotonic_ns(), clock.monotonic_ns()] == [5, 5]


@examples(100)
@given(st.lists(st.integers(0, 10**9)))
def test_both_times_of_a_fake_clock_advance_together(steps_ms: list[int]) -> None:
    clock = FakeClock(now_ms=0, monotonic_ns=0)
    for step_ms in steps_ms:
        clock.advance_ms(step_ms)
    assert clock.now_ms() == sum(steps_ms)
    assert clock.monotonic_ns() == sum(steps_ms) * 1_000_000


def test_steady_time_begins_as_wall_time_and_nobody_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wall_ns, monotonic_ns = 1_750_000_000_000_000_000, 7_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: wall_ns)
    monkeypatch.setattr("time.monotonic_ns", lambda: monotonic_ns)
    clock = SystemClock()
    assert moment(clock) == Moment(steady_ms=1_750_000_000_000, wall_ms=1_750_000_000_000)
    wall_ns -= 3_600 * NS_PER_SECOND
    assert moment(clock) == Moment(steady_ms=1_750_000_000_000, wall_ms=1_749_996_400_000)
    monotonic_ns += NS_PER_SECOND
    assert moment(clock) == Moment(steady_ms=1_750_000_001_000, wall_ms=1_749_996_400_000)


def test_the_wall_clock_of_a_fake_clock_can_be_set_alone() -> None:
    clock = FakeClock(now_ms=5_000, monotonic_ns=2_000_000)
    clock.set_wall(-1.5)
    assert (clock.now_ms(), clock.steady_ms(), clock.monotonic_ns()) == (3_500, 5_000, 2_000_000)
    clock.advance_ms(10)
    assert (clock.now_ms(), clock.steady_ms(), clock.monotonic_ns()) == (3_510, 5_010, 12_000_000)


def test_a_fake_clock_advances_by_fractions_of_a_second() -> None:
    clock = FakeClock(now_ms=0, monotonic_ns=0)
    clock.advance(1.5)
    assert clock.now_ms() == 1_500
    assert clock.monotonic_ns() == 3 * NS_PER_SECOND // 2
