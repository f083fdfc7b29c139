"""listings/webhooks.py: webhook settings, tests, and deliveries sent again by hand."""

from collections.abc import Callable

import pytest

from core.events import DeliveryAttempted, DeliveryQueued, Event
from core.ledger import Ledger
from core.refusals import Conflict, NotFound
from core.rows import Webhook
from core.state import State
from listings.forms import WebhookSettings, read
from listings.webhooks import redeliver, remove_webhook, save_webhook, send_test, webhook_of
from tests.unit.given import (
    BOT,
    DELIVERED,
    NOW_MS,
    OTHER_BOT,
    SERVER,
    USER,
    a_delivery,
    a_finished_delivery,
    a_listing,
    a_webhook,
)

LATER_MS = NOW_MS + 1_000
URL = "https://receiver.example/votes"


@pytest.mark.parametrize("ref", [BOT, SERVER])
def test_a_webhook_is_saved_with_its_token(ledger: Ledger, state: State, ref: str) -> None:
    a_listing(ledger, ref)
    form = read(WebhookSettings, {"url": URL, "token": "a shared secret"})
    ledger.commit(save_webhook(state, ref, form, LATER_MS))
    assert webhook_of(state, ref) == Webhook(URL, LATER_MS, "a shared secret")


def test_a_token_left_out_is_a_token_removed(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    assert a_webhook(ledger).token is not None
    ledger.commit(save_webhook(state, BOT, read(WebhookSettings, {"url": URL}), LATER_MS))
    assert webhook_of(state, BOT) == Webhook(URL, LATER_MS, None)


def test_saving_keeps_what_is_on_its_way(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_delivery(ledger, "first")
    ledger.commit(save_webhook(state, BOT, read(WebhookSettings, {"url": URL}), LATER_MS))
    assert list(state.pending) == ["first"]


def test_a_removed_webhook_is_gone_with_its_log(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "second")
    ledger.commit(remove_webhook(state, BOT))
    assert state.deliveries(BOT) == []
    with pytest.raises(NotFound):
        webhook_of(state, BOT)


def test_a_test_goes_the_way_of_a_vote(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    a_webhook(ledger)
    ledger.commit(send_test(state, BOT, USER, delivery_id="first", now_ms=LATER_MS))
    row = state.pending["first"]
    assert (row.ref, row.user, row.test, row.next_attempt_ms) == (BOT, USER, True, LATER_MS)


@pytest.mark.parametrize("test", [False, True])
def test_a_finished_delivery_is_sent_again_as_what_it_was(ledger: Ledger, state: State, test: bool) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit([DeliveryQueued("first", BOT, USER, test, NOW_MS)])
    ledger.commit([DeliveryAttempted("first", BOT, 1, DELIVERED, "failed", None)])
    ledger.commit(redeliver(state, BOT, "first", LATER_MS))
    row = state.pending["first"]
    assert (row.user, row.test, row.next_attempt_ms, row.tries) == (USER, test, LATER_MS, 0)
    assert not state.finished[BOT]


def test_the_delivery_that_is_named_is_the_one_sent_again(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    for delivery_id in ("first", "second", "third"):
        a_finished_delivery(ledger, delivery_id)
    ledger.commit(redeliver(state, BOT, "second", LATER_MS))
    assert list(state.pending) == ["second"]


def test_a_pending_delivery_is_not_sent_twice(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_delivery(ledger, "first")
    with pytest.raises(Conflict):
        redeliver(state, BOT, "first", LATER_MS)


def test_a_delivery_of_another_listing_is_not_found(ledger: Ledger, state: State) -> None:
    for ref in (BOT, OTHER_BOT):
        a_listing(ledger, ref)
        a_webhook(ledger, ref)
    a_delivery(ledger, "pending", OTHER_BOT)
    a_finished_delivery(ledger, "finished", OTHER_BOT)
    for delivery_id in ("pending", "finished", "never queued"):
        with pytest.raises(NotFound) as refusal:
            redeliver(state, BOT, delivery_id, LATER_MS)
        assert refusal.value.thing == "delivery"


RULES: list[Callable[[State, str], list[Event]]] = [
    remove_webhook,
    lambda state, ref: send_test(state, ref, USER, delivery_id="first", now_ms=NOW_MS),
    lambda state, ref: redeliver(state, ref, "first", NOW_MS),
]


@pytest.mark.parametrize("rule", RULES)
def test_without_a_webhook_there_is_nothing_to_remove_test_or_send(
    ledger: Ledger, state: State, rule: Callable[[State, str], list[Event]]
) -> None:
    a_listing(ledger)
    with pytest.raises(NotFound) as refusal:
        rule(state, BOT)
    assert refusal.value.thing == "webhook"


@pytest.mark.parametrize(
    "rule",
    [*RULES, lambda state, ref: save_webhook(state, ref, read(WebhookSettings, {"url": URL}), NOW_MS)],
)
def test_a_listing_that_does_not_exist_has_no_webhook(
    state: State, rule: Callable[[State, str], list[Event]]
) -> None:
    with pytest.raises(NotFound) as refusal:
        rule(state, BOT)
    assert refusal.value.thing == "listing"
