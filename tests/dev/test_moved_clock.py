"""The clock that a developer moves."""

from core.clock import NS_PER_SECOND
from dev.moved_clock import MovedClock
from tests.support.fake_clock import FakeClock


def times(clock: MovedClock) -> tuple[int, int, int]:
    return clock.now_ms(), clock.monotonic_ns(), clock.steady_ms()


def test_a_clock_that_is_not_moved_is_that_of_the_machine() -> None:
    machine = FakeClock()
    clock = MovedClock(machine)
    machine.advance(5)
    assert times(clock) == (machine.now_ms(), machine.monotonic_ns(), machine.steady_ms())


def test_all_three_times_move_together_and_go_on_from_there() -> None:
    machine = FakeClock()
    clock = MovedClock(machine)
    before = times(clock)
    clock.move(3_000)
    machine.advance(1)
    clock.move(2_000)
    after = times(clock)
    assert [late - early for early, late in zip(before, after, strict=True)] == [
        6_000,
        6 * NS_PER_SECOND,
        6_000,
    ]
    assert machine.now_ms() == before[0] + 1_000
