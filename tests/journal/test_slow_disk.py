"""journal/journal.py: the log has a line when the disk becomes slow, and one when it is quick again."""

import pytest

from journal.journal import SLOW_SECONDS, SlowDisk
from tests.support.fake_clock import FakeClock

BEGINS = f"the disk is slow: a write has taken {SLOW_SECONDS} s so far, and changes wait"


def ends(seconds: float) -> str:
    return f"the disk is slow no longer: it was for {seconds:.1f} s"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(monotonic_ns=7)


@pytest.fixture
def disk(clock: FakeClock) -> SlowDisk:
    return SlowDisk(clock)


def write(disk: SlowDisk, clock: FakeClock, seconds: float) -> None:
    disk.begin()
    clock.advance(seconds)
    disk.step()
    disk.end()
    disk.step()


def test_a_write_that_takes_long_is_told_while_it_lasts(
    disk: SlowDisk, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    disk.begin()
    clock.advance(SLOW_SECONDS - 0.1)
    disk.step()
    assert caplog.messages == []
    clock.advance(0.1)
    disk.step()
    assert caplog.messages == [BEGINS]
    clock.advance(100)
    disk.step()
    disk.end()
    assert caplog.messages == [BEGINS]
    write(disk, clock, 0.01)
    assert caplog.messages == [BEGINS, ends(100 + SLOW_SECONDS)]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_one_slow_write_after_the_other_is_one_slow_disk(
    disk: SlowDisk, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    for seconds in (0.5, 3, 1.5, 3, 1.1):
        write(disk, clock, seconds)
    assert caplog.messages == [BEGINS]
    write(disk, clock, 1)
    assert caplog.messages == [BEGINS, ends(9.6)]
    write(disk, clock, 3)
    assert caplog.messages == [BEGINS, ends(9.6), BEGINS]


def test_a_slow_write_that_has_ended_before_anybody_looked_is_told(
    disk: SlowDisk, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    disk.begin()
    clock.advance(3)
    disk.end()
    assert caplog.messages == []
    disk.step()
    assert disk.is_slow
    assert caplog.messages == [BEGINS]


def test_a_disk_that_nobody_waits_for_is_slow_no_longer(
    disk: SlowDisk, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    write(disk, clock, 3)
    clock.advance(SLOW_SECONDS - 0.1)
    disk.step()
    assert caplog.messages == [BEGINS]
    clock.advance(0.1)
    disk.step()
    assert caplog.messages == [BEGINS, ends(3 + SLOW_SECONDS)]
    clock.advance(100)
    disk.step()
    assert len(caplog.messages) == 2
