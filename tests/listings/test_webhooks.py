"""listings/webhooks.py: webhook settings, tests, and deliveries sent again by hand."""

from collections.abc import Callable
from itertools import count

import pytest

from core.actors import OPERATOR, user_actor
from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event, NodeNamed, SlotsSet
from core.ledger import Ledger
from core.rows import Suspension, Webhook
from core.state import State
from forms.reading import read
from grammars.http_urls import UrlRefused
from languages.refusals import Invalid, Refusal
from languages.said import in_words
from listings import webhooks as rules
from listings.forms import WebhookSettings
from listings.webhooks import WebhookPolicy, redeliver, remove_webhook, rotate_secret, send_test, webhook_of
from tests.support.committed_rows import a_delivery, a_finished_delivery, a_listing, a_webhook
from tests.support.sample_rows import (
    BOT_REF,
    DAY_MS,
    DELIVERED,
    NOW_MS,
    OLD_SECRET,
    OTHER_REF,
    SECRET,
    SERVER_REF,
    USER,
)
from tests.support.slots_set import webhook_saved

LATER_MS = NOW_MS + 1_000
URL = "https://receiver.example/votes"
CHAT_URL = "https://chat.example/api/webhooks/123/token"
PRIVATE_URL = "https://10.0.0.1/votes"


def is_chat(url: str) -> bool:
    if url == PRIVATE_URL:
        raise UrlRefused("private_address", range="localhost")
    return url == CHAT_URL


def policy(pending_most: int = 10) -> WebhookPolicy:
    """Secrets are "secret 1", "secret 2" and so on."""
    numbers = count(1)
    return WebhookPolicy(is_chat, lambda: f"secret {next(numbers)}", pending_most, pending_in_all=1_000)


POLICY = policy()


def save_webhook(state: State, ref: str, **body: object) -> list[Event]:
    return rules.save_webhook(
        state, ref, read(WebhookSettings, {"url": URL, **body}), policy(), LATER_MS, by=OPERATOR
    )


def refused(state: State, **body: object) -> dict[str, str]:
    with pytest.raises(Invalid) as refusal:
        save_webhook(state, BOT_REF, **body)
    return {name: in_words(*fault) for name, fault in refusal.value.faults.items()}


# -- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", [BOT_REF, SERVER_REF])
def test_a_webhook_is_saved_with_its_token_and_a_secret_made_for_it(
    ledger: Ledger, state: State, ref: str
) -> None:
    a_listing(ledger, ref)
    ledger.commit(save_webhook(state, ref, token="a shared secret"))
    assert webhook_of(state, ref) == Webhook(URL, LATER_MS, "a shared secret", secret="secret 1")


