"""core/state.py: the life of a delivery."""

from collections.abc import Sequence

from msgspec.structs import replace

from core.events import DeliveryAttempted
from core.ledger import Ledger
from core.rows import Attempt, Delivery
from core.state import ATTEMPTS_KEPT, State
from tests.unit.conftest import DELIVERIES_KEPT
from tests.unit.given import (
    BOT,
    DELIVERED,
    NOW_MS,
    REFUSED,
    USER,
    a_delivery,
    a_finished_delivery,
    a_listing,
)

LATER_MS = NOW_MS + 1_000


def retried(delivery_id: str, attempt: Attempt = REFUSED, number: int = 1) -> DeliveryAttempted:
    return DeliveryAttempted(delivery_id, BOT, number, attempt, "retry", attempt.at_ms + 5_000)


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.id for delivery in deliveries]


def test_a_queued_delivery_is_due_at_once(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    expected = Delivery("first", BOT, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
    assert dict(state.pending) == {"first": expected}
    assert state.deliveries(BOT) == [expected]


def test_a_retry_keeps_a_delivery_pending(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first")])
    row = state.pending["first"]
    assert (row.tries, row.next_attempt_ms, row.attempts) == (1, NOW_MS + 5_000, (REFUSED,))
    assert not row.delivered


def test_a_delivered_and_a_failed_delivery_are_finished(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "second")
    ledger.commit([DeliveryAttempted("second", BOT, 1, REFUSED, "failed", None)])
    assert not state.pending
    assert [(row.id, row.delivered, row.tries) for row in state.finished[BOT]] == [
        ("first", True, 1),
        ("second", False, 1),
    ]


def test_only_the_newest_finished_deliveries_are_kept(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for number in range(DELIVERIES_KEPT + 2):
        a_finished_delivery(ledger, str(number), at_ms=NOW_MS + number)
    assert ids(state.finished[BOT]) == ["2", "3"]


def test_a_delivery_sent_again_starts_a_new_round_under_its_id(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_finished_delivery(ledger, "second")
    a_delivery(ledger, "first", at_ms=LATER_MS)
    assert ids(state.finished[BOT]) == ["second"]
    row = state.pending["first"]
    assert (row.tries, row.delivered, row.next_attempt_ms) == (0, False, LATER_MS)
    assert (row.queued_ms, row.attempts) == (NOW_MS, (DELIVERED,))


def test_two_attempts_that_look_the_same_are_two_attempts(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first", number=1)])
    ledger.commit([retried("first", number=2)])
    row = state.pending["first"]
    assert (row.tries, row.made, row.attempts) == (2, 2, (REFUSED, REFUSED))


def test_attempts_are_counted_over_all_rounds(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "first", at_ms=LATER_MS)
    ledger.commit([retried("first", number=1)])  # already known
    assert state.pending["first"].tries == 0
    ledger.commit([retried("first", number=2)])
    assert (state.pending["first"].tries, state.pending["first"].made) == (1, 2)


def test_a_delivery_keeps_its_newest_attempts(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    attempts = [replace(REFUSED, at_ms=NOW_MS + number) for number in range(ATTEMPTS_KEPT + 5)]
    for number, attempt in enumerate(attempts, 1):
        ledger.commit([retried("first", attempt, number)])
    assert state.pending["first"].attempts == tuple(attempts[-ATTEMPTS_KEPT:])
    assert state.pending["first"].tries == len(attempts)


def test_deliveries_are_shown_newest_first(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first", at_ms=NOW_MS)
    a_finished_delivery(ledger, "second", at_ms=NOW_MS + 1)
    a_delivery(ledger, "third", at_ms=NOW_MS + 2)
    assert ids(state.deliveries(BOT)) == ["third", "second", "first"]


def test_deliveries_of_one_millisecond_are_shown_newest_first_too(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    a_delivery(ledger, "second")
    assert ids(state.deliveries(BOT)) == ["second", "first"]
