"""Webhook settings and deliveries by hand. Law: a test and a redelivery go the way of a real vote."""

from core.events import DeliveryQueued, Event, WebhookRemoved, WebhookSaved
from core.refusals import Conflict, NotFound
from core.rows import Webhook
from core.state import State
from listings.forms import WebhookSettings
from listings.rules import listing_of


def webhook_of(state: State, ref: str) -> Webhook:
    """The listing's webhook; raises NotFound."""
    webhook = listing_of(state, ref).webhook
    if webhook is None:
        raise NotFound("webhook")
    return webhook


def save_webhook(state: State, ref: str, form: WebhookSettings, now_ms: int) -> list[Event]:
    """Replaces url and token together: a token left out is a token removed."""
    listing_of(state, ref)
    return [WebhookSaved(ref, Webhook(form.url, now_ms, form.token))]


def remove_webhook(state: State, ref: str) -> list[Event]:
    webhook_of(state, ref)
    return [WebhookRemoved(ref)]


def send_test(state: State, ref: str, user: str, *, delivery_id: str, now_ms: int) -> list[Event]:
    webhook_of(state, ref)
    return [DeliveryQueued(delivery_id, ref, user, test=True, at_ms=now_ms)]


def redeliver(state: State, ref: str, delivery_id: str, now_ms: int) -> list[Event]:
    """Sends a finished delivery again, under its own id."""
    webhook_of(state, ref)
    pending = state.pending.get(delivery_id)
    if pending is not None and pending.ref == ref:
        raise Conflict("The delivery is still pending.")
    found = next((row for row in state.finished.get(ref, ()) if row.id == delivery_id), None)
    if found is None:
        raise NotFound("delivery")
    return [DeliveryQueued(found.id, ref, found.user, found.test, now_ms)]
