"""core/state.py: the life of a delivery."""

from collections.abc import Sequence

from msgspec.structs import replace

from core.delivery_table import ATTEMPTS_KEPT
from core.events import DeliveryAttempted, DeliveryDropped
from core.ledger import Ledger
from core.rows import Attempt, Delivery
from core.state import State
from tests.support.committed_rows import a_delivery, a_dropped_delivery, a_finished_delivery, a_listing
from tests.support.memory_ledger import DELIVERIES_KEPT
from tests.support.sample_rows import BOT_REF, DELIVERED, NOW_MS, OTHER_REF, REFUSED, USER

LATER_MS = NOW_MS + 1_000


def retried(delivery_id: str, attempt: Attempt = REFUSED, number: int = 1) -> DeliveryAttempted:
    return DeliveryAttempted(delivery_id, BOT_REF, number, attempt, "retry", attempt.at_ms + 5_000)


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.id for delivery in deliveries]


def test_a_queued_delivery_is_due_at_once(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    expected = Delivery("first", BOT_REF, USER, test=False, queued_ms=NOW_MS, next_attempt_ms=NOW_MS)
    assert dict(state.deliveries.pending) == {"first": expected}
    assert state.deliveries.newest_first(BOT_REF) == [expected]


def test_a_retry_keeps_a_delivery_pending(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first")])
    row = state.deliveries.pending["first"]
    assert (row.tries, row.next_attempt_ms, row.attempts) == (1, NOW_MS + 5_000, (REFUSED,))
    assert (row.delivered, row.since_ms) == (False, NOW_MS)


def test_an_attempt_that_is_held_is_made_but_is_none_of_the_tries(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first", number=1)])
    ledger.commit([DeliveryAttempted("first", BOT_REF, 2, REFUSED, "held", LATER_MS)])
    row = state.deliveries.pending["first"]
    assert (row.tries, row.made, row.next_attempt_ms) == (1, 2, LATER_MS)
    assert row.attempts == (REFUSED, REFUSED)


def test_a_delivered_and_a_failed_delivery_are_finished(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "second")
    ledger.commit([DeliveryAttempted("second", BOT_REF, 1, REFUSED, "failed", None)])
    assert not state.deliveries.pending
    assert [(row.id, row.delivered, row.tries) for row in state.deliveries.finished[BOT_REF]] == [
        ("first", True, 1),
        ("second", False, 1),
    ]


def test_only_the_newest_finished_deliveries_are_kept(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for number in range(DELIVERIES_KEPT + 2):
        a_finished_delivery(ledger, str(number), at_ms=NOW_MS + number)
    assert ids(state.deliveries.finished[BOT_REF]) == ["2", "3"]


def test_a_delivery_sent_again_starts_a_new_round_under_its_id(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_finished_delivery(ledger, "second")
    a_delivery(ledger, "first", at_ms=LATER_MS)
    assert ids(state.deliveries.finished[BOT_REF]) == ["second"]
    row = state.deliveries.pending["first"]
    assert (row.tries, row.delivered, row.next_attempt_ms) == (0, False, LATER_MS)
    assert (row.queued_ms, row.since_ms, row.attempts) == (NOW_MS, LATER_MS, (DELIVERED,))


def test_two_attempts_that_look_the_same_are_two_attempts(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first", number=1)])
    ledger.commit([retried("first", number=2)])
    row = state.deliveries.pending["first"]
    assert (row.tries, row.made, row.attempts) == (2, 2, (REFUSED, REFUSED))


def test_attempts_are_counted_over_all_rounds(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "first", at_ms=LATER_MS)
    ledger.commit([retried("first", number=1)])  # already known
    assert state.deliveries.pending["first"].tries == 0
    ledger.commit([retried("first", number=2)])
    assert (state.deliveries.pending["first"].tries, state.deliveries.pending["first"].made) == (1, 2)


def test_a_delivery_keeps_its_newest_attempts(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    attempts = [replace(REFUSED, at_ms=NOW_MS + number) for number in range(ATTEMPTS_KEPT + 5)]
    for number, attempt in enumerate(attempts, 1):
        ledger.commit([retried("first", attempt, number)])
    assert state.deliveries.pending["first"].attempts == tuple(attempts[-ATTEMPTS_KEPT:])
    assert state.deliveries.pending["first"].tries == len(attempts)


def test_deliveries_are_shown_newest_first(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first", at_ms=NOW_MS)
    a_finished_delivery(ledger, "second", at_ms=NOW_MS + 1)
    a_delivery(ledger, "third", at_ms=NOW_MS + 2)
    assert ids(state.deliveries.newest_first(BOT_REF)) == ["third", "second", "first"]


def test_deliveries_of_one_millisecond_are_shown_newest_first_too(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    a_delivery(ledger, "second")
    assert ids(state.deliveries.newest_first(BOT_REF)) == ["second", "first"]


def test_a_delivery_that_is_given_up_is_finished_and_says_why(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_dropped_delivery(ledger, "first", "overflow")
    a_delivery(ledger, "second")
    ledger.commit([retried("second")])
    ledger.commit([DeliveryDropped("second", BOT_REF, made=1, reason="expired", at_ms=LATER_MS)])
    assert not state.deliveries.pending
    assert [
        (row.dropped, row.dropped_ms, row.delivered, row.next_attempt_ms)
        for row in state.deliveries.finished[BOT_REF]
    ] == [
        ("overflow", NOW_MS, False, None),
        ("expired", LATER_MS, False, None),
    ]


def test_a_delivery_is_not_given_up_in_the_place_of_its_successor(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_delivery(ledger, "first")
    ledger.commit([retried("first")])
    ledger.commit(
        [DeliveryDropped("first", BOT_REF, made=0, reason="overflow", at_ms=NOW_MS)]
    )  # of before the attempt
    ledger.commit([DeliveryDropped("first", OTHER_REF, made=1, reason="overflow", at_ms=NOW_MS)])
    assert state.deliveries.pending["first"].dropped is None


def test_a_delivery_that_was_given_up_can_be_sent_again(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_dropped_delivery(ledger, "first", "overflow")
    a_delivery(ledger, "first", at_ms=LATER_MS)
    assert (state.deliveries.pending["first"].dropped, state.deliveries.pending["first"].since_ms) == (
        None,
        LATER_MS,
    )


def test_a_listing_s_pending_deliveries_are_read_oldest_first(ledger: Ledger, state: State) -> None:
    for ref in (BOT_REF, OTHER_REF):
        a_listing(ledger, ref)
    for delivery_id, ref in (("a", BOT_REF), ("b", OTHER_REF), ("c", BOT_REF), ("d", BOT_REF)):
        a_delivery(ledger, delivery_id, ref)
    ledger.commit([retried("a")])
    ledger.commit([DeliveryAttempted("c", BOT_REF, 1, DELIVERED, "delivered", None)])
    assert list(state.deliveries.pending_of(BOT_REF)) == ["a", "d"], "a retry keeps its place"
    assert state.deliveries.pending_of("bots/999999999999999999") == {}
