"""Rows as the management API shows them. Law: no secret is in a view, whole or in part.

Times are Unix milliseconds; what never happened is null.
"""

from collections.abc import Sequence
from typing import Any

from core.rows import Attempt, BotProfile, Delivery, Key, Listing, Policy, Webhook
from handlers.redaction import Redactor
from listings.stats_problems import StatsProblem

_REDACTED = Redactor()


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


def stats_problems_view(problems: Sequence[StatsProblem]) -> list[dict[str, Any]]:
    return [
        {
            "field": _REDACTED(problem.field),  # whoever names the fields may have sent the key as one
            "problem": problem.problem,
            "given": problem.given,
            "reason": problem.reason,
            "times": problem.times,
            "last_at": problem.last_ms,
        }
        for problem in problems
    ]


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


def webhook_view(webhook: Webhook, pending: int, now_ms: int) -> dict[str, Any]:
    """`pending` deliveries wait for it."""
    suspension = webhook.suspension
    return {
        "url": webhook.shown_url,
        "has_token": webhook.token is not None,
        "language": webhook.language,
        "signed": webhook.secret is not None,
        "old_secret_until": webhook.old_secret_until_ms if webhook.old_secret_until_ms > now_ms else None,
        "saved_at": webhook.saved_ms,
        "pending": pending,
        "failed_in_a_row": webhook.failed,
        "suspension": None
        if suspension is None
        else {
            "since": suspension.since_ms,
            "reason": suspension.reason,
            "probes_failed": suspension.times - 1,
            "next_probe_at": suspension.probe_ms,
        },
    }


def delivery_view(delivery: Delivery, webhook: Webhook | None) -> dict[str, Any]:
    """`status`, `duration_ms`, `error` and `excerpt` are those of the last attempt; `error` may also say why
    there was none.

    While the webhook is suspended, nothing but a test is attempted before the next probe.
    """
    next_ms = delivery.next_attempt_ms
    if next_ms is not None and not delivery.test and webhook is not None and webhook.suspension is not None:
        next_ms = max(next_ms, webhook.suspension.probe_ms)
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
        "next_attempt_at": next_ms,
        "status": last.status if last else None,
        "duration_ms": last.duration_ms if last else None,
        "error": delivery.dropped or (last.error if last else None),
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
