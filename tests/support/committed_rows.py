"""What a test finds when it begins: listings, keys, webhooks and deliveries, already committed."""

from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryQueued,
    KeySaved,
    ListingReviewed,
    ListingSaved,
    WebhookSaved,
)
from core.ledger import Ledger
from core.rows import Attempt, BotProfile, Dropped, Key, Listing, Review, ServerProfile, Webhook

BOT = "bots/111111111111111111"
OTHER_BOT = "bots/222222222222222222"
SERVER = "servers/333333333333333333"
OWNER = "444444444444444444"
USER = "555555555555555555"
OTHER_USER = "666666666666666666"

NOW_MS = 1_750_000_000_000
SECOND_MS = 1_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

BOT_PROFILE = BotProfile("Test bot", "A bot for the tests", "A longer description", ("Utility",))
SERVER_PROFILE = ServerProfile("Test server", "A server for the tests", ("tests",), "Gaming")
DELIVERED = Attempt(NOW_MS, 12, 204, None, "")
REFUSED = Attempt(NOW_MS, 3, None, "refused", "")
SECRET = "whsec_" + "A" * 43 + "="
OLD_SECRET = "whsec_" + "B" * 42 + "A="


def a_listing(ledger: Ledger, ref: str = BOT, *, review: Review = "approved") -> Listing:
    """A listing submitted now and, unless it is to be in review, reviewed now."""
    profile = BOT_PROFILE if ref.startswith("bots/") else SERVER_PROFILE
    ledger.commit([ListingSaved(ref, OWNER, profile, "in_review", NOW_MS)])
    if review != "in_review":
        reason = "Too quiet." if review == "denied" else None
        ledger.commit([ListingReviewed(ref, review, reason, NOW_MS)])
    return ledger.state.listings[ref]


def a_key(ledger: Ledger, key_id: str = "k1", *, digest: str = "d1" * 32, ref: str = BOT) -> Key:
    key = Key(key_id, f"key {key_id}", digest, digest[:8], NOW_MS)
    ledger.commit([KeySaved(ref, key)])
    return key


def a_webhook(ledger: Ledger, ref: str = BOT) -> Webhook:
    webhook = Webhook("https://receiver.example/votes", NOW_MS, "a shared secret", secret=SECRET)
    ledger.commit([WebhookSaved(ref, webhook)])
    return webhook


def a_delivery(
    ledger: Ledger, delivery_id: str, ref: str = BOT, *, user: str = USER, at_ms: int = NOW_MS
) -> None:
    """A delivery waiting for its first attempt."""
    ledger.commit([DeliveryQueued(delivery_id, ref, user, test=False, at_ms=at_ms)])


def a_finished_delivery(
    ledger: Ledger, delivery_id: str, ref: str = BOT, *, user: str = USER, at_ms: int = NOW_MS
) -> None:
    """A delivery that its first attempt delivered."""
    a_delivery(ledger, delivery_id, ref, user=user, at_ms=at_ms)
    ledger.commit([DeliveryAttempted(delivery_id, ref, 1, DELIVERED, "delivered", None)])


def a_failed_delivery(
    ledger: Ledger, delivery_id: str, *, test: bool = False, at_ms: int = NOW_MS, failed_ms: int = NOW_MS
) -> None:
    """A delivery that failed for good with its first attempt, which ended at `failed_ms`."""
    attempt = Attempt(failed_ms - 3, 3, None, "refused", "")
    ledger.commit([DeliveryQueued(delivery_id, BOT, USER, test, at_ms)])
    ledger.commit([DeliveryAttempted(delivery_id, BOT, 1, attempt, "failed", None)])


def a_dropped_delivery(ledger: Ledger, delivery_id: str, reason: Dropped, *, at_ms: int = NOW_MS) -> None:
    """A delivery that was given up without an attempt."""
    ledger.commit([DeliveryQueued(delivery_id, BOT, USER, test=False, at_ms=at_ms)])
    ledger.commit([DeliveryDropped(delivery_id, BOT, 0, reason, at_ms)])
