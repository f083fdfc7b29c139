"""Webhook settings, tests and redeliveries. Invariant: tests and redeliveries go the way of a real vote."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from msgspec.structs import replace

from core.actors import Actor
from core.events import DeliveryQueued, EndpointHealthSet, Event, SlotsSet
from core.rows import VOTES_ALONE, Delivery, Suspension, Webhook, WebhookEvent
from core.state import State
from grammars.http_urls import UrlRefused
from kinds.kind import PartName
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from listings.forms import WebhookSettings
from listings.rules import listing_of

TESTS_PENDING = 5  # of one endpoint, because they overtake its votes


@dataclass(frozen=True)
class WebhookPolicy:
    """The deployment's settings for webhooks."""

    is_chat: Callable[[str], bool]
    """Return true for a chat platform's webhook URL. Raises UrlRefused for a forbidden one."""
    new_secret: Callable[[], str]
    pending_per_endpoint: int
    """The number of deliveries that may wait for one endpoint."""
    pending_in_all: int

    def pending_most(self, state: State) -> int:
        """Return the number that may wait for one endpoint now: 0 if too many wait for all endpoints."""
        return self.pending_per_endpoint if len(state.deliveries.pending) < self.pending_in_all else 0


def webhook_of(state: State, ref: str) -> Webhook:
    """Return the listing's webhook. Raises Refusal."""
    webhook = listing_of(state, ref).webhook
    if webhook is None:
        raise Refusal("no_such_webhook")
    return webhook


def delivery_of(state: State, ref: str, delivery_id: str) -> Delivery:
    """Return a delivery of the listing. Raises Refusal."""
    delivery = state.deliveries.find(ref, delivery_id)
    if delivery is None:
        raise Refusal("no_such_delivery")
    return delivery


EVENT_PARTS: Mapping[WebhookEvent, PartName] = {"rating.posted": "ratings"}
"""The parts of kinds without which an event never happens. All other events happen to every kind with a
webhook."""


def save_webhook(
    state: State, ref: str, form: WebhookSettings, policy: WebhookPolicy, now_ms: int, *, by: Actor
) -> list[Event]:
    """Replace url, token, language and events together. A field that is left out is removed; without events
    the endpoint takes votes alone.

    The signing secret stays, or is made if there is none. A suspension ends. A save that changes nothing
    leaves no trace, but for in a fleet: there it also ends suspensions that this node knows nothing of.
    """
    before = listing_of(state, ref).webhook
    saved = _saved(before, form, policy, now_ms)
    if not state.fleet.label and before is not None and replace(saved, saved_ms=before.saved_ms) == before:
        return []
    return [_set(ref, saved, now_ms, by)]


def first_chat_webhook(
    ref: str, form: WebhookSettings, policy: WebhookPolicy, now_ms: int, *, by: Actor
) -> list[Event]:
    """Set the webhook of a listing that comes with the same record. Raises Invalid, also for a URL that is
    none of a chat platform."""
    if form.language is None or not _is_chat(form, policy):
        raise Invalid({"url": Fault("not_chat_webhook")})
    return [_set(ref, _saved(None, form, policy, now_ms), now_ms, by)]


def _set(ref: str, webhook: Webhook, now_ms: int, by: Actor) -> SlotsSet:
    return SlotsSet(ref, now_ms, "webhook_saved", webhook.host, webhook=webhook, by=by)


def _is_chat(form: WebhookSettings, policy: WebhookPolicy) -> bool:
    try:
        return policy.is_chat(form.url)
    except UrlRefused as refused:
        raise Invalid({"url": refused.fault}) from None


def _saved(before: Webhook | None, form: WebhookSettings, policy: WebhookPolicy, now_ms: int) -> Webhook:
    chat = _is_chat(form, policy)
    if chat and form.token is not None:
        raise Invalid({"token": Fault("token_of_chat")})
    if not chat and form.language is not None:
        raise Invalid({"language": Fault("language_of_others")})
    saved = Webhook(form.url, now_ms, form.token, events=_events(form))
    if chat:
        return replace(saved, language=form.language or "en")
    if before is None or before.secret is None:
        return replace(saved, secret=policy.new_secret())
    old, until_ms = before.old_secret, before.old_secret_until_ms
    return replace(saved, secret=before.secret, old_secret=old, old_secret_until_ms=until_ms)


