"""listings/webhooks.py: sending all deliveries again that failed since a given time."""

import pytest

from core.events import DeliveryQueued
from core.ledger import Ledger
from core.state import State
from listings.webhooks import WebhookPolicy, redeliver_failed
from tests.support.committed_rows import (
    a_delivery,
    a_dropped_delivery,
    a_failed_delivery,
    a_finished_delivery,
    a_listing,
    a_webhook,
)
from tests.support.sample_rows import BOT_REF, HOUR_MS, NOW_MS, OTHER_REF

LATER_MS = NOW_MS + 2 * HOUR_MS
POLICY = WebhookPolicy(lambda _: False, lambda: "secret", pending_per_endpoint=3, pending_in_all=1_000)


@pytest.fixture(autouse=True)
def a_listing_with_a_webhook(ledger: Ledger) -> None:
    a_listing(ledger)
    a_webhook(ledger)


def again(state: State, since_ms: int = 0) -> list[str]:
    """Return the ids of the deliveries that are sent again."""
    events = redeliver_failed(state, BOT_REF, since_ms, POLICY, LATER_MS)
    queued = [event for event in events if isinstance(event, DeliveryQueued)]
    assert [(event.ref, event.at_ms) for event in queued] == [(BOT_REF, LATER_MS)] * len(events)
    return [event.delivery_id for event in queued]


@pytest.mark.parametrize(("since_ms", "found"), [(HOUR_MS, ["first"]), (HOUR_MS + 1, [])])
def test_what_failed_then_or_later_is_sent_again(
    ledger: Ledger, state: State, since_ms: int, found: list[str]
) -> None:
    a_failed_delivery(ledger, "first", at_ms=NOW_MS, failed_ms=NOW_MS + HOUR_MS)
    assert again(state, NOW_MS + since_ms) == found


@pytest.mark.parametrize(("since_ms", "found"), [(NOW_MS, ["first"]), (NOW_MS + 1, [])])
def test_what_was_never_sent_counts_from_when_it_was_given_up(
    ledger: Ledger, state: State, since_ms: int, found: list[str]
) -> None:
    a_dropped_delivery(ledger, "first", "overflow")
    assert again(state, since_ms) == found


def test_what_was_delivered_is_not_sent_again_and_neither_is_a_test(ledger: Ledger, state: State) -> None:
    a_finished_delivery(ledger, "delivered")
    a_failed_delivery(ledger, "test", test=True)
    assert again(state) == []


def test_what_is_sent_again_is_sent_in_the_order_of_votes(ledger: Ledger, state: State) -> None:
    a_failed_delivery(ledger, "younger", at_ms=NOW_MS + 1)
    a_failed_delivery(ledger, "older", at_ms=NOW_MS)
    assert again(state) == ["older", "younger"]
    ledger.commit(redeliver_failed(state, BOT_REF, 0, POLICY, LATER_MS))
    assert list(state.deliveries.pending) == ["older", "younger"]
    assert again(state) == [], "it is on its way"


@pytest.mark.parametrize(("waiting", "found"), [(1, ["older", "younger"]), (2, ["older"]), (3, []), (4, [])])
def test_no_more_is_sent_again_than_may_wait(
    ledger: Ledger, state: State, waiting: int, found: list[str]
) -> None:
    a_failed_delivery(ledger, "older", at_ms=NOW_MS)
    a_failed_delivery(ledger, "younger", at_ms=NOW_MS + 1)
    for number in range(waiting):
        a_delivery(ledger, f"waiting {number}")
    assert again(state) == found


def test_what_waits_for_another_endpoint_takes_no_room(ledger: Ledger, state: State) -> None:
    a_listing(ledger, OTHER_REF)
    a_failed_delivery(ledger, "first")
    for number in range(5):
        a_delivery(ledger, f"waiting {number}", OTHER_REF)
    assert again(state) == ["first"]
