"""webhook/sender.py: it wakes when something is due, waits for the disk, and stops in phases."""

import asyncio

import pytest

from core.events import UserErased
from core.rows import Webhook
from outbound.result import AtFault, HttpResult
from tests.support.coroutines import run, turns, until
from tests.support.sample_rows import BOT_REF, NOW_MS
from tests.support.sender_stage import ACCEPTED, CHAT_URL, FAILED, POLICY, Stage, staged
from tests.support.slots_set import webhook_saved
from webhook.notifier import SLOW_MS


def test_while_outcomes_cannot_be_written_the_dispatcher_waits_instead_of_trying_in_a_circle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [FAILED]
        stage.queue("retried")
        await stage.attempt()
        stage.queue("unwritten")
        stage.step()
        stage.journal.full = True
        await stage.spawned.pop()
        stage.clock.advance(5)  # the retry is due by now
        caplog.clear()
        running = asyncio.create_task(stage.sender.run())
        await turns(200)
        assert len(caplog.records) <= 2  # at the start, and at the wake-up by the attempt that ended
        stage.journal.full = False
        stage.notifier.wake.set()
        await until(lambda: stage.spawned)
        await stage.attempt()
        assert stage.delivery("retried").delivered
        assert stage.delivery("unwritten").delivered
        stage.sender.stop()
        await running
        stage.fold()

    run(main())


def test_while_others_may_have_sent_what_is_due_nothing_leaves_and_nothing_runs_in_a_circle() -> None:
    async def main() -> None:
        asked, may_send = list[None](), list[None]()

        def ask() -> bool:
            asked.append(None)
            return bool(may_send)

        stage = staged(may_send=ask)
        stage.queue()
        running = asyncio.create_task(stage.sender.run())
        await turns(200)
        assert stage.spawned == []
        assert len(asked) <= 2  # of one turn
        may_send.append(None)
        await until(lambda: stage.spawned)
        assert await stage.attempt() == 1
        stage.sender.stop()
        await running

    run(main())


def test_a_wake_up_starts_what_has_become_due() -> None:
    async def main() -> None:
        stage = staged()
        running = asyncio.create_task(stage.sender.run())
        await turns()
        stage.queue()
        await turns()
        assert stage.spawned == []
        stage.notifier.wake.set()
        await turns()
        assert await stage.attempt() == 1
        stage.sender.stop()
        await running

    run(main())


def test_the_passing_of_time_alone_starts_what_has_become_due() -> None:
    async def main() -> None:
        stage = staged()
        stage.outbox.hold(BOT_REF, stage.clock.steady_ms() + 2)
        stage.queue("d1")
        running = asyncio.create_task(stage.sender.run())
        await turns()
        stage.clock.advance_ms(2)
        await until(lambda: stage.spawned)
        assert await stage.attempt() == 1
        stage.sender.stop()
        await running

    run(main())


def test_a_stop_starts_nothing_more_and_can_wait_for_the_attempts_that_run() -> None:
    async def main() -> None:
        stage = staged()
        running = asyncio.create_task(stage.sender.run())
        stage.queue("d1")
        stage.client.may_answer.clear()
        stage.notifier.wake.set()
        await until(lambda: stage.spawned)
        attempt = asyncio.create_task(stage.spawned.pop())
        await turns()
        stage.sender.stop()
        draining = asyncio.create_task(stage.sender.idle())
        stage.queue("d2")
        stage.notifier.wake.set()
        await turns()
        assert (draining.done(), running.done(), stage.spawned) == (False, True, [])
        stage.client.may_answer.set()
        await asyncio.gather(draining, attempt)
        assert stage.delivery("d1").delivered
        assert stage.delivery("d2").attempts == ()
        stage.fold()

    run(main())


def test_an_attempt_that_is_abandoned_stays_pending() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.client.may_answer.clear()
        assert stage.step() == 1
        attempt = asyncio.create_task(stage.spawned.pop())
        await turns()
        stage.sender.abandon()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        assert stage.outbox.in_flight == 0
        assert "d1" in stage.ledger.state.deliveries.pending
        stage.fold()

    run(main())


def test_what_is_abandoned_before_it_has_begun_is_not_sent() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        assert stage.step() == 1
        stage.sender.abandon()
        await stage.spawned.pop()
        assert stage.client.sent == []
        assert "d1" in stage.ledger.state.deliveries.pending
        await stage.sender.idle()

    run(main())


def test_the_last_wait_writes_the_outcomes_that_could_not_be_written_before() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.journal.full = True
        await stage.attempt()
        await stage.sender.idle()
        assert not stage.delivery().delivered
        stage.journal.full = False
        await stage.sender.idle()
        assert stage.delivery().delivered
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    ("answer", "takes_ms", "room"),
    [
        (HttpResult(None, "timeout"), 0, 1),
        (ACCEPTED, SLOW_MS, 1),
        (FAILED, SLOW_MS, 1),
        (ACCEPTED, SLOW_MS - 1, POLICY.in_flight_per_endpoint),
        (FAILED, SLOW_MS - 1, POLICY.in_flight_per_endpoint),
    ],
)
def test_an_endpoint_that_took_long_gets_one_attempt_at_a_time_until_it_is_quick(
    answer: HttpResult, takes_ms: int, room: int
) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [answer]
        stage.client.takes_ms = takes_ms
        stage.queue("d1")
        await stage.attempt()
        stage.client.takes_ms = 0
        for number in range(2, 8):
            stage.queue(f"d{number}")
        assert await stage.attempt() == room
        assert await stage.attempt() == POLICY.in_flight_per_endpoint
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        HttpResult(None, "resolver", AtFault.UNKNOWN),
        RuntimeError("a bug"),
        HttpResult(429, "http_429"),
        HttpResult(429, "http_429", headers={"retry-after": "soon"}),
    ],
)
def test_an_endpoint_waits_twice_as_long_each_time_when_nobody_can_say_whose_failure_it_was(
    answer: HttpResult | Exception,
) -> None:
    async def wait_seconds(stage: Stage, number: int) -> int:
        """Return the wait of a vote that has not been attempted before; the one before it is forgotten."""
        stage.queue(f"d{number}", user=str(number))
        stage.commit(UserErased(str(number - 1), (BOT_REF,)))
        began_ms = stage.clock.now_ms()
        while not await stage.attempt():
            due_ms = stage.outbox.next_due_ms()
            assert due_ms is not None
            stage.clock.advance_ms(due_ms - stage.clock.now_ms())
        return (stage.clock.now_ms() - began_ms) // 1_000

    async def main() -> None:
        stage = staged()
        stage.commit(webhook_saved(BOT_REF, Webhook(CHAT_URL, NOW_MS, language="en")))
        stage.client.answers = [*[answer] * 8, ACCEPTED, answer]
        stage.queue("d0", user="0")
        assert await stage.attempt() == 1
        waits = [await wait_seconds(stage, number) for number in range(1, 9)]
        assert waits == [5, 10, 20, 40, 80, 160, 300, 300]
        stage.queue("d9", user="9")
        assert await stage.attempt() == 1, "it has been understood"
        assert await wait_seconds(stage, 10) == 5
        stage.fold()

    run(main())
