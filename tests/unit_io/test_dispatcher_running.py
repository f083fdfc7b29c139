"""The dispatcher at work: what wakes it, what holds it up, and how it stops."""

import asyncio

import pytest

from core.events import (
    DeliveryQueued,
)
from tests.unit_io.disk import run, turns, until
from tests.unit_io.rows import BOT_REF, NOW_MS
from tests.unit_io.stage import FAILED, POLICY, staged
from webhook.sender import Answer


def test_while_outcomes_cannot_be_written_the_dispatcher_waits_instead_of_trying_in_a_circle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.sender.answers = [FAILED]
        stage.queue("retried")
        await stage.attempt()
        stage.queue("unwritten")
        stage.step()
        stage.journal.refusing = True
        await stage.spawned.pop()
        stage.clock.advance(5)  # the retry is due by now
        caplog.clear()
        running = asyncio.create_task(stage.dispatcher.run())
        await turns(200)
        assert len(caplog.records) <= 2  # at the start, and at the wake-up by the attempt that ended
        stage.journal.refusing = False
        stage.dispatcher.wake()
        await until(lambda: stage.spawned)
        await stage.attempt()
        assert stage.delivery("retried").delivered
        assert stage.delivery("unwritten").delivered
        stage.dispatcher.stop()
        await running
        stage.fold()

    run(main())


def test_a_wake_up_starts_what_has_become_due() -> None:
    async def main() -> None:
        stage = staged()
        running = asyncio.create_task(stage.dispatcher.run())
        await turns()
        stage.queue()
        await turns()
        assert stage.spawned == []
        stage.dispatcher.wake()
        await turns()
        assert await stage.attempt() == 1
        stage.dispatcher.stop()
        await running

    run(main())


def test_the_passing_of_time_alone_starts_what_has_become_due() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(DeliveryQueued("d1", BOT_REF, "5", False, NOW_MS + 2))
        running = asyncio.create_task(stage.dispatcher.run())
        await turns()
        stage.clock.advance_ms(2)
        await until(lambda: stage.spawned)
        assert await stage.attempt() == 1
        stage.dispatcher.stop()
        await running

    run(main())


def test_a_stop_starts_nothing_more_and_can_wait_for_the_attempts_that_run() -> None:
    async def main() -> None:
        stage = staged()
        running = asyncio.create_task(stage.dispatcher.run())
        stage.queue("d1")
        stage.sender.may_answer.clear()
        stage.dispatcher.wake()
        await until(lambda: stage.spawned)
        attempt = asyncio.create_task(stage.spawned.pop())
        await turns()
        stage.dispatcher.stop()
        draining = asyncio.create_task(stage.dispatcher.idle())
        stage.queue("d2")
        stage.dispatcher.wake()
        await turns()
        assert (draining.done(), running.done(), stage.spawned) == (False, True, [])
        stage.sender.may_answer.set()
        await asyncio.gather(draining, attempt)
        assert stage.delivery("d1").delivered
        assert stage.delivery("d2").attempts == ()
        stage.fold()

    run(main())


def test_an_attempt_that_is_abandoned_stays_pending() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.sender.may_answer.clear()
        assert stage.step() == 1
        attempt = asyncio.create_task(stage.spawned.pop())
        await turns()
        stage.dispatcher.abandon()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        assert stage.outbox.in_flight == 0
        assert "d1" in stage.ledger.state.pending
        stage.fold()

    run(main())


def test_an_endpoint_that_timed_out_gets_one_attempt_at_a_time_until_it_answers() -> None:
    async def main() -> None:
        stage = staged()
        stage.sender.answers = [Answer(None, "timeout", "")]
        stage.queue("d1")
        await stage.attempt()
        for number in range(2, 8):
            stage.queue(f"d{number}")
        assert await stage.attempt() == 1  # which is answered
        assert await stage.attempt() == POLICY.in_flight_per_endpoint
        stage.fold()

    run(main())
