"""Rows as the management API shows them. Law: no secret is in a view, whole or in part.

Times are Unix milliseconds; what never happened is null.
"""

from typing import Any

from core.rows import Attempt, BotProfile, Delivery, Key, Listing, Policy, Webhook


def listing_view(listing: Listing) -> dict[str, Any]:
    view: dict[str, Any] = {"id": listing.id, "owner_id": listing.owner_id}
    profile = listing.profile
    view |= {name: getattr(profile, name) for name in profile.__struct_fields__}
    view |= {
        "state": listing.review,
        "reason": listing.reason,
        "created_at": listing.created_ms,
        "updated_at": listing.updated_ms,
        "reviewed_at": listing.reviewed_ms,
        "has_webhook": listing.webhook is not None,
    }
    if isinstance(profile, BotProfile):
        view |= {
            "server_count": listing.server_count,
            "command_count": listing.command_count,
            "counts_updated_at": listing.counts_ms,
            "actual_server_count": listing.actual_server_count,
            "limits": limits_view(listing),
        }
    return view


def limits_view(listing: Listing) -> dict[str, Any]:
    """The bot's own limits; null where the deployment's default holds."""
    return {"stats": _policy_view(listing.stats_limit), "voters": _policy_view(listing.voters_limit)}


def _policy_view(policy: Policy | None) -> dict[str, int] | None:
    if policy is None:
        return None
    return {"requests": policy.requests, "window_seconds": policy.window_seconds}


def key_view(key: Key, now_ms: int) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "fingerprint": key.fingerprint,
        "created_at": key.created_ms,
        "rotated_at": key.rotated_ms,
        "old_key_until": key.old_until_ms if key.old_until_ms > now_ms else None,
    }


def webhook_view(webhook: Webhook) -> dict[str, Any]:
    return {"url": webhook.url, "has_token": webhook.token is not None, "saved_at": webhook.saved_ms}


def delivery_view(delivery: Delivery) -> dict[str, Any]:
    """`status`, `duration_ms`, `error` and `excerpt` are those of the last attempt."""
    if delivery.next_attempt_ms is not None:
        state = "pending"
    else:
        state = "delivered" if delivery.delivered else "failed"
    last = delivery.attempts[-1] if delivery.attempts else None
    return {
        "id": delivery.id,
        "user": delivery.user,
        "test": delivery.test,
        "state": state,
        "queued_at": delivery.queued_ms,
        "next_attempt_at": delivery.next_attempt_ms,
        "status": last.status if last else None,
        "duration_ms": last.duration_ms if last else None,
        "error": last.error if last else None,
        "excerpt": last.excerpt if last else None,
        "attempts": [_attempt_view(attempt) for attempt in delivery.attempts],
    }


def _attempt_view(attempt: Attempt) -> dict[str, Any]:
    return {
        "at": attempt.at_ms,
        "duration_ms": attempt.duration_ms,
        "status": attempt.status,
        "error": attempt.error,
        "excerpt": attempt.excerpt,
    }