def _events(form: WebhookSettings) -> tuple[WebhookEvent, ...]:
    """Return the events in the order of their type; none for votes alone."""
    taken = tuple(each for each in get_args(WebhookEvent) if each in (form.events or VOTES_ALONE))
    return () if taken == VOTES_ALONE else taken


def rotate_secret(
    state: State, ref: str, secret: str, *, overlap_ms: int, now_ms: int, by: Actor
) -> list[Event]:
    """Set a new signing secret. The old one signs too until the overlap has passed."""
    webhook = webhook_of(state, ref)
    if webhook.language is not None:
        raise Refusal("not_signed")
    old = webhook.secret if overlap_ms else None
    rotated = replace(
        webhook,
        secret=secret,
        old_secret=old,
        old_secret_until_ms=now_ms + overlap_ms if old is not None else 0,
    )
    return [SlotsSet(ref, now_ms, "secret_rotated", rotated.host, webhook=rotated, by=by)]


def lift_suspension(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Lift a suspension: what waits is sent, and failures count from none."""
    _suspension_of(state, ref)
    return [EndpointHealthSet(ref, 0, None), SlotsSet(ref, now_ms, "suspension_lifted", by=by)]


def probe_endpoint(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Let the next probe of a suspended endpoint go now."""
    webhook, suspension = _suspension_of(state, ref)
    if not any(not row.test for row in state.deliveries.pending_of(ref).values()):
        raise Refusal("nothing_to_probe")
    return [
        EndpointHealthSet(ref, webhook.failed, replace(suspension, probe_ms=now_ms)),
        SlotsSet(ref, now_ms, "endpoint_probed", by=by),
    ]


def _suspension_of(state: State, ref: str) -> tuple[Webhook, Suspension]:
    webhook = webhook_of(state, ref)
    if webhook.suspension is None:
        raise Refusal("not_suspended")
    return webhook, webhook.suspension


def remove_webhook(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    webhook_of(state, ref)
    return [SlotsSet(ref, now_ms, "webhook_removed", webhook=None, by=by)]


def send_test(state: State, ref: str, user: str, *, delivery_id: str, now_ms: int) -> list[Event]:
    webhook_of(state, ref)
    if sum(row.test for row in state.deliveries.pending_of(ref).values()) >= TESTS_PENDING:
        raise Refusal("too_many_tests")
    return [DeliveryQueued(delivery_id, ref, user, test=True, at_ms=now_ms)]


def redeliver(state: State, ref: str, delivery_id: str, policy: WebhookPolicy, now_ms: int) -> list[Event]:
    """Send a finished delivery again, under its own id."""
    webhook_of(state, ref)
    found = delivery_of(state, ref, delivery_id)
    if found.next_attempt_ms is not None:
        raise Refusal("delivery_pending")
    if len(state.deliveries.pending_of(ref)) >= policy.pending_most(state):
        raise Refusal("too_many_pending")
    return [_again(found, now_ms)]


def redeliver_failed(
    state: State, ref: str, since_ms: int, policy: WebhookPolicy, now_ms: int
) -> list[Event]:
    """Send the deliveries again that have failed since then, in the order of votes, while more may wait."""
    webhook_of(state, ref)
    room = max(policy.pending_most(state) - len(state.deliveries.pending_of(ref)), 0)
    failed = [
        row
        for row in state.deliveries.finished.get(ref, ())
        if not row.delivered and not row.test and _failed_ms(row) >= since_ms
    ]
    failed.sort(key=lambda row: row.queued_ms)
    return [_again(row, now_ms) for row in failed[:room]]


def _failed_ms(row: Delivery) -> int:
    """Return the time at which a delivery failed for good."""
    if row.dropped_ms is not None:
        return row.dropped_ms
    last = row.attempts[-1]
    return last.at_ms + last.duration_ms


def _again(row: Delivery, now_ms: int) -> DeliveryQueued:
    return DeliveryQueued(row.id, row.ref, row.user, row.test, now_ms, row.event, row.reason, row.stars)
