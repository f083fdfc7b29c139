"""members/fence.py: who was stopped for long sends nothing before it has heard what others sent."""

import pytest

from core.clock import FakeClock
from replication.members.fence import BEATS_TO_HEAR, Awake

LEASE, PATIENCE = 60.0, 10.0


class Process:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.released = 0
        self.awake = Awake(self.clock, LEASE, PATIENCE)
        self.awake.on_release = self.release

    def release(self) -> None:
        self.released += 1

    def run(self, seconds: float) -> None:
        """As it does when nothing stops it."""
        while seconds > 0:
            self.clock.advance(min(self.awake.tick_seconds, seconds))
            seconds -= self.awake.tick_seconds
            self.awake.look()


def test_a_process_that_runs_may_send() -> None:
    process = Process()
    process.run(10 * LEASE)
    process.clock.advance(LEASE / 2 - 1)
    assert process.awake.may_send()


def test_a_process_that_was_stopped_sends_again_once_it_has_heard_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = Process()
    process.clock.advance(LEASE)
    assert not process.awake.may_send()
    for number in range(BEATS_TO_HEAR):
        assert not process.awake.may_send()
        process.awake.beat(is_even=number > 0)
    assert process.awake.may_send()
    assert process.released == 1
    assert [record.getMessage() for record in caplog.records] == [
        "this process did not run for 60.0 s: webhooks wait until it knows what others have sent"
    ]


def test_while_there_is_more_to_hear_it_waits_but_not_for_ever() -> None:
    process = Process()
    process.clock.advance(LEASE)
    process.awake.look()
    for _ in range(2 * BEATS_TO_HEAR):
        process.awake.beat(is_even=False)
    process.run(PATIENCE - 1)
    assert not process.awake.may_send()
    process.run(2)
    assert process.awake.may_send()
    assert process.released == 1
