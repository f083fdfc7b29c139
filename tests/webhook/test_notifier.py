"""webhook/notifier.py: every attempt of the outbox becomes an event, or is made again."""

import asyncio

import pytest

from core.events import DeliveryQueued, Event, ListingRemoved, UserErased
from core.rows import Attempt, Webhook
from tests.support.coroutines import run, turns
from tests.support.sample_rows import BOT_REF, NOW_MS
from tests.support.sender_stage import ACCEPTED, FAILED, KEPT_MS, URL, Stage, staged
from tests.support.slots_set import webhook_removed, webhook_saved


def test_a_queued_delivery_is_sent_and_its_outcome_recorded() -> None:
    async def main() -> None:
        stage = staged(token="a token")
        stage.client.takes_ms = 7
        stage.queue()
        assert await stage.attempt() == 1
        body = {"bot": "111111111111111111", "user": "5", "test": False}
        (sent,) = stage.client.sent
        assert (sent.url, sent.headers["Authorization"], sent.body) == (URL, "a token", body)
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
        stage.client.answers = [FAILED] * 9
        stage.client.takes_ms = 100
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
        before.client.answers = [FAILED]
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


def test_an_outcome_that_could_not_be_written_is_written_later_and_not_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue("d1")
        stage.queue("d2")
        stage.journal.full = True
        stage.client.answers = [ACCEPTED, FAILED]
        assert await stage.attempt() == 2
        stage.clock.advance(60)
        assert await stage.attempt() == 0, "nothing is sent while outcomes wait"
        stage.journal.full = False
        assert await stage.attempt() == 0
        assert stage.delivery("d1").delivered
        assert [attempt.error for attempt in stage.delivery("d2").attempts] == ["http_500"]
        assert len(stage.client.sent) == 2
        stage.fold()

    run(main())
    assert caplog.messages == [
        "no webhook is sent until it can be written what came of those before",
        "webhooks are sent again: what came of those before is written",
    ]


def test_an_outcome_that_waits_for_what_is_removed_meanwhile_is_dropped() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.journal.full = True
        assert await stage.attempt() == 1
        stage.journal.full = False
        stage.commit(UserErased("5", (BOT_REF,)))
        head = stage.ledger.head
        assert await stage.attempt() == 0
        assert stage.ledger.head == head
        assert stage.outbox._entries == {}

    run(main())


@pytest.mark.parametrize(
    "removal", [webhook_removed(BOT_REF), ListingRemoved(BOT_REF), UserErased("5", (BOT_REF,))], ids=type
)
def test_what_is_removed_while_it_waits_is_not_sent_and_takes_no_place(removal: Event) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.commit(removal)
        await stage.attempt()
        assert stage.client.sent == []
        assert stage.outbox.in_flight == 0
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    "removal", [webhook_removed(BOT_REF), ListingRemoved(BOT_REF), UserErased("5", (BOT_REF,))], ids=type
)
def test_the_outcome_of_what_is_removed_while_it_is_sent_is_dropped(removal: Event) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        stage.client.may_answer.clear()
        attempt = asyncio.create_task(stage.attempt())
        await turns()
        records = len(stage.journal.records)
        stage.commit(removal)
        stage.client.may_answer.set()
        await attempt
        assert len(stage.client.sent) == 1
        assert len(stage.journal.records) == records + 1
        assert stage.outbox.in_flight == 0
        stage.fold()

    run(main())


def test_the_outcome_of_what_was_removed_is_not_taken_for_that_of_its_successor() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue("d1")
        stage.client.may_answer.clear()
        attempt = asyncio.create_task(stage.attempt())
        await turns()
        stage.commit(webhook_removed(BOT_REF), webhook_saved(BOT_REF, Webhook(URL, NOW_MS)))
        stage.queue("d1")
        stage.client.may_answer.set()
        await attempt
        assert stage.delivery().attempts == ()
        assert await stage.attempt() == 1
        assert len(stage.delivery().attempts) == 1
        stage.fold()

    run(main())


def test_a_retry_goes_to_where_the_webhook_points_by_then() -> None:
    async def main() -> None:
        stage = staged(token="old")
        stage.client.answers = [FAILED]
        stage.queue()
        await stage.attempt()
        stage.commit(webhook_saved(BOT_REF, Webhook("http://elsewhere/", NOW_MS, "new")))
        stage.clock.advance(5)
        await stage.attempt()
        assert [(sent.url, sent.headers["Authorization"]) for sent in stage.client.sent] == [
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
        stage.client.answers = [RuntimeError("a bug at https://receiver.example/secret")]
        stage.queue()
        await stage.attempt()
        assert stage.outbox.in_flight == 0
        delivery = stage.delivery()
        assert [attempt.error for attempt in delivery.attempts] == ["internal"]
        assert (delivery.tries, stage.webhook().failed) == (0, 0), "nobody's charge"
        stage.fold()

    run(main())
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_letter_that_cannot_be_written_is_a_failure_of_ours_whose_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(webhook_saved(BOT_REF, Webhook(URL, NOW_MS, secret="whsec_no-base64-but-secret")))
        stage.queue()
        await stage.attempt()
        assert stage.client.sent == []
        assert [attempt.error for attempt in stage.delivery().attempts] == ["internal"]
        assert stage.outbox.in_flight == 0
        stage.fold()

    run(main())
    assert "delivery d1 failed inside" in caplog.text
    assert "whsec_" not in caplog.text


def test_an_event_has_the_same_id_over_all_attempts_redeliveries_and_a_restart() -> None:
    async def main() -> None:
        before = staged()
        before.client.answers = [FAILED]
        before.queue("the id")
        await before.attempt()
        stage = Stage(before.ledger.state)
        stage.clock.advance(5)
        await stage.attempt()
        stage.clock.advance(5)
        stage.commit(DeliveryQueued("the id", BOT_REF, "5", False, stage.clock.now_ms()))
        await stage.attempt()
        sent = [*before.client.sent, *stage.client.sent]
        stamps = [int(each.headers["webhook-timestamp"]) - NOW_MS // 1_000 for each in sent]
        assert {each.headers["webhook-id"] for each in sent} == {"the id"}
        assert stamps == [0, 5, 10], "the time is the attempt's own"
        assert sent[0].body == sent[1].body == sent[2].body

    run(main())


def test_a_redelivery_starts_its_fortnight_anew() -> None:
    async def main() -> None:
        stage = staged()
        stage.queue()
        await stage.attempt()
        stage.clock.advance_ms(KEPT_MS)
        stage.queue()
        await stage.attempt()
        assert len(stage.delivery().attempts) == 2

    run(main())
