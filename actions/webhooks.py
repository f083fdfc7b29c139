"""The webhook of a listing: its settings, its health, and its signing secret.

Invariant: a token is never shown, and a secret only in the answer that made it.
"""

from collections.abc import Sequence
from typing import Annotated, get_args

from msgspec import Meta
from msgspec.structs import asdict, replace

from actions.action import Access, Action, Call, Command, Option
from actions.deliveries import ErrorClass, find_webhook
from actions.keys import OVERLAP
from actions.views import Count, Moment, Success, View, described, example, including
from core.rows import Webhook, WebhookEvent
from forms.fields import Nothing
from forms.reading import not_a_choice
from languages.language_names import Language
from languages.refusals import Invalid
from listings.forms import Overlap, WebhookSettings
from listings.rules import listing_of
from listings.webhooks import (
    EVENT_PARTS,
    lift_suspension,
    probe_endpoint,
    remove_webhook,
    rotate_secret,
    save_webhook,
)

Secret = Annotated[
    str,
    Meta(pattern="^whsec_[A-Za-z0-9+/]{43}=$"),
    example("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD7U+tTLFsZJA="),
]


class SuspensionView(View):
    """A pause of an endpoint whose events failed again and again."""

    since: Moment
    reason: Annotated[ErrorClass, described("The error class of the last failure.")]
    probes_failed: Count
    next_probe_at: Moment


class WebhookView(View):
    """A webhook's settings without their secrets, and how its deliveries go."""

    url: Annotated[
        str,
        described(
            "The URL. For a chat platform's webhook, the last part is left out, because it is a password.",
            "https://example.com/votes",
        ),
    ]
    has_token: Annotated[bool, described("True if a token is set. The token is never shown."), example(True)]
    language: Annotated[
        Language | None,
        described("The language of messages to a chat platform; null for any other URL.", None),
    ]
    signed: Annotated[
        bool,
        described("True if requests are signed. The secret is shown only when it is made."),
        example(True),
    ]
    old_secret_until: Annotated[
        Count | None, described("The time when the secret before the rotation stops signing.", None)
    ]
    events: Annotated[tuple[WebhookEvent, ...], described("The events that the endpoint gets.", ["vote"])]
    saved_at: Moment
    pending: Annotated[Count, described("Deliveries that wait for an attempt.")]
    failed_in_a_row: Annotated[
        Count, described("Events that have failed for good since the last success.", 0)
    ]
    suspension: Annotated[
        SuspensionView | None,
        described("The pause of the endpoint, with its reason; null if events are sent.", None),
    ]


@including(WebhookView)
class WebhookAnswer(Success):
    """The settings without the token, and how deliveries go."""


@including(WebhookView)
class SavedWebhook(Success):
    """The settings without the token, and the secret if it is new."""

    secret: Annotated[
        Secret | None, described("The secret that signs requests, if this call has made it; else null.")
    ]


class RotatedSecret(Success):
    """The new signing secret."""

    secret: Annotated[Secret, described("The secret, shown only in this answer.")]


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


def offered_events(call: Call) -> Sequence[WebhookEvent]:
    """Return the events that happen here to listings of the kind."""
    kind, every = call.listing_kind, EVENT_PARTS.items()
    absent = {event for event, part in every if not call.tools.offers(kind, part)}
    return [each for each in get_args(WebhookEvent) if each not in absent]


def _refuse_absent(call: Call, form: WebhookSettings) -> None:
    """Raise Invalid for an event that never happens here."""
    offered = offered_events(call)
    for number, event in enumerate(form.events or ()):
        if event not in offered:
            raise Invalid({f"events.{number}": not_a_choice(offered)})


async def save(call: Call, form: WebhookSettings) -> SavedWebhook:
    """Replace the settings, and return them with the signing secret if this call has made it."""
    before = listing_of(call.state, call.ref).webhook
    _refuse_absent(call, form)
    events = save_webhook(call.state, call.ref, form, call.tools.webhooks, call.now_ms, by=call.by)

    def saved() -> SavedWebhook:
        is_new = before is None or before.secret is None
        return SavedWebhook(**asdict(_view(call)), secret=find_webhook(call).secret if is_new else None)

    return await call.commit(events, saved)


def show(call: Call, _: None) -> WebhookAnswer:
    """Return the settings, and how deliveries go."""
    return WebhookAnswer(**asdict(_view(call)))


def _view(call: Call) -> WebhookView:
    view = webhook_view(find_webhook(call), call.state.deliveries.waiting(call.ref), call.now_ms)
    offered = offered_events(call)
    return replace(view, events=tuple(each for each in view.events if each in offered))


async def remove(call: Call, _: None) -> Success:
    """Remove the webhook with its deliveries."""
    return await call.done(remove_webhook(call.state, call.ref, call.now_ms, by=call.by))


async def resume(call: Call, _: Nothing) -> WebhookAnswer:
    """Lift the suspension. The deliveries that wait leave at the endpoint's pace."""
    events = lift_suspension(call.state, call.ref, call.now_ms, by=call.by)
    return await call.commit(events, lambda: show(call, None))


