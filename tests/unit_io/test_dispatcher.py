"""From the outbox to receivers and back: every attempt becomes an event, or is made again."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, NamedTuple

import pytest

from core.clock import FakeClock
from core.events import (
    DeliveryQueued,
    Event,
    ListingRemoved,
    UserErased,
    WebhookRemoved,
    WebhookSaved,
    decode_record,
)
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Attempt, Delivery, Webhook
from core.state import State
from tests.unit_io.disk import empty_state, run, turns, until
from tests.unit_io.rows import BOT_REF, NOW_MS, listed
from webhook.dispatcher import UNRECORDED_RETRY_MS, Dispatcher
from webhook.outbox import DeliveryPolicy, Outbox
from webhook.sender import Answer

URL = "http://127.0.0.1/hook"
ACCEPTED = Answer(204, None, "")
FAILED = Answer(500, "http_500", "oops")
POLICY = DeliveryPolicy(retries=3, retry_delay_ms=5_000, in_flight=4, in_flight_per_endpoint=2)


class MemoryJournal:
    """Keeps records; nothing is durable before the test says so."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.durable_position = 0
        self.refusing = False

    def append(self, record: bytes) -> int:
        if self.refusing:
            raise Unavailable("no space left on the disk")
        self.records.append(record)
        return len(self.records)

    async def durable(self, position: int) -> None:
        self.durable_position = max(self.durable_position, position)


class Sent(NamedTuple):
    url: str
    token: str | None
    body: Any


class FakeSender:
    """Answers from a list, `ACCEPTED` when it is used up; may be told to wait or to take time."""

    def __init__(self, clock: FakeClock) -> None:
        self.sent: list[Sent] = []
        self.answers: list[Answer | Exception] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.takes_ms = 0
        self._clock = clock

    async def post(self, url: str, token: str | None, body: bytes) -> Answer:
        self.sent.append(Sent(url, token, json.loads(body)))
        await self.may_answer.wait()
        self._clock.advance_ms(self.takes_ms)
        answer = self.answers.pop(0) if self.answers else ACCEPTED
        if isinstance(answer, Exception):
            raise answer
        return answer


class Stage:
    """A dispatcher with all that it speaks to. Its attempts run when the test lets them."""

    def __init__(self, state: State | None = None) -> None:
        self.clock = FakeClock(NOW_MS)
        self.journal = MemoryJournal()
        self.ledger = Ledger(state or empty_state(), self.journal, head=0)
        self.sender = FakeSender(self.clock)
        self.outbox = Outbox(POLICY)
        self.spawned: list[Coroutine[Any, Any, None]] = []
        self.dispatcher = Dispatcher(
            self.ledger,
            self.outbox,
            self.sender,
            self.clock,
            lambda: self.journal.durable_position,
            self.spawned.append,
        )

    def commit(self, *events: Event) -> None:
        """Commits durably."""
        self.journal.durable_position = self.ledger.commit(events)

    def queue(self, delivery_id: str = "d1", user: str = "5", test: bool = False) -> None:
        self.commit(DeliveryQueued(delivery_id, BOT_REF, user, test, self.clock.now_ms()))

    def step(self) -> int:
        """Starts what is due; returns how many attempts that are."""
        before = len(self.spawned)
        self.dispatcher.step(self.clock.now_ms())
        return len(self.spawned) - before

    async def attempt(self) -> int:
        """Starts what is due and lets it end; returns how many attempts that were."""
        self.step()
        attempts = len(self.spawned)
        while self.spawned:
            await self.spawned.pop(0)
        self.journal.durable_position = self.ledger.head
        return attempts

    def delivery(self, delivery_id: str = "d1") -> Delivery:
        return next(row for row in self.ledger.state.deliveries(BOT_REF) if row.id == delivery_id)

    def fold(self) -> None:
        """The records must give the live state."""
        folded = empty_state()
        for record in self.journal.records:
            for event in decode_record(record):
                folded.apply(event)
        assert folded.digest() == self.ledger.state.digest()


def staged(token: str | None = None) -> Stage:
    stage = Stage()
    stage.commit(*listed(url=URL, token=token))
    return stage


def test_a_queued_delivery_is_sent_and_its_outcome_recorded() -> None:
    async def main() -> None:
        stage = staged(token="a token")
        stage.sender.takes_ms = 7
        stage.queue()
        assert await stage.attempt() == 1
        body = {"bot": "111111111111111111", "user": "5", "test": False}
        assert stage.sender.sent == [Sent(URL, "a token", body)]
        delivery = stage.delivery()
        assert (delivery.delivered, delivery.next_attempt_ms) == (True, None)
        assert delivery.attempts == (Attempt(NOW_MS, 7, 204, None, ""),)
        assert await stage.attempt() == 0
        stage.fold()

    run(main())


