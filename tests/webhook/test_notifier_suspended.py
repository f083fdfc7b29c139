"""webhook/notifier.py: suspended endpoints, failing proxies and resolvers, waits of chat platforms."""

import asyncio

import pytest
from msgspec.structs import replace

from core.events import EndpointHealthSet
from core.rows import Suspension, Webhook
from outbound.result import AtFault, HttpResult
from tests.support.coroutines import run, turns
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed
from tests.support.sender_stage import CHAT_URL, FAILED, KEPT_MS, POLICY, RETRY, URL, Stage, staged
from tests.support.slots_set import webhook_saved

GONE = HttpResult(410, "http_410")
PROXY_DOWN = HttpResult(None, "proxy", AtFault.PROXY)
RESOLVER_DOWN = HttpResult(None, "resolver", AtFault.UNKNOWN)


def too_fast(seconds: str, **headers: str) -> HttpResult:
    return HttpResult(429, "http_429", headers={"retry-after": seconds, **headers})


def suspended(stage: Stage, for_ms: int = 60_000) -> None:
    now_ms = stage.clock.now_ms()
    stage.commit(EndpointHealthSet(BOT_REF, 10, Suspension(now_ms, "http_500", 1, now_ms + for_ms)))


async def until_finished(stage: Stage) -> None:
    """Let time pass until nothing waits."""
    while stage.ledger.state.deliveries.pending:
        if not await stage.attempt():
            due_ms = stage.outbox.next_due_ms()
            assert due_ms is not None
            stage.clock.advance_ms(due_ms - stage.clock.now_ms())


def test_an_endpoint_that_keeps_failing_is_suspended_and_gets_everything_once_it_recovers() -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [FAILED] * (10 * (RETRY.retries + 1))
        for number in range(10):
            stage.queue(f"failed {number}")
            stage.clock.advance_ms(1)
        await until_finished(stage)
        suspension = stage.webhook().suspension
        assert suspension is not None
        first_probe_ms = suspension.probe_ms
        stage.client.answers, stage.client.sent = [FAILED, FAILED], []
        for number in range(3):
            stage.queue(f"held {number}")
            stage.clock.advance_ms(1)
        await until_finished(stage)
        ids = [sent.headers["webhook-id"] for sent in stage.client.sent]
        assert ids == ["held 0", "held 0", "held 0", "held 1", "held 2"]
        probes = [attempt.at_ms - first_probe_ms for attempt in stage.delivery("held 0").attempts]
        assert probes == [0, 120_000, 120_000 + 240_000]
        assert [stage.delivery(f"held {number}").tries for number in range(3)] == [1, 1, 1]
        assert (stage.webhook().failed, stage.webhook().suspension) == (0, None)
        stage.fold()

    run(main())


def test_an_endpoint_that_is_gone_gets_nothing_more_before_its_probe() -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [GONE]
        stage.queue("first")
        assert await stage.attempt() == 1
        stage.queue("second")
        stage.clock.advance_ms(59_999)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        assert await stage.attempt() == 1
        assert stage.delivery("first").delivered
        assert stage.webhook().suspension is None
        assert stage.delivery("first").tries == 1
        stage.fold()

    run(main())


def test_outcomes_that_could_not_be_written_at_once_suspend_their_endpoint_exactly_later() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(EndpointHealthSet(BOT_REF, 9, None))
        ids = [f"d{number}" for number in range(POLICY.in_flight_per_endpoint)]
        for delivery_id in ids:
            stage.queue(delivery_id)
        stage.client.answers = [FAILED] * 100
        for _ in range(RETRY.retries):
            assert await stage.attempt() == len(ids)
            stage.clock.advance(5)
        stage.journal.full = True
        assert await stage.attempt() == len(ids)
        assert [stage.delivery(name).tries for name in ids] == [3, 3]
        stage.journal.full = False
        assert await stage.attempt() == 0
        suspension = Suspension(stage.clock.now_ms(), "http_500", 1, stage.clock.now_ms() + 60_000)
        assert (stage.webhook().failed, stage.webhook().suspension) == (10, suspension)
        assert list(stage.ledger.state.deliveries.pending) == ids[1:], (
            "the tenth failed for good, the next is held"
        )
        assert stage.delivery(ids[1]).tries == 3
        stage.fold()

    run(main())


