"""webhook/attempts.py: the outcome of an attempt, for its delivery and its endpoint."""

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event
from core.ledger import Ledger
from core.rows import Attempt, Delivery, Suspension, Webhook
from core.state import State
from tests.support.committed_rows import a_listing
from tests.support.examples import examples
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, NOW_MS, USER
from tests.support.sender_stage import RETRY as POLICY
from tests.support.slots_set import webhook_saved
from webhook.attempts import LONGEST_BACKOFF_MS, AttemptResult, attempt_events

WEBHOOK = Webhook("https://receiver.example/votes", NOW_MS)
ROW = Delivery("first", BOT_REF, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
LAST_TRY = replace(ROW, tries=POLICY.retries, made=POLICY.retries)
TEST = replace(ROW, test=True)
LAST_TEST = replace(LAST_TRY, test=True)
ACCEPTED = Attempt(NOW_MS, 7, 204, None, "")
FAILED = Attempt(NOW_MS, 7, 500, "http_500", "oops")
GONE = Attempt(NOW_MS, 7, 410, "http_410", "")
ENDED_MS = NOW_MS + 7
SUSPENDED = replace(WEBHOOK, failed=10, suspension=Suspension(NOW_MS - 60_000, "timeout", 1, NOW_MS))
NEARLY = replace(WEBHOOK, failed=POLICY.suspend_after - 1)


def uncharged(error: str, wait_ms: int = 0) -> AttemptResult:
    return AttemptResult(Attempt(NOW_MS, 7, None, error, ""), charged=False, wait_ms=wait_ms)


def told(
    delivery: Delivery, webhook: Webhook | None, finding: AttemptResult, *, probe: bool = False
) -> list[object]:
    """Return the outcome, the wait, and the health of the endpoint if the events set it."""
    events = attempt_events(POLICY, delivery, webhook, finding, probe=probe)
    attempted = events[0]
    assert isinstance(attempted, DeliveryAttempted)
    assert (attempted.delivery_id, attempted.ref, attempted.attempt) == (
        delivery.id,
        BOT_REF,
        finding.attempt,
    )
    assert attempted.number == delivery.made + 1
    wait_ms = None if attempted.next_attempt_ms is None else attempted.next_attempt_ms - ENDED_MS
    return [attempted.outcome, wait_ms, *(health(event) for event in events[1:])]


def health(event: Event) -> tuple[int, Suspension | None]:
    assert isinstance(event, EndpointHealthSet)
    assert event.ref == BOT_REF
    return event.failed, event.suspension


@pytest.mark.parametrize("tries", range(4))
@pytest.mark.parametrize("webhook", [WEBHOOK, None])
def test_an_answer_that_accepts_delivers(tries: int, webhook: Webhook | None) -> None:
    assert told(replace(ROW, tries=tries, made=tries), webhook, AttemptResult(ACCEPTED)) == [
        "delivered",
        None,
    ]


@pytest.mark.parametrize(
    "error", ["http_500", "http_302", "timeout", "dns", "refused", "tls", "blocked", "protocol"]
)
@pytest.mark.parametrize("row", [ROW, TEST, replace(ROW, tries=2, made=7)])
def test_a_failure_is_tried_again_a_delay_after_it_ended(row: Delivery, error: str) -> None:
    assert told(row, WEBHOOK, AttemptResult(replace(FAILED, error=error))) == ["retry", 5_000]


def test_an_event_whose_retries_fail_too_has_failed_and_counts_against_its_endpoint() -> None:
    assert told(LAST_TRY, WEBHOOK, AttemptResult(FAILED)) == ["failed", None, (1, None)]
    assert told(LAST_TRY, replace(WEBHOOK, failed=4), AttemptResult(FAILED)) == ["failed", None, (5, None)]


def test_the_tenth_event_in_a_row_that_fails_suspends_its_endpoint_for_a_minute() -> None:
    suspension = Suspension(ENDED_MS, "http_500", 1, ENDED_MS + 60_000)
    assert told(LAST_TRY, NEARLY, AttemptResult(FAILED)) == ["failed", None, (10, suspension)]


@pytest.mark.parametrize("webhook", [replace(WEBHOOK, failed=3), SUSPENDED, replace(SUSPENDED, failed=0)])
@pytest.mark.parametrize("row", [ROW, TEST])
@pytest.mark.parametrize("probe", [False, True])
def test_a_delivered_event_or_test_ends_the_count_and_the_suspension(
    row: Delivery, webhook: Webhook, probe: bool
) -> None:
    assert told(row, webhook, AttemptResult(ACCEPTED), probe=probe) == ["delivered", None, (0, None)]


@pytest.mark.parametrize("webhook", [WEBHOOK, NEARLY, SUSPENDED, None])
@pytest.mark.parametrize("attempt", [FAILED, GONE])
def test_a_test_never_counts_against_its_endpoint(webhook: Webhook | None, attempt: Attempt) -> None:
    finding = AttemptResult(attempt, gone=attempt is GONE)
    assert told(TEST, webhook, finding) == ["retry", 5_000]
    assert told(LAST_TEST, webhook, finding) == ["failed", None]


@pytest.mark.parametrize("row", [ROW, LAST_TRY])
def test_an_endpoint_that_is_gone_is_suspended_at_once_and_the_event_held(row: Delivery) -> None:
    suspension = Suspension(ENDED_MS, "http_410", 1, ENDED_MS + 60_000)
    webhook = replace(WEBHOOK, failed=2)
    assert told(row, webhook, AttemptResult(GONE, gone=True)) == ["held", 0, (2, suspension)]


def test_each_probe_that_fails_doubles_the_suspension_up_to_an_hour() -> None:
    webhook, waits = SUSPENDED, []
    for _ in range(8):
        held, judged = attempt_events(POLICY, LAST_TRY, webhook, AttemptResult(FAILED), probe=True)
        assert isinstance(held, DeliveryAttempted)
        assert (held.outcome, held.next_attempt_ms) == ("held", ENDED_MS)
        failed, suspension = health(judged)
        assert suspension is not None
        assert (failed, suspension.since_ms) == (SUSPENDED.failed, NOW_MS - 60_000)
        waits.append((suspension.probe_ms - ENDED_MS) // 60_000)
        webhook = replace(webhook, suspension=suspension)
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]


def test_a_suspension_may_have_failed_probes_beyond_counting() -> None:
    webhook = replace(SUSPENDED, suspension=Suspension(NOW_MS, "timeout", 100_000, NOW_MS))
    suspension = Suspension(NOW_MS, "http_500", 100_001, ENDED_MS + 3_600_000)
    assert told(ROW, webhook, AttemptResult(FAILED), probe=True) == ["held", 0, (10, suspension)]


@pytest.mark.parametrize("finding", [AttemptResult(FAILED), AttemptResult(GONE, gone=True)])
@pytest.mark.parametrize("row", [ROW, LAST_TRY])
def test_what_was_under_way_at_the_suspension_is_held_and_does_not_prolong_it(
    row: Delivery, finding: AttemptResult
) -> None:
    assert told(row, SUSPENDED, finding) == ["held", 0]


@pytest.mark.parametrize("error", ["proxy", "resolver", "internal", "http_429"])
@pytest.mark.parametrize("row", [ROW, LAST_TRY, LAST_TEST])
@pytest.mark.parametrize("webhook", [WEBHOOK, NEARLY, SUSPENDED, None])
def test_what_is_not_the_endpoint_s_fault_costs_no_try_and_no_standing(
    row: Delivery, webhook: Webhook | None, error: str
) -> None:
    assert told(row, webhook, uncharged(error)) == ["held", 5_000]
    assert told(row, webhook, uncharged(error, wait_ms=1_234)) == ["held", 1_234]


def test_a_probe_that_fails_of_nobody_s_fault_is_put_off() -> None:
    put_off = Suspension(NOW_MS - 60_000, "timeout", 1, ENDED_MS + 5_000)
    assert told(ROW, SUSPENDED, uncharged("resolver"), probe=True) == ["held", 5_000, (10, put_off)]
    assert told(ROW, WEBHOOK, uncharged("resolver"), probe=True) == ["held", 5_000], "it was lifted meanwhile"
    assert told(ROW, None, uncharged("resolver"), probe=True) == ["held", 5_000]


@pytest.mark.parametrize("error", ["proxy", "resolver", "internal", "http_429"])
def test_the_waits_after_failures_of_nobody_s_fault_double_up_to_five_minutes(error: str) -> None:
    row, waits = replace(ROW, attempts=(FAILED,)), []
    for _ in range(9):
        _, wait_ms = told(row, WEBHOOK, uncharged(error))
        waits.append(wait_ms)
        row = replace(row, attempts=(*row.attempts, uncharged(error).attempt), made=row.made + 1)
    assert waits == [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, *[LONGEST_BACKOFF_MS] * 3]


@pytest.mark.parametrize(("delay_ms", "wait_ms"), [(0, 1_000), (86_400_000, LONGEST_BACKOFF_MS)])
def test_whatever_the_delay_of_retries_the_waits_are_from_a_second_to_five_minutes(
    delay_ms: int, wait_ms: int
) -> None:
    policy = dataclasses.replace(POLICY, retry_delay_ms=delay_ms)
    (held,) = attempt_events(policy, ROW, WEBHOOK, uncharged("proxy"), probe=False)
    assert isinstance(held, DeliveryAttempted)
    assert held.next_attempt_ms == ENDED_MS + wait_ms


@pytest.mark.parametrize("finding", [AttemptResult(FAILED), AttemptResult(GONE, gone=True)])
@pytest.mark.parametrize("probe", [False, True])
@pytest.mark.parametrize("row", [ROW, LAST_TRY])
def test_a_failure_with_settings_that_are_no_longer_used_costs_no_try_and_the_new_ones_are_asked_at_once(
    row: Delivery, finding: AttemptResult, probe: bool
) -> None:
    assert told(row, None, finding, probe=probe) == ["held", 0]


# -- over a state --------------------------------------------------------------------------------------


def queued(ledger: Ledger, names: Sequence[str], tries: int = 0) -> None:
    a_listing(ledger)
    ledger.commit([webhook_saved(BOT_REF, WEBHOOK)])
    for name in names:
        ledger.commit([DeliveryQueued(name, BOT_REF, USER, test=False, at_ms=NOW_MS)])
        for number in range(1, tries + 1):
            ledger.commit([DeliveryAttempted(name, BOT_REF, number, FAILED, "retry", NOW_MS)])


def webhook_in(state: State) -> Webhook:
    webhook = state.listings[BOT_REF].webhook
    assert webhook is not None
    return webhook


def test_of_sixteen_last_tries_that_fail_at_once_ten_suspend_their_endpoint_once_and_six_are_held(
    ledger: Ledger, state: State
) -> None:
    names = [f"d{number}" for number in range(16)]
    queued(ledger, names, tries=3)
    for name in names:
        ledger.commit(
            attempt_events(
                POLICY, state.deliveries.pending[name], webhook_in(state), AttemptResult(FAILED), probe=False
            )
        )
    suspension = Suspension(ENDED_MS, "http_500", 1, ENDED_MS + 60_000)
    assert (webhook_in(state).failed, webhook_in(state).suspension) == (10, suspension)
    assert list(state.deliveries.pending) == names[10:]
    assert {(row.tries, row.made, row.next_attempt_ms) for row in state.deliveries.pending.values()} == {
        (3, 4, ENDED_MS)
    }


findings = st.builds(
    lambda ok, charged, gone, wait_ms, error: AttemptResult(
        ACCEPTED if ok else replace(FAILED, error=error), charged, gone and not ok, wait_ms
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 700]),
    st.sampled_from(["http_500", "proxy", "resolver", "http_429", "timeout"]),
)
attempts = st.tuples(st.integers(0, 4), findings, st.booleans(), st.booleans())