async def probe(call: Call, _: Nothing) -> WebhookAnswer:
    """Probe a suspended endpoint now, and return its health after the attempt."""
    events = probe_endpoint(call.state, call.ref, call.now_ms, by=call.by)
    with call.tools.expecting(call.ref) as attempt:
        await call.done(events)
        await attempt()
    return show(call, None)


async def rotate(call: Call, form: Overlap) -> RotatedSecret:
    """Make a new signing secret, and return it."""
    secret, overlap_ms = call.tools.webhooks.new_secret(), form.overlap_seconds * 1_000
    events = rotate_secret(
        call.state, call.ref, secret, overlap_ms=overlap_ms, now_ms=call.now_ms, by=call.by
    )
    return await call.commit(events, lambda: RotatedSecret(secret=secret))


SAVE_WEBHOOK = Action(
    name="save{Thing}Webhook",
    run=save,
    access=Access("webhook", fresh=True),
    route="PUT /manage/{kind}/{id}/webhook",
    of="webhook",
    summary="Set a {thing}'s webhook",
    about=(
        "Replaces URL, token, language and events together. A field that is left out is removed; "
        "without events, the endpoint gets only votes. The first call shows the secret that "
        "signs requests. A suspension ends."
    ),
    outcome="The settings, without the token.",
    command=Command(
        "webhook set",
        "Set the webhook of a listing.\n\nIt replaces URL, Authorization header, language and events "
        "together. Without an event it gets only votes. The secret that signs requests is shown "
        "the first time only.",
        {
            "url": Option(),
            "token": Option(
                "--auth-file", reads="file", help="File with the Authorization header; - is standard input."
            ),
            "language": Option("--language", help="Language of the messages to a chat platform."),
            "events": Option(
                "--event",
                reads="texts",
                help="Event that the endpoint gets, such as vote or vote.struck. Repeat it for several.",
            ),
        },
    ),
)
SHOW_WEBHOOK = Action(
    name="show{Thing}Webhook",
    run=show,
    access=Access("webhook"),
    route="GET /manage/{kind}/{id}/webhook",
    of="webhook",
    summary="Show a {thing}'s webhook",
    about="The answer never shows the token.",
    outcome="The settings without the token, and the state of deliveries.",
    refuses=("no_such_webhook",),
    command=Command("webhook show"),
)
REMOVE_WEBHOOK = Action(
    name="remove{Thing}Webhook",
    run=remove,
    access=Access("webhook", fresh=True),
    route="DELETE /manage/{kind}/{id}/webhook",
    of="webhook",
    summary="Remove a {thing}'s webhook",
    about="Pending deliveries are deleted, and so is the log of finished ones.",
    outcome="Confirmation that the webhook is removed.",
    refuses=("no_such_webhook",),
    command=Command(
        "webhook remove",
        loses="This removes the webhook of {id}, its pending deliveries and its log.",
    ),
)
RESUME_WEBHOOK = Action(
    name="resume{Thing}Webhook",
    run=resume,
    finds=find_webhook,
    access=Access("webhook"),
    route="POST /manage/{kind}/{id}/webhook/resume",
    of="webhook",
    summary="Resume a suspended endpoint",
    about="All deliveries that wait go out again, at the endpoint's pace. Earlier failures no longer count.",
    outcome="The settings, and the state of deliveries.",
    refuses=("no_such_webhook", "not_suspended"),
    command=Command("webhook resume"),
)
PROBE_WEBHOOK = Action(
    name="probe{Thing}Webhook",
    run=probe,
    finds=find_webhook,
    access=Access("webhook"),
    route="POST /manage/{kind}/{id}/webhook/probe",
    of="webhook",
    summary="Probe a suspended endpoint now",
    about=(
        "Sends one of the deliveries that wait. If the endpoint accepts it, the suspension ends; "
        "if not, the next suspension is longer. The answer comes after the attempt, or when the "
        "attempt takes too long."
    ),
    outcome="The settings, and the state of deliveries after the probe.",
    refuses=("no_such_webhook", "not_suspended", "nothing_to_probe"),
    command=Command("webhook probe"),
)
ROTATE_SECRET = Action(
    name="rotate{Thing}WebhookSecret",
    run=rotate,
    finds=find_webhook,
    access=Access("webhook", fresh=True),
    route="POST /manage/{kind}/{id}/webhook/secret/rotate",
    of="webhook",
    summary="Rotate a webhook's signing secret",
    about="The old secret stops at once, or signs beside the new one for the overlap that you choose.",
    outcome="The new secret.",
    refuses=("no_such_webhook", "not_signed"),
    command=Command(
        "webhook rotate-secret",
        "Rotate a webhook's signing secret.\n\nThe old secret stops at once, unless you name an "
        "overlap. The new one is shown only this once.",
        {"overlap_seconds": OVERLAP},
    ),
)
WEBHOOK_ACTIONS = (
    *(SAVE_WEBHOOK, SHOW_WEBHOOK, REMOVE_WEBHOOK),
    *(RESUME_WEBHOOK, PROBE_WEBHOOK, ROTATE_SECRET),
)