@pytest.mark.parametrize("answer", [GONE, FAILED, HttpResult(None, "timeout"), RESOLVER_DOWN], ids=str)
def test_an_answer_to_settings_that_were_changed_meanwhile_means_nothing_to_the_new_ones(
    answer: HttpResult,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.queue("asked before")
        stage.client.answers = [answer]
        stage.client.may_answer.clear()
        attempt = asyncio.create_task(stage.attempt())
        await turns()
        stage.commit(webhook_saved(BOT_REF, Webhook(URL, NOW_MS + 1)))
        stage.client.may_answer.set()
        await attempt
        assert stage.webhook() == Webhook(URL, NOW_MS + 1)
        stage.queue("second")
        stage.queue("third")
        assert await stage.attempt() == POLICY.in_flight_per_endpoint, "neither held nor slow"
        assert stage.delivery("asked before").delivered is (answer is not RESOLVER_DOWN)
        await until_finished(stage)
        row = stage.delivery("asked before")
        assert (row.delivered, row.made, row.tries) == (True, 2, 1)
        stage.fold()

    run(main())


def test_a_test_goes_to_a_suspended_endpoint_and_ends_the_suspension_when_it_is_delivered() -> None:
    async def main() -> None:
        stage = staged()
        suspended(stage)
        stage.queue("vote")
        stage.client.answers = [FAILED]
        stage.queue("failing test", test=True)
        assert await stage.attempt() == 1
        assert stage.outbox.suspended == [BOT_REF]
        stage.queue("test", test=True)
        assert await stage.attempt() == 1
        assert stage.webhook().suspension is None
        assert await stage.attempt() == 1
        assert stage.delivery("vote").delivered
        stage.fold()

    run(main())


def test_what_has_waited_for_a_fortnight_is_given_up_and_the_next_one_is_the_probe() -> None:
    async def main() -> None:
        stage = staged()
        suspended(stage, for_ms=KEPT_MS)
        stage.queue("old")
        stage.clock.advance_ms(1)
        stage.queue("younger")
        stage.clock.advance_ms(KEPT_MS - 1)
        assert await stage.attempt() == 1
        assert await stage.attempt() == 1
        assert [sent.headers["webhook-id"] for sent in stage.client.sent] == ["younger"]
        old = stage.delivery("old")
        assert (old.dropped, old.delivered, old.next_attempt_ms, old.attempts) == ("expired", False, None, ())
        assert stage.delivery("younger").delivered
        stage.fold()

    run(main())


def test_while_the_proxy_is_down_everything_waits_and_one_at_a_time_tries_it() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF, url=URL))
        stage.queue("d1")
        stage.queue("d2", ref=OTHER_REF)
        stage.client.answers = [PROXY_DOWN] * 9
        assert await stage.attempt() == 2
        for number in range(20):
            stage.queue(f"later {number}", ref=(BOT_REF, OTHER_REF)[number % 2])
        for seconds in (1, 2, 4, 8, 16, 30, 30):
            stage.clock.advance_ms(seconds * 1_000 - 1)
            assert await stage.attempt() == 0
            assert stage.outbox.stopped
            stage.clock.advance_ms(1)
            assert await stage.attempt() == 1
        stage.clock.advance(30)
        assert await stage.attempt() == 1, "which gets through"
        assert not stage.outbox.stopped
        assert await stage.attempt() == POLICY.in_flight
        await until_finished(stage)
        rows = (
            stage.ledger.state.deliveries.finished[BOT_REF]
            + stage.ledger.state.deliveries.finished[OTHER_REF]
        )
        assert {(row.delivered, row.tries) for row in rows} == {(True, 1)}
        assert (stage.webhook().failed, stage.webhook(OTHER_REF).failed) == (0, 0)
        stage.fold()

    run(main())


