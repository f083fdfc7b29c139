"""The tail of the journal as events, for the operator."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from actions.views import Count, Moment, Positive, Success, View
from core.refusals import Invalid
from handlers.reply import Reply, success
from handlers.request import Request
from languages.said import Fault
from watchers.journal_tail import EVENTS, JournalTail


class JournalQuery(Struct, frozen=True):
    """The query of the journal's tail. A parameter that is None was left out."""

    before: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="The `next` of the page before.")
    ] = None


class EventView(View):
    """An event of the journal."""

    position: Annotated[Count, Meta(description="Of its record. Events of one record happen together.")]
    at: Annotated[Moment, Meta(description="Unix time in milliseconds when this node committed it.")]
    type: Annotated[str, Meta(description="Its name and version.")]
    ref: Annotated[
        str | None, Meta(description="The listing that it is about: `bots/<id>` or `servers/<id>`.")
    ]
    text: Annotated[str, Meta(description="Some of its fields. No secret is among them.")]


class JournalPage(Success):
    """Events of the journal, the newest first."""

    events: Annotated[
        tuple[EventView, ...],
        Meta(description=f"The last {EVENTS} of this process can be had, page by page, newest first."),
    ]
    next: Annotated[
        Positive | None, Meta(description="Give it as `before` to get older events; null at the end.")
    ]


class DebugJournal:
    def __init__(self, tail: JournalTail) -> None:
        self._tail = tail

    def page(self, request: Request) -> Reply:
        return success(self.view(journal_query(request.query).before))

    def view(self, before: int | None = None) -> JournalPage:
        found, following = self._tail.page(before)
        events = tuple(
            EventView(position=each.position, at=each.at_ms, type=each.type, ref=each.ref, text=each.text)
            for each in found
        )
        return JournalPage(events=events, next=following)


def journal_query(query: Mapping[str, str]) -> JournalQuery:
    """Read the query. Raises Invalid."""
    before = query.get("before")
    if before is None:
        return JournalQuery()
    if not (before.isascii() and before.isdigit() and len(before) <= 15 and int(before) >= 1):
        raise Invalid({"before": Fault("not_a_cursor")})
    return JournalQuery(int(before))
