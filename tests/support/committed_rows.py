"""Rows that are committed before a test begins: listings, keys, webhooks and deliveries."""

from msgspec.structs import replace

from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryQueued,
    KeySaved,
    ListingReviewed,
    ListingSaved,
)
from core.ledger import Ledger
from core.rows import Attempt, Dropped, Key, Listing, Review, Webhook, WebhookEvent
from tests.support.sample_rows import (
    BOT_PROFILE,
    BOT_REF,
    DELIVERED,
    NOW_MS,
    OWNER,
    SECRET,
    SERVER_PROFILE,
    USER,
)
from tests.support.slots_set import webhook_saved


def a_listing(ledger: Ledger, ref: str = BOT_REF, *, review: Review = "approved") -> Listing:
    """A listing submitted now and, unless it is to be in review, reviewed now."""
    profile = BOT_PROFILE if ref.startswith("bots/") else SERVER_PROFILE
    ledger.commit([ListingSaved(ref, OWNER, profile, "in_review", NOW_MS)])
    if review != "in_review":
        reason = "Too quiet." if review == "denied" else None
        ledger.commit([ListingReviewed(ref, review, reason, NOW_MS)])
    return ledger.state.listings[ref]


def a_key(ledger: Ledger, key_id: str = "k1", *, digest: str = "d1" * 32, ref: str = BOT_REF) -> Key:
    key = Key(key_id, f"key {key_id}", digest, digest[:8], NOW_MS)
    ledger.commit([KeySaved(ref, key)])
    return key


def a_webhook(ledger: Ledger, ref: str = BOT_REF, *, events: tuple[WebhookEvent, ...] = ("vote",)) -> Webhook:
    """One that takes votes, or these events."""
    webhook = Webhook("https://receiver.example/votes", NOW_MS, "a shared secret", secret=SECRET)
    if events != ("vote",):
        webhook = replace(webhook, events=events)
    ledger.commit([webhook_saved(ref, webhook)])
    return webhook


def a_delivery(
    ledger: Ledger, delivery_id: str, ref: str = BOT_REF, *, user: str = USER, at_ms: int = NOW_MS
) -> None:
    """A delivery waiting for its first attempt."""
    ledger.commit([DeliveryQueued(delivery_id, ref, user, test=False, at_ms=at_ms)])


def a_finished_delivery(
    ledger: Ledger, delivery_id: str, ref: str = BOT_REF, *, user: str = USER, at_ms: int = NOW_MS
) -> None:
    """A delivery that its first attempt delivered."""
    a_delivery(ledger, delivery_id, ref, user=user, at_ms=at_ms)
    ledger.commit([DeliveryAttempted(delivery_id, ref, 1, DELIVERED, "delivered", None)])


def a_failed_delivery(
    ledger: Ledger, delivery_id: str, *, test: bool = False, at_ms: int = NOW_MS, failed_ms: int = NOW_MS
) -> None:
    """A delivery that failed for good with its first attempt, which ended at `failed_ms`."""
    attempt = Attempt(failed_ms - 3, 3, None, "refused", "")
    ledger.commit([DeliveryQueued(delivery_id, BOT_REF, USER, test, at_ms)])
    ledger.commit([DeliveryAttempted(delivery_id, BOT_REF, 1, attempt, "failed", None)])


def a_dropped_delivery(ledger: Ledger, delivery_id: str, reason: Dropped, *, at_ms: int = NOW_MS) -> None:
    """A delivery that was given up without an attempt."""
    ledger.commit([DeliveryQueued(delivery_id, BOT_REF, USER, test=False, at_ms=at_ms)])
    ledger.commit([DeliveryDropped(delivery_id, BOT_REF, 0, reason, at_ms)])