def test_nothing_leaves_before_its_record_is_durable() -> None:
    async def main() -> None:
        stage = staged()
        position = stage.ledger.commit([DeliveryQueued("d1", BOT_REF, "5", False, NOW_MS)])
        assert await stage.attempt() == 0
        await stage.ledger.durable(position)
        assert await stage.attempt() == 1

    run(main())


def test_a_failed_attempt_is_made_three_more_times_each_a_delay_after_the_failure_before_it() -> None:
    async def main() -> None:
        stage = staged()
        stage.sender.answers = [FAILED] * 9
        stage.sender.takes_ms = 100
        stage.queue()
        for _ in range(4):
            assert await stage.attempt() == 1
            stage.clock.advance_ms(4_999)
            assert await stage.attempt() == 0
            stage.clock.advance_ms(1)
        stage.clock.advance(3_600)
        assert await stage.attempt() == 0
        delivery = stage.delivery()
        assert (delivery.delivered, delivery.next_attempt_ms, delivery.tries) == (False, None, 4)
        assert [attempt.at_ms - NOW_MS for attempt in delivery.attempts] == [0, 5_100, 10_200, 15_300]
        assert {attempt.error for attempt in delivery.attempts} == {"http_500"}
        stage.fold()

    run(main())


def test_what_was_pending_before_a_start_is_sent_when_its_time_comes() -> None:
    async def main() -> None:
        before = staged()
        before.sender.answers = [FAILED]
        before.queue("retried")
        await before.attempt()
        before.queue("never tried")
        stage = Stage(before.ledger.state)
        assert await stage.attempt() == 1
        assert stage.delivery("never tried").delivered
        stage.clock.advance(5)
        assert await stage.attempt() == 1
        assert stage.delivery("retried").delivered

    run(main())


def test_an_attempt_that_could_not_be_recorded_is_made_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.journal.refusing = True
        assert await stage.attempt() == 1
        assert "attempt of delivery d1 not recorded" in caplog.text
        assert stage.delivery().attempts == ()
        stage.journal.refusing = False
        stage.clock.advance_ms(UNRECORDED_RETRY_MS - 1)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        assert await stage.attempt() == 1
        assert stage.delivery().delivered
        assert len(stage.delivery().attempts) == 1
        assert len(stage.sender.sent) == 2
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    "removal", [WebhookRemoved(BOT_REF), ListingRemoved(BOT_REF), UserErased("5")], ids=type
)
def test_what_is_removed_while_it_waits_is_not_sent_and_takes_no_place(removal: Event) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.commit(removal)
        await stage.attempt()
        assert stage.sender.sent == []
        assert stage.outbox.in_flight == 0
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    "removal", [WebhookRemoved(BOT_REF), ListingRemoved(BOT_REF), UserErased("5")], ids=type
)
def test_the_outcome_of_what_is_removed_while_it_is_sent_is_dropped(removal: Event) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.sender.may_answer.clear()
        attempt = asyncio.create_task(stage.attempt())
        await turns()
        records = len(stage.journal.records)
        stage.commit(removal)
        stage.sender.may_answer.set()
        await attempt
        assert len(stage.sender.sent) == 1
        assert len(stage.journal.records) == records + 1
        assert stage.outbox.in_flight == 0
        stage.fold()

    run(main())


def test_a_retry_goes_to_where_the_webhook_points_by_then() -> None:
    async def main() -> None:
        stage = staged(token="old")
        stage.sender.answers = [FAILED]
        stage.queue()
        await stage.attempt()
        stage.commit(WebhookSaved(BOT_REF, Webhook("http://elsewhere/", NOW_MS, "new")))
        stage.clock.advance(5)
        await stage.attempt()
        assert [(sent.url, sent.token) for sent in stage.sender.sent] == [
            (URL, "old"),
            ("http://elsewhere/", "new"),
        ]
        stage.fold()

    run(main())


def test_a_bug_in_the_sender_is_a_failed_attempt_and_its_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.sender.answers = [RuntimeError("a bug at https://receiver.example/secret")]
        stage.queue()
        await stage.attempt()
        assert stage.outbox.in_flight == 0
        assert [attempt.error for attempt in stage.delivery().attempts] == ["internal"]

    run(main())
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


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
        await stage.dispatcher.drain()
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
        await stage.dispatcher.drain()
        await running

    run(main())


def test_a_drain_waits_for_the_attempts_that_run_and_starts_no_others() -> None:
    async def main() -> None:
        stage = staged()
        running = asyncio.create_task(stage.dispatcher.run())
        stage.queue("d1")
        stage.sender.may_answer.clear()
        stage.dispatcher.wake()
        await until(lambda: stage.spawned)
        attempt = asyncio.create_task(stage.spawned.pop())
        await turns()
        draining = asyncio.create_task(stage.dispatcher.drain())
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
