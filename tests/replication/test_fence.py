"""readiness.py: who was stopped for long sends nothing before it has heard what others sent."""

import pytest

from replication.readiness import BEATS_TO_HEAR, Fence
from tests.support.fake_clock import FakeClock

LEASE, PATIENCE = 60.0, 10.0


class Process:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.fence = Fence(self.clock, LEASE, PATIENCE)

    def run(self, seconds: float) -> None:
        """As it does when nothing stops it."""
        while seconds > 0:
            self.clock.advance(min(self.fence.tick_seconds, seconds))
            seconds -= self.fence.tick_seconds
            self.fence.look()


def test_a_process_that_runs_may_send() -> None:
    process = Process()
    process.run(10 * LEASE)
    process.clock.advance(LEASE / 2 - 1)
    assert process.fence.may_send()


def test_a_process_that_was_stopped_sends_again_once_it_has_heard_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Process()
    process.clock.advance(LEASE)
    assert not process.fence.may_send()
    for number in range(BEATS_TO_HEAR):
        assert not process.fence.may_send()
        process.fence.heartbeat(is_caught_up=number > 0)
    assert process.fence.may_send()
    assert [record.getMessage() for record in caplog.records] == [
        "this process did not run for 60.0 s: webhooks wait until it knows what others have sent"
    ]


def test_while_there_is_more_to_hear_it_waits_but_not_for_ever() -> None:
    process = Process()
    process.clock.advance(LEASE)
    process.fence.look()
    for _ in range(2 * BEATS_TO_HEAR):
        process.fence.heartbeat(is_caught_up=False)
    process.run(PATIENCE - 1)
    assert not process.fence.may_send()
    process.run(2)
    assert process.fence.may_send()