def test_a_token_left_out_is_a_token_removed_but_the_secret_stays(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    assert a_webhook(ledger).token is not None
    ledger.commit(save_webhook(state, BOT_REF))
    assert webhook_of(state, BOT_REF) == Webhook(URL, LATER_MS, None, secret=SECRET)


def test_saving_keeps_the_overlap_of_two_secrets(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit(
        rotate_secret(state, BOT_REF, policy().new_secret(), overlap_ms=DAY_MS, now_ms=NOW_MS, by=OPERATOR)
    )
    ledger.commit(save_webhook(state, BOT_REF))
    assert webhook_of(state, BOT_REF) == Webhook(
        URL, LATER_MS, secret="secret 1", old_secret=SECRET, old_secret_until_ms=NOW_MS + DAY_MS
    )


def test_a_save_that_changes_nothing_is_none_but_in_a_fleet(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit(save_webhook(state, BOT_REF, token="a shared secret"))
    assert save_webhook(state, BOT_REF, token="a shared secret") == []
    assert save_webhook(state, BOT_REF) != []
    ledger.commit([NodeNamed("a.1")])
    assert save_webhook(state, BOT_REF, token="a shared secret") != []


def test_saving_ends_the_count_of_failures_and_the_suspension(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit([EndpointHealthSet(BOT_REF, 10, Suspension(NOW_MS, "timeout", 1, NOW_MS + 60_000))])
    ledger.commit(save_webhook(state, BOT_REF))
    assert (webhook_of(state, BOT_REF).failed, webhook_of(state, BOT_REF).suspension) == (0, None)


@pytest.mark.parametrize(("given", "saved"), [({}, "en"), ({"language": "pt-BR"}, "pt-BR")])
def test_a_chat_platform_s_webhook_has_a_language_and_no_secret(
    ledger: Ledger, state: State, given: dict[str, str], saved: str
) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit(save_webhook(state, BOT_REF, url=CHAT_URL, **given))
    webhook = webhook_of(state, BOT_REF)
    assert (webhook.url, webhook.language) == (CHAT_URL, saved)
    assert (webhook.token, webhook.secret, webhook.old_secret) == (None, None, None)
    ledger.commit(save_webhook(state, BOT_REF))
    assert webhook_of(state, BOT_REF) == Webhook(URL, LATER_MS, secret="secret 1"), "a new one"


def test_no_token_goes_to_a_chat_platform_and_no_language_anywhere_else(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    assert refused(state, url=CHAT_URL, token="a token") == {
        "token": "is not supported for a chat platform's webhook URL"
    }
    assert refused(state, language="de") == {"language": "is only for a chat platform's webhook URL"}


def test_a_target_is_refused_with_the_reason_of_the_guard(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    assert refused(state, url=PRIVATE_URL) == {"url": "must not lead to a private address (localhost)"}


def test_saving_keeps_what_is_on_its_way(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_delivery(ledger, "first")
    ledger.commit(save_webhook(state, BOT_REF))
    assert list(state.deliveries.pending) == ["first"]


@pytest.mark.parametrize(
    ("overlap_ms", "old", "until_ms"), [(0, None, 0), (DAY_MS, SECRET, LATER_MS + DAY_MS)]
)
def test_a_rotated_secret_stops_at_once_or_after_the_overlap(
    ledger: Ledger, state: State, overlap_ms: int, old: str | None, until_ms: int
) -> None:
    a_listing(ledger)
    before = Webhook(
        URL, NOW_MS, "a token", secret=SECRET, old_secret=OLD_SECRET, old_secret_until_ms=LATER_MS
    )
    ledger.commit([webhook_saved(BOT_REF, before)])
    ledger.commit(
        rotate_secret(
            state, BOT_REF, policy().new_secret(), overlap_ms=overlap_ms, now_ms=LATER_MS, by=OPERATOR
        )
    )
    assert webhook_of(state, BOT_REF) == Webhook(
        URL, NOW_MS, "a token", secret="secret 1", old_secret=old, old_secret_until_ms=until_ms
    )


def test_a_rotation_leaves_a_suspension_as_it_is(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    suspension = Suspension(NOW_MS, "timeout", 1, NOW_MS + 60_000)
    ledger.commit([EndpointHealthSet(BOT_REF, 10, suspension)])
    ledger.commit(
        rotate_secret(state, BOT_REF, policy().new_secret(), overlap_ms=0, now_ms=LATER_MS, by=OPERATOR)
    )
    assert (webhook_of(state, BOT_REF).failed, webhook_of(state, BOT_REF).suspension) == (10, suspension)


def test_a_webhook_from_before_there_were_secrets_gets_one_without_an_overlap(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    ledger.commit([webhook_saved(BOT_REF, Webhook(URL, NOW_MS))])
    ledger.commit(
        rotate_secret(state, BOT_REF, policy().new_secret(), overlap_ms=DAY_MS, now_ms=LATER_MS, by=OPERATOR)
    )
    assert webhook_of(state, BOT_REF) == Webhook(URL, NOW_MS, secret="secret 1")


def test_a_chat_platform_s_webhook_has_no_secret_to_rotate(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    ledger.commit([webhook_saved(BOT_REF, Webhook(CHAT_URL, NOW_MS, language="en"))])
    with pytest.raises(Refusal) as refusal:
        rotate_secret(state, BOT_REF, POLICY.new_secret(), overlap_ms=0, now_ms=LATER_MS, by=OPERATOR)
    assert refusal.value.code == "not_signed"


def test_a_removed_webhook_is_gone_with_its_log(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "second")
    ledger.commit(remove_webhook(state, BOT_REF, NOW_MS, by=OPERATOR))
    assert state.deliveries.newest_first(BOT_REF) == []
    with pytest.raises(Refusal, match="no_such"):
        webhook_of(state, BOT_REF)


# -- deliveries ----------------------------------------------------------------------------------------


def test_a_test_goes_the_way_of_a_vote(ledger: Ledger, state: State) -> None:
    a_listing(ledger, review="in_review")
    a_webhook(ledger)
    ledger.commit(send_test(state, BOT_REF, USER, delivery_id="first", now_ms=LATER_MS))
    row = state.deliveries.pending["first"]
    assert (row.ref, row.user, row.test, row.next_attempt_ms) == (BOT_REF, USER, True, LATER_MS)


@pytest.mark.parametrize("test", [False, True])
def test_a_finished_delivery_is_sent_again_as_what_it_was(ledger: Ledger, state: State, test: bool) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit([DeliveryQueued("first", BOT_REF, USER, test, NOW_MS)])
    ledger.commit([DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "failed", None)])
    ledger.commit(redeliver(state, BOT_REF, "first", POLICY, LATER_MS))
    row = state.deliveries.pending["first"]
    assert (row.user, row.test, row.next_attempt_ms, row.tries) == (USER, test, LATER_MS, 0)
    assert not state.deliveries.finished[BOT_REF]


def test_the_delivery_that_is_named_is_the_one_sent_again(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    for delivery_id in ("first", "second", "third"):
        a_finished_delivery(ledger, delivery_id)
    ledger.commit(redeliver(state, BOT_REF, "second", POLICY, LATER_MS))
    assert list(state.deliveries.pending) == ["second"]


def test_a_pending_delivery_is_not_sent_twice(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_delivery(ledger, "first")
    with pytest.raises(Refusal) as refusal:
        redeliver(state, BOT_REF, "first", POLICY, LATER_MS)
    assert refusal.value.code == "delivery_pending"


def test_a_delivery_is_not_sent_again_while_too_many_wait(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    a_finished_delivery(ledger, "first")
    a_delivery(ledger, "second")
    with pytest.raises(Refusal) as refusal:
        redeliver(state, BOT_REF, "first", policy(pending_most=1), LATER_MS)
    assert refusal.value.code == "too_many_pending"
    assert redeliver(state, BOT_REF, "first", policy(pending_most=2), LATER_MS)


def test_a_delivery_of_another_listing_is_not_found(ledger: Ledger, state: State) -> None:
    for ref in (BOT_REF, OTHER_REF):
        a_listing(ledger, ref)
        a_webhook(ledger, ref)
    a_delivery(ledger, "pending", OTHER_REF)
    a_finished_delivery(ledger, "finished", OTHER_REF)
    for delivery_id in ("pending", "finished", "never queued"):
        with pytest.raises(Refusal) as refusal:
            redeliver(state, BOT_REF, delivery_id, POLICY, LATER_MS)
        assert refusal.value.code == "no_such_delivery"


RULES: list[Callable[[State, str], object]] = [
    lambda state, ref: remove_webhook(state, ref, NOW_MS, by=OPERATOR),
    lambda state, ref: send_test(state, ref, USER, delivery_id="first", now_ms=NOW_MS),
    lambda state, ref: redeliver(state, ref, "first", POLICY, NOW_MS),
    lambda state, ref: rules.redeliver_failed(state, ref, 0, POLICY, NOW_MS),
    lambda state, ref: rotate_secret(
        state, ref, POLICY.new_secret(), overlap_ms=0, now_ms=NOW_MS, by=OPERATOR
    ),
]


@pytest.mark.parametrize("rule", RULES)
def test_without_a_webhook_there_is_nothing_to_remove_rotate_test_or_send(
    ledger: Ledger, state: State, rule: Callable[[State, str], object]
) -> None:
    a_listing(ledger)
    with pytest.raises(Refusal) as refusal:
        rule(state, BOT_REF)
    assert refusal.value.code == "no_such_webhook"


@pytest.mark.parametrize("rule", [*RULES, save_webhook])
def test_a_listing_that_does_not_exist_has_no_webhook(
    state: State, rule: Callable[[State, str], object]
) -> None:
    with pytest.raises(Refusal) as refusal:
        rule(state, BOT_REF)
    assert refusal.value.code == "no_such_listing"


def test_when_too_many_wait_in_all_nothing_more_may_wait_anywhere(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    limits = WebhookPolicy(is_chat, str, pending_per_endpoint=10, pending_in_all=2)
    assert limits.pending_most(state) == 10
    a_delivery(ledger, "first")
    a_delivery(ledger, "second")
    assert limits.pending_most(state) == 0


SUSPENDED = Suspension(NOW_MS, "timeout", 3, NOW_MS + 60_000)


def suspended(ledger: Ledger) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    ledger.commit([EndpointHealthSet(BOT_REF, 12, SUSPENDED)])


def test_a_suspension_is_lifted_by_the_event_that_a_success_would_make(ledger: Ledger, state: State) -> None:
    suspended(ledger)

    assert rules.lift_suspension(state, BOT_REF, LATER_MS, by=OPERATOR) == [
        EndpointHealthSet(BOT_REF, 0, None),
        SlotsSet(BOT_REF, LATER_MS, "suspension_lifted"),
    ]


def test_a_probe_now_moves_the_next_probe_and_nothing_else(ledger: Ledger, state: State) -> None:
    suspended(ledger)
    a_delivery(ledger, "first")

    assert rules.probe_endpoint(state, BOT_REF, LATER_MS, by=user_actor(USER)) == [
        EndpointHealthSet(BOT_REF, 12, Suspension(NOW_MS, "timeout", 3, LATER_MS)),
        SlotsSet(BOT_REF, LATER_MS, "endpoint_probed", by=user_actor(USER)),
    ]


def test_a_probe_needs_a_delivery_that_is_no_test(ledger: Ledger, state: State) -> None:
    suspended(ledger)
    ledger.commit([DeliveryQueued("test", BOT_REF, USER, test=True, at_ms=NOW_MS)])

    with pytest.raises(Refusal, match="nothing_to_probe"):
        rules.probe_endpoint(state, BOT_REF, LATER_MS, by=OPERATOR)


def test_an_endpoint_that_is_not_suspended_is_neither_probed_nor_resumed(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    a_webhook(ledger)
    with pytest.raises(Refusal, match="not_suspended"):
        rules.lift_suspension(state, BOT_REF, LATER_MS, by=OPERATOR)
    with pytest.raises(Refusal, match="not_suspended"):
        rules.probe_endpoint(state, BOT_REF, LATER_MS, by=OPERATOR)
    with pytest.raises(Refusal, match="no_such"):
        rules.lift_suspension(state, OTHER_REF, LATER_MS, by=OPERATOR)
