"""The newest warnings and errors of the log, and the newest events of the journal, for the operator."""

from typing import Annotated

from msgspec import Meta

from actions.query_forms import ABOUT_AFTER, IS_CURSOR
from actions.views import NULL, Count, Moment, Positive, Success, View, example
from forms.fields import Form
from forms.rules import Between
from kinds.registry import KINDS, SAMPLE_REF
from operators.gateway_parts import GatewayParts
from watchers.journal_tail import EVENTS
from watchers.recent_errors import LINES


class ErrorLineView(View):
    """A warning or an error that was logged."""

    at: Moment
    level: Annotated[str, Meta(description="`WARNING`, `ERROR` or `CRITICAL`."), example("WARNING")]
    logger: Annotated[
        str, Meta(description="The part of the program that logged it."), example("webhook.suspension_log")
    ]
    text: Annotated[
        str,
        Meta(
            examples=[
                f"the endpoint of {SAMPLE_REF} is suspended: http_500; its webhooks wait, and one "
                "probes it in 60 s"
            ]
        ),
    ]
    traceback: Annotated[str | None, NULL]
    request_id: Annotated[
        str | None,
        Meta(description="The `x-request-id` of the answer to the request that caused it; null without one."),
        NULL,
    ]


class ErrorLines(Success):
    """The last warnings and errors, the newest first."""

    errors: Annotated[
        tuple[ErrorLineView, ...], Meta(description=f"At most {LINES}. Secrets are struck out.")
    ]


def logged_errors(parts: GatewayParts) -> ErrorLines:
    return ErrorLines(errors=tuple(ErrorLineView(**line._asdict()) for line in parts.errors.lines))


class JournalQuery(Form, frozen=True):
    """The query of the journal's tail. A parameter that is None was left out."""

    before: Annotated[Annotated[int, Between(1)] | None, IS_CURSOR, ABOUT_AFTER] = None


class EventView(View):
    """An event of the journal."""

    position: Annotated[Count, Meta(description="Of its record. Events of one record happen together.")]
    at: Annotated[Moment, Meta(description="Unix time in milliseconds when this node committed it.")]
    type: Annotated[str, Meta(description="Its name and version."), example("vote_cast.1")]
    ref: Annotated[
        str | None,
        Meta(description=f"The listing that it is about: {' or '.join(f'`{kind}/<id>`' for kind in KINDS)}."),
        example(SAMPLE_REF),
    ]
    text: Annotated[
        str,
        Meta(description="Some of its fields. No secret is among them."),
        example("user 323456789012345678, count 3"),
    ]


class JournalPage(Success):
    """Events of the journal, the newest first."""

    events: Annotated[
        tuple[EventView, ...],
        Meta(description=f"The last {EVENTS} of this process can be had, page by page, newest first."),
    ]
    next: Annotated[
        Positive | None, Meta(description="Give it as `before` to get older events; null at the end."), NULL
    ]


def newest_events(parts: GatewayParts, query: JournalQuery) -> JournalPage:
    found, following = parts.tail.page(query.before)
    return JournalPage(events=tuple(EventView(**each._asdict()) for each in found), next=following)
