"""Deliveries of a webhook: send a test, read the log, send again. Invariant: every kind of error has a text.

A test and a redelivery take the path of a real vote. Their answers wait for the first attempt, up to a limit.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.query_forms import DeliveriesQuery
from actions.views import (
    NEXT,
    Count,
    DeliveryCursor,
    Moment,
    OurId,
    Success,
    UserId,
    View,
    described,
    example,
    including,
)
from core.events import Event
from core.rows import Delivery, DeliveryState, Webhook, WebhookEvent
from forms.fields import Nothing
from languages.texts import Text, Words
from listings.forms import FailedSince, NewTest
from listings.queries import deliveries_page
from listings.rules import listing_of
from listings.webhooks import delivery_of, redeliver, redeliver_failed, send_test, webhook_of

_OURS = Text("something failed on our side; it does not count against you")
ERRORS: Mapping[str, Text] = {
    "timeout": Text("the answer was not complete in time"),
    "dns": Text("the host name of the address was not found"),
    "resolver": _OURS,
    "tls": Text("TLS failed: look at the certificate, its date and its name"),
    "refused": Text("nothing listens on the port"),
    "reset": Text("the connection broke before the answer was complete"),
    "connect": Text("no connection could be made"),
    "protocol": Text("the answer was not HTTP"),
    "too_large": Text("the headers of the answer were too long"),
    "blocked": Text("webhooks may not go to this address"),
    "proxy": _OURS,
    "internal": _OURS,
    "expired": Text("it waited for too long, and was given up"),
    "overflow": Text("too many deliveries were waiting, so this one was given up"),
}
"""The errors of deliveries with their texts. There is also `http_503`, for a status outside 200 to 299."""
ErrorClass = Annotated[str, Meta(pattern=f"^(?:http_[0-9]{{3}}|{'|'.join(ERRORS)})$"), example("http_500")]
Excerpt = Annotated[
    str,
    Meta(
        max_length=500,
        description="The beginning of the answer's body. Do not trust it: the endpoint chose it.",
    ),
    example(""),
]
OutcomeStatus = Annotated[
    Annotated[int, Meta(ge=100, le=999), example(204)] | None,
    described("The answer's status; null if no answer came."),
]
OutcomeError = Annotated[
    ErrorClass | None,
    described(
        "Null if the delivery succeeded; `http_<status>` for a status outside 200 to 299; "
        "otherwise the reason why no answer came, or why nothing was sent.",
        None,
    ),
]


class AttemptView(View, rename={"at_ms": "at"}):
    """One request to an endpoint."""

    at_ms: Moment
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
        WebhookEvent, described("The event that the delivery reports. A test counts as a vote.", "vote")
    ]
    user: Annotated[UserId | None, described("The voter; null for the decision of a review.")]
    test: bool
    state: Annotated[DeliveryState, example("delivered")]
    queued_at: Moment
    next_attempt_at: Annotated[
        Count | None, described("Unix time in milliseconds; null once the delivery is finished.", None)
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
    next: Annotated[DeliveryCursor | None, described(NEXT, None)]


class Redelivered(Success):
    """The size of a redelivery."""

    redelivered: Annotated[Count, described("The number of deliveries that are sent again.")]


def text_of_error(error: str) -> Words:
    """Return the text of an error, or the error itself if it is one of another version."""
    status = error.removeprefix("http_")
    if status != error:
        return Text("the answer had status {status}", status=status)
    return ERRORS.get(error, error)


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
        attempts=tuple(AttemptView(**asdict(attempt)) for attempt in delivery.attempts),
    )


async def test(call: Call, form: NewTest) -> DeliveryAnswer:
    """Send a test that names a user as the voter, and return it after its first attempt."""
    delivery_id, user = call.tools.new_id(), form.user or listing_of(call.state, call.ref).owner_id
    events = send_test(call.state, call.ref, user, delivery_id=delivery_id, now_ms=call.now_ms)
    return await _attempted(call, delivery_id, events)


def index(call: Call, form: DeliveriesQuery) -> DeliveryPage:
    """Return a page of the log, newest first."""
    webhook = listing_of(call.state, call.ref).webhook
    found, following = deliveries_page(
        call.state, call.ref, after=form.after, limit=form.limit, only=form.state, kind=form.type
    )
    return DeliveryPage(deliveries=tuple(delivery_view(row, webhook) for row in found), next=following)


async def resend(call: Call, _: Nothing) -> DeliveryAnswer:
    """Send a finished delivery again, and return it after its first new attempt."""
    delivery_id = call.ids[1]
    events = redeliver(call.state, call.ref, delivery_id, call.tools.webhooks, call.now_ms)
    return await _attempted(call, delivery_id, events)


async def resend_failed(call: Call, form: FailedSince) -> Redelivered:
    """Send failed deliveries again, without a wait for their attempts."""
    events = redeliver_failed(call.state, call.ref, form.failed_since, call.tools.webhooks, call.now_ms)
    return await call.commit(events, lambda: Redelivered(redelivered=len(events)))


async def _attempted(call: Call, delivery_id: str, events: Sequence[Event]) -> DeliveryAnswer:
    """Queue a delivery, and return it after its next attempt. Raises Refusal if it was removed meanwhile."""
    with call.tools.expecting(delivery_id) as attempt:
        queued = await call.commit(events, lambda: _answer(call, delivery_id))
        if _is_held(call, delivery_id):
            return queued
        await attempt()
    return _answer(call, delivery_id)


def _answer(call: Call, delivery_id: str) -> DeliveryAnswer:
    delivery = delivery_of(call.state, call.ref, delivery_id)
    return DeliveryAnswer(**asdict(delivery_view(delivery, listing_of(call.state, call.ref).webhook)))


def _is_held(call: Call, delivery_id: str) -> bool:
    """Return true if the delivery waits until its endpoint recovers. A test never does."""
    listing, delivery = call.state.listings.get(call.ref), call.state.deliveries.pending.get(delivery_id)
    suspended = listing is not None and listing.webhook is not None and listing.webhook.suspension is not None
    return suspended and delivery is not None and not delivery.test


def find_webhook(call: Call) -> Webhook:
    """Return the webhook of the path. Raises Refusal."""
    return webhook_of(call.state, call.ref)


TEST_WEBHOOK = Action(
    name="test{Thing}Webhook",
    run=test,
    finds=find_webhook,
    access=Access("webhook"),
    route="POST /manage/{kind}/{id}/webhook/test",
    of="webhook",
    summary="Send a test to a {thing}'s webhook",
    about=(
        "The test is sent like a real vote. The answer comes after the first attempt, whether it "
        "succeeded or not, or when the attempt takes too long. Without a `user`, it names the owner of the "
        "listing as the voter."
    ),
    outcome="The delivery after its first attempt.",
    refuses=("no_such_webhook", "too_many_tests"),
    command=Command(
        "webhook test",
        "Send a test to the webhook of a listing.\n\nIt names USER_ID as the voter, or else the owner of the "
        "listing. The answer comes after the first attempt.",
        {"user": Option(argument="[user_id]")},
    ),
)
LIST_DELIVERIES = Action(
    name="list{Thing}Deliveries",
    run=index,
    access=Access("webhook"),
    route="GET /manage/{kind}/{id}/webhook/deliveries",
    of="webhook",
    summary="List a {thing}'s deliveries",
    about=(
        "The list has the deliveries that are still kept, with their attempts, in pages. The "
        "newest comes first."
    ),
    outcome="A page of deliveries.",
    command=Command("webhook deliveries"),
)
REDELIVER = Action(
    name="redeliver{Thing}Delivery",
    run=resend,
    finds=find_webhook,
    access=Access("webhook"),
    route="POST /manage/{kind}/{id}/webhook/deliveries/{delivery_id}/redeliver",
    of="webhook",
    summary="Resend a delivery",
    about=(
        "The delivery keeps its id and gets a new round of attempts. The answer comes after the "
        "first of them, or at once while the endpoint is suspended."
    ),
    outcome="The delivery after its first new attempt.",
    refuses=("no_such_webhook", "no_such_delivery", "delivery_pending", "too_many_pending"),
    command=Command("webhook redeliver"),
)
REDELIVER_FAILED = Action(
    name="redeliverFailed{Thing}Deliveries",
    run=resend_failed,
    finds=find_webhook,
    access=Access("webhook"),
    route="POST /manage/{kind}/{id}/webhook/deliveries/redeliver",
    of="webhook",
    summary="Resend failed deliveries",
    about=(
        "Every delivery in the log that has failed since the given time is sent again under its "
        "own id, in the order of votes. Tests are left out. If the queue is full, the rest stays "
        "as it is. The answer comes at once; the log shows the outcome of each delivery."
    ),
    outcome="The number of deliveries that are sent again.",
    refuses=("no_such_webhook",),
    command=Command("webhook redeliver"),
)
DELIVERY_ACTIONS = (TEST_WEBHOOK, LIST_DELIVERIES, REDELIVER, REDELIVER_FAILED)
