"""The lists of moderators: the queue, the listings that one has claimed, and the last decisions.

`Ownership` knows all three, so no list walks through all listings.
"""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from actions.history import OwnerMessageOrNone, owner_message_view
from actions.review import QueuePage, QueueQuery, show_queue, waiting_listing
from actions.views import ActorName, KindName, ListingId, Moment, Success, View
from core.rows import Listing, Review
from forms.reading import read_query
from kinds.registry import kind_of
from languages.texts import Text
from listings import review
from pages.page import Page, PageCall, Shown

ListName = Literal["waiting", "mine", "decided"]


class DecidedListing(View):
    """A listing with the last decision on it."""

    ref: str
    kind: KindName
    id: ListingId
    name: str
    decision: Review
    at: Moment
    by: Annotated[ActorName | None, Meta(description="Null if the moderator is not known.")]
    reason: str | None
    message: OwnerMessageOrNone


class DecidedList(Success):
    """The last decisions, the newest first."""

    decided: tuple[DecidedListing, ...]


async def show(page: PageCall) -> Shown[QueuePage | DecidedList]:
    value, ownership = await _list(page), page.call.tools.ownership
    html = {
        "at": _at(page),
        "usual_wait_ms": ownership.usual_wait_ms,
        "waiting": len(ownership.queue),
        "is_complete": ownership.is_complete,
        "me": page.call.by,
    }
    return Shown(value, Text("Review"), html)


async def _list(page: PageCall) -> QueuePage | DecidedList:
    call, ownership = page.call, page.call.tools.ownership
    match _at(page):
        case "decided":
            refs = [ref for _, ref in reversed(ownership.decided)]
            return DecidedList(decided=tuple(decided_listing(call.state.listings.peek(ref)) for ref in refs))
        case "mine":
            mine = (call.state.listings[ref] for _, ref in ownership.claimed(call.by))
            queue = tuple(map(waiting_listing, mine))
            return QueuePage(usual_wait_ms=ownership.usual_wait_ms, queue=queue, next=None)
        case _:
            return await show_queue(call, read_query(QueueQuery, page.visit.request.query))


def _at(page: PageCall) -> ListName:
    """Return the list that the address names; the first one if it names none."""
    names: tuple[ListName, ...] = get_args(ListName)
    show = page.visit.request.query.get("show", "")
    return next((name for name in names if name == show), names[0])


def decided_listing(row: Listing) -> DecidedListing:
    """Return a listing with the last decision on it. An audit log may have forgotten who made it."""
    act = review.review_of(row)
    return DecidedListing(
        ref=row.ref,
        kind=kind_of(row.ref).plural,
        id=row.id,
        name=row.profile.name,
        decision=row.state,
        at=row.decided_ms or 0,
        by=act.by if act is not None else None,
        reason=row.reason,
        message=owner_message_view(row),
    )


QUEUE = Page(path="/review", template="review_queue", visitors="moderator", show=show)