@examples(200)
@given(st.lists(attempts, max_size=60), st.integers(0, 3), st.integers(1, 4))
def test_whatever_happens_no_delivery_is_lost(
    steps: list[tuple[int, AttemptResult, bool, bool]], retries: int, suspend_after: int
) -> None:
    policy = dataclasses.replace(POLICY, retries=retries, suspend_after=suspend_after)
    journal = MemoryJournal()
    ledger = Ledger(empty_state(), journal, head=0)
    queued(ledger, ["a", "b", "c", "d"])
    ledger.commit([DeliveryQueued("e", BOT_REF, USER, test=True, at_ms=NOW_MS)])
    charged, finished = dict.fromkeys("abcde", 0), set[str]()
    for which, finding, is_current, probe in steps:
        if not ledger.state.deliveries.pending:
            break
        row = list(ledger.state.deliveries.pending.values())[which % len(ledger.state.deliveries.pending)]
        webhook = webhook_in(ledger.state) if is_current else None
        events = attempt_events(policy, row, webhook, finding, probe=probe)
        ledger.commit(events)
        attempted = events[0]
        assert isinstance(attempted, DeliveryAttempted)
        charged[row.id] += attempted.outcome in {"retry", "failed"}
        assert attempted.outcome != "delivered" or finding.attempt.error is None
        if attempted.outcome in {"retry", "held"}:
            assert ledger.state.deliveries.pending[row.id].next_attempt_ms is not None
            assert charged[row.id] <= retries
        if attempted.outcome == "failed":
            assert charged[row.id] == retries + 1
        assert finding.charged or attempted.outcome in {"held", "delivered"}
        finished |= {row.id} if attempted.outcome in {"delivered", "failed"} else set()
    assert {*ledger.state.deliveries.pending} == {*charged} - finished
    assert fold(journal.records).digest() == ledger.state.digest()