@pytest.mark.parametrize(
    ("answer", "works"),
    [
        *[(HttpResult(None, error), False) for error in ("dns", "blocked", "proxy")],
        *[(HttpResult(None, error, AtFault.UNKNOWN), False) for error in ("resolver", "internal")],
        *[(HttpResult(None, error), True) for error in ("refused", "reset", "timeout", "tls", "protocol")],
        (FAILED, True),
    ],
    ids=str,
)
def test_only_an_answer_that_came_through_the_proxy_shows_that_it_works(
    answer: HttpResult, works: bool
) -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF, url=URL))
        stage.client.answers = [PROXY_DOWN, answer]
        stage.queue("d1")
        assert await stage.attempt() == 1
        stage.queue("d2", ref=OTHER_REF)
        assert await stage.attempt() == 0
        stage.clock.advance(1)
        await stage.attempt()
        assert stage.delivery("d2").made == 1
        assert stage.outbox.stopped is not works

    run(main())


def test_a_resolver_that_fails_holds_up_its_endpoint_and_no_other() -> None:
    async def main() -> None:
        stage = staged()
        stage.commit(*listed(OTHER_REF, url=URL))
        stage.client.answers = [RESOLVER_DOWN]
        stage.queue("d1")
        assert await stage.attempt() == 1
        stage.queue("d2")
        stage.queue("elsewhere", ref=OTHER_REF)
        assert await stage.attempt() == 1
        assert stage.delivery("elsewhere").delivered
        stage.clock.advance_ms(RETRY.retry_delay_ms - 1)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        await until_finished(stage)
        assert (stage.delivery("d1").tries, stage.delivery("d1").made) == (1, 2)
        stage.fold()

    run(main())


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_chat_platform_that_wants_it_slower_is_left_alone_for_as_long_as_it_says(everywhere: bool) -> None:
    async def main() -> None:
        stage = staged()
        for ref in (OTHER_REF, SERVER_REF):
            stage.commit(*listed(ref))
            stage.commit(webhook_saved(ref, Webhook(CHAT_URL, NOW_MS, language="en")))
        stage.client.answers = [too_fast("7.5", **({"x-ratelimit-global": "true"} if everywhere else {}))]
        stage.queue("refused", ref=OTHER_REF)
        assert await stage.attempt() == 1
        stage.queue("same", ref=OTHER_REF)
        stage.queue("other chat", ref=SERVER_REF)
        stage.queue("plain", ref=BOT_REF)
        await stage.attempt()
        assert stage.delivery("plain").delivered
        assert stage.delivery("other chat").delivered is not everywhere
        stage.clock.advance_ms(7_499)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        await until_finished(stage)
        for delivery_id in ("refused", "same", "other chat"):
            assert (stage.delivery(delivery_id).delivered, stage.delivery(delivery_id).tries) == (True, 1)
        assert stage.webhook(OTHER_REF).failed == 0
        stage.fold()

    run(main())


def test_a_chat_platform_s_wait_holds_although_its_webhook_has_just_recovered() -> None:
    async def main() -> None:
        stage = staged()
        webhook = Webhook(CHAT_URL, NOW_MS, language="en", failed=3)
        stage.commit(webhook_saved(BOT_REF, webhook))
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "2"}
        stage.client.answers = [HttpResult(204, None, headers=headers)]
        stage.queue("first")
        await stage.attempt()
        assert stage.webhook() == replace(webhook, failed=0)
        stage.queue("second")
        stage.clock.advance_ms(1_999)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        assert await stage.attempt() == 1

    run(main())
