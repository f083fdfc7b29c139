"""Webhooks and their deliveries as the management API shows them.

Law: a token is never shown, and a secret only in the answer that made it.
"""

from typing import Annotated

from msgspec import Meta

from actions.views import (
    NEXT,
    NULL,
    Count,
    DeliveryCursor,
    Moment,
    OurId,
    Success,
    UserId,
    View,
    example,
    including,
)
from core.rows import Attempt, Delivery, DeliveryState, Webhook, WebhookEvent
from languages.language_names import Language

ERROR_CLASSES = (
    *("timeout", "dns", "resolver", "tls", "refused", "reset", "connect", "protocol", "too_large", "blocked"),
    *("proxy", "internal", "expired", "overflow"),
)
_ERROR_PATTERN = f"^(?:http_[0-9]{{3}}|{'|'.join(ERROR_CLASSES)})$"
Secret = Annotated[
    str,
    Meta(pattern="^whsec_[A-Za-z0-9+/]{43}=$"),
    example("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD7U+tTLFsZJA="),
]
ErrorClass = Annotated[str, Meta(pattern=_ERROR_PATTERN), example("http_500")]
HttpStatus = Annotated[int, Meta(ge=100, le=999), example(204)]
Excerpt = Annotated[
    str, Meta(max_length=500, description="The beginning of the answer's body. Never trust it."), example("")
]


class SuspensionView(View):
    """A pause of an endpoint whose events failed again and again."""

    since: Moment
    reason: Annotated[ErrorClass, Meta(description="The error class of the last failure.")]
    probes_failed: Count
    next_probe_at: Moment


class WebhookView(View):
    """A webhook's settings without their secrets, and how its deliveries go."""

    url: Annotated[
        str,
        Meta(description="A chat platform's without its last part, which is a password."),
        example("https://example.com/votes"),
    ]
    has_token: Annotated[bool, Meta(description="True if a token is set; it is never shown."), example(True)]
    language: Annotated[
        Language | None,
        Meta(description="The language of messages to a chat platform; null for any other URL."),
        NULL,
    ]
    signed: Annotated[
        bool,
        Meta(
            description="True if requests are signed; the secret is shown when it is made, and never again."
        ),
        example(True),
    ]
    old_secret_until: Annotated[
        Count | None, Meta(description="The time when the secret before the rotation stops signing."), NULL
    ]
    events: Annotated[
        tuple[WebhookEvent, ...], Meta(description="What the endpoint is told of."), example(["vote"])
    ]
    saved_at: Moment
    pending: Annotated[Count, Meta(description="Deliveries that wait, or are tried again.")]
    failed_in_a_row: Annotated[
        Count, Meta(description="Events that failed for good since the last that was delivered."), example(0)
    ]
    suspension: Annotated[
        SuspensionView | None,
        Meta(description="The reason why nothing is sent at the moment; null while events flow."),
        NULL,
    ]


@including(WebhookView)
class WebhookAnswer(Success):
    """The settings without the token, and how deliveries go."""


@including(WebhookView)
class SavedWebhook(Success):
    """The settings without the token, and the secret if it is new."""

    secret: Annotated[
        Secret | None,
        Meta(description="The secret that signs requests, when this call has made it; else null."),
    ]


class RotatedSecret(Success):
    """The new signing secret."""

    secret: Annotated[Secret, Meta(description="Shown in this answer alone.")]


OutcomeStatus = Annotated[HttpStatus | None, Meta(description="The answer's status; null when none came.")]
OutcomeError = Annotated[
    ErrorClass | None,
    Meta(
        description="Null when delivered; `http_<status>` for a status outside 200 to 299; else why no "
        "answer came, or why nothing was sent.",
        examples=[None],
    ),
]


class AttemptView(View):
    """One request to an endpoint."""

    at: Moment
    duration_ms: Annotated[Count, example(84)]
    status: OutcomeStatus
    error: OutcomeError
    excerpt: Excerpt


class DeliveryView(View):
    """An event for an endpoint, with its latest attempts.

    `status`, `duration_ms`, `error` and `excerpt` are those of the last attempt; `error` may also say why
    there was none.
    """

    id: OurId
    type: Annotated[
        WebhookEvent, Meta(description="What it tells of. A test counts as a vote."), example("vote")
    ]
    user: Annotated[UserId | None, Meta(description="Null for a decision of a review.")]
    test: bool
    state: Annotated[DeliveryState, example("delivered")]
    queued_at: Moment
    next_attempt_at: Annotated[
        Count | None, Meta(description="Unix time in milliseconds; null once it is finished."), NULL
    ]
    status: OutcomeStatus
    duration_ms: Annotated[Count | None, example(84)]
    error: OutcomeError
    excerpt: Excerpt | None
    attempts: tuple[AttemptView, ...]


@including(DeliveryView)
class DeliveryAnswer(Success):
    """The delivery."""


class DeliveryPage(Success):
    """Deliveries of an endpoint, newest first."""

    deliveries: tuple[DeliveryView, ...]
    next: Annotated[DeliveryCursor | None, Meta(description=NEXT), NULL]


class Redelivered(Success):
    """The size of a redelivery."""

    redelivered: Annotated[Count, Meta(description="How many deliveries are sent again.")]


def webhook_view(webhook: Webhook, pending: int, now_ms: int) -> WebhookView:
    """Show a webhook for which `pending` deliveries wait."""
    return WebhookView(
        url=webhook.shown_url,
        has_token=webhook.token is not None,
        language=webhook.language,
        signed=webhook.secret is not None,
        old_secret_until=webhook.old_secret_until_ms if webhook.old_secret_until_ms > now_ms else None,
        events=webhook.taken,
        saved_at=webhook.saved_ms,
        pending=pending,
        failed_in_a_row=webhook.failed,
        suspension=suspension_view(webhook),
    )


def suspension_view(webhook: Webhook) -> SuspensionView | None:
    suspension = webhook.suspension
    if suspension is None:
        return None
    return SuspensionView(
        since=suspension.since_ms,
        reason=suspension.reason,
        probes_failed=suspension.times - 1,
        next_probe_at=suspension.probe_ms,
    )


def delivery_view(delivery: Delivery, webhook: Webhook | None) -> DeliveryView:
    """Show a delivery. While its webhook is suspended, only a test is attempted before the next probe."""
    next_ms = delivery.next_attempt_ms
    if next_ms is not None and not delivery.test and webhook is not None and webhook.suspension is not None:
        next_ms = max(next_ms, webhook.suspension.probe_ms)
    last = delivery.attempts[-1] if delivery.attempts else None
    return DeliveryView(
        id=delivery.id,
        type=delivery.event,
        user=delivery.user or None,
        test=delivery.test,
        state=delivery.state,
        queued_at=delivery.queued_ms,
        next_attempt_at=next_ms,
        status=last.status if last else None,
        duration_ms=last.duration_ms if last else None,
        error=delivery.dropped or (last.error if last else None),
        excerpt=last.excerpt if last else None,
        attempts=tuple(_attempt_view(attempt) for attempt in delivery.attempts),
    )


def _attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        at=attempt.at_ms,
        duration_ms=attempt.duration_ms,
        status=attempt.status,
        error=attempt.error,
        excerpt=attempt.excerpt,
    )
