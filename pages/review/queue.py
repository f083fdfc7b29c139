"""The lists of moderators: the queue, reported listings, own claims, and the last decisions.

`Ownership` knows all of them in their orders, so no list walks through all listings. The same list stands
beside a listing under review. Its filters are in the address, and go on to the next listing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args
from urllib.parse import urlencode

from msgspec import Meta

from actions.history import OwnerMessageOrNone, owner_message_view
from actions.reports import ReportedPage, reported_listing
from actions.review import QueuePage, QueueQuery, cursor_of, place_of, waiting_listing
from actions.views import ActorName, KindName, ListingId, Moment, Success, View
from core.actors import Actor, user_of
from core.clock import MS_PER_DAY
from core.rows import Listing, Review
from forms.reading import read_query
from kinds.registry import BY_PLURAL, kind_of
from languages.texts import Text
from listings import review
from listings.owners import is_proven
from pages.page import Page, PageCall, Shown
from pages.public.lists import icon_of
from pages.visitors import names_of
from search.paging import page_of

ListName = Literal["waiting", "reported", "mine", "decided"]
NEWEST_FIRST: frozenset[ListName] = frozenset({"reported", "decided"})
AGES: Mapping[str, Text] = {
    "1": Text("1 day or more"),
    "3": Text("3 days or more"),
    "7": Text("7 days or more"),
}
"""The minimum ages of the filter, in days."""
BESIDE, BEFORE = 40, 5
"""The number of listings shown beside the one under review, and how many of them come before it."""
Place = tuple[int, str]
"""The place of a listing in a list: the time that orders it (Unix ms), and the ref."""


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


class DeskList(NamedTuple):
    """A list of moderators with its filters, as an address names them.

    Args:
        kind: the kind of the listings; empty for all kinds.
        age: the least age, a name in `AGES`; empty for every age.
    """

    show: ListName = "waiting"
    kind: str = ""
    age: str = ""

    def query(self, **changed: str) -> str:
        """Return the query of an address, with other filters."""
        named = {**self._asdict(), **changed}
        given = {name: value for name, value in named.items() if value and value != "waiting"}
        return f"?{urlencode(given)}" if given else ""

    def takes(self, place: Place, now_ms: int) -> bool:
        at_ms, ref = place
        is_old = not self.age or now_ms - review.since_of(at_ms) >= int(self.age) * MS_PER_DAY
        return is_old and (not self.kind or ref.startswith(f"{self.kind}/"))


class DeskRow(NamedTuple):
    """A listing in a list. `at_ms` is the time since which it waits, of its newest report, or of the
    decision. `decision` is set in the list of decisions alone."""

    ref: str
    kind: str
    id: str
    name: str
    icon_url: str | None
    at_ms: int
    is_change: bool
    is_again: bool
    reports: int
    proven: bool | None
    claimed_by: Actor | None
    decision: Review | None


async def show(page: PageCall) -> Shown[QueuePage | ReportedPage | DecidedList]:
    call = page.call
    await call.tools.in_slices(call.tools.ownership.survey())
    wanted, query = wanted_list(page), read_query(QueueQuery, page.visit.request.query)
    found = places(page, wanted)
    behind = found if query.after is None else _behind(found, place_of(query.after), wanted.show)
    shown = page_of(behind, query.limit, cursor_of)
    rows = [call.state.listings.peek(ref) for _, ref in shown.rows]
    html = {
        **desk_values(page, wanted, rows),
        "next": f"/review{wanted.query(after=shown.next)}" if shown.next is not None else None,
        "first": f"/review/{shown.rows[0][1]}{wanted.query()}" if shown.rows else None,
        "usual_wait_ms": call.tools.ownership.usual_wait_ms,
        "is_complete": call.tools.ownership.is_complete,
    }
    value = _value(page, wanted, rows, shown.next)
    if isinstance(value, DecidedList):
        deciders = [user for each in value.decided if (user := user_of(Actor(each.by or ""))) is not None]
        html["names"] = names_of(call.state, deciders)
    return Shown(value, Text("Review"), html)


def _value(
    page: PageCall, wanted: DeskList, rows: Sequence[Listing], following: str | None
) -> QueuePage | ReportedPage | DecidedList:
    match wanted.show:
        case "decided":
            return DecidedList(decided=tuple(map(decided_listing, rows)))
        case "reported":
            return ReportedPage(listings=tuple(map(reported_listing, rows)), next=following)
        case _:
            usual_wait_ms = page.call.tools.ownership.usual_wait_ms
            queue = tuple(map(waiting_listing, rows))
            return QueuePage(usual_wait_ms=usual_wait_ms, queue=queue, next=following)


def wanted_list(page: PageCall) -> DeskList:
    """Return the list that the address names. Ignore filters that do not exist."""
    query = page.visit.request.query
    names: tuple[ListName, ...] = get_args(ListName)
    show = next((name for name in names if name == query.get("show")), names[0])
    kind, age = query.get("kind", ""), query.get("age", "")
    return DeskList(show, kind if kind in BY_PLURAL else "", age if age in AGES else "")


def places(page: PageCall, wanted: DeskList) -> Sequence[Place]:
    """Return the places of a list, in its order."""
    ownership, now_ms = page.call.tools.ownership, page.call.now_ms
    match wanted.show:
        case "decided":
            found: Sequence[Place] = ownership.decided[::-1]
        case "reported":
            found = _reported(page)[::-1]
        case "mine":
            found = ownership.claimed(page.call.by)
        case _:
            found = ownership.queue
    if not wanted.kind and not wanted.age:
        return found
    return [place for place in found if wanted.takes(place, now_ms)]


def _reported(page: PageCall) -> Sequence[Place]:
    """Return the reported listings that the moderator may decide about: none of the moderator's own."""
    own = {*page.call.tools.ownership.refs_of(page.person.id)}
    return [place for place in page.call.tools.ownership.reported if place[1] not in own]


def _behind(found: Sequence[Place], at: Place, show: ListName) -> Iterator[Place]:
    """Yield the places behind another one, which may be gone."""
    return (place for place in found if (place < at if show in NEWEST_FIRST else place > at))


def place_in(row: Listing, show: ListName) -> Place:
    """Return the place of a listing in a list, now or before a decision about it."""
    match show:
        case "decided":
            return row.decided_ms or 0, row.ref
        case "reported":
            return row.open_reports[-1].at_ms if row.open_reports else 0, row.ref
        case _:
            return review.place_ms(row), row.ref


def next_address(page: PageCall, row: Listing) -> str | None:
    """Return the address of the listing to look at after this one; None if there is none.

    It is the first behind this one that no other moderator has claimed; behind the last comes the first.
    """
    wanted = wanted_list(page)
    if wanted.show == "decided":
        wanted = wanted._replace(show="waiting")
    found = places(page, wanted)
    for _, ref in (*_behind(found, place_in(row, wanted.show), wanted.show), *found):
        claim = review.claim_of(page.call.state.listings.peek(ref))
        if ref != row.ref and (claim is None or claim.by == page.call.by):
            return f"/review/{ref}{wanted.query()}"
    return None


def last_address(page: PageCall, row: Listing) -> str | None:
    """Return the address of the listing that comes before this one; None if it is the first."""
    wanted = wanted_list(page)
    place = place_in(row, wanted.show)
    for each in reversed(places(page, wanted)):
        if each != place and (each > place) == (wanted.show in NEWEST_FIRST):
            return f"/review/{each[1]}{wanted.query()}"
    return None


def rows_beside(page: PageCall, row: Listing) -> Sequence[Listing]:
    """Return the listings to show beside this one: those around it in its list."""
    wanted, listings = wanted_list(page), page.call.state.listings
    found = places(page, wanted)
    at = next((number for number, (_, ref) in enumerate(found) if ref == row.ref), 0)
    start = max(at - BEFORE, 0)
    return [listings.peek(ref) for _, ref in found[start : start + BESIDE]]


def desk_values(page: PageCall, wanted: DeskList, rows: Sequence[Listing]) -> Mapping[str, Any]:
    """Return the values of the template that draw a list with its filters."""
    shown = [_desk_row(page, row, wanted.show) for row in rows]
    claimers = {user for row in shown if row.claimed_by is not None and (user := user_of(row.claimed_by))}
    queue = page.call.tools.ownership.queue
    return {
        "wanted": wanted,
        "rows": shown,
        "names": names_of(page.call.state, claimers),
        "counts": list_counts(page),
        "oldest_ms": min((review.since_of(at_ms) for at_ms, _ in queue[:1]), default=None),
        "ages": AGES,
        "me": page.call.by,
    }


def list_counts(page: PageCall) -> Mapping[str, int]:
    """Return the number of listings in each list."""
    ownership = page.call.tools.ownership
    return {
        "waiting": len(ownership.queue),
        "reported": len(_reported(page)),
        "mine": len(ownership.claimed(page.call.by)),
        "flagged": len(page.call.state.listings.flagged),
    }


def _desk_row(page: PageCall, row: Listing, show: ListName) -> DeskRow:
    kind, claim = kind_of(row.ref), review.claim_of(row)
    at_ms = place_in(row, show)[0]
    return DeskRow(
        ref=row.ref,
        kind=kind.plural,
        id=row.id,
        name=row.latest.name,
        icon_url=icon_of(page, row, row.latest),
        at_ms=review.since_of(at_ms),
        is_change=row.change is not None,
        is_again=row.review is not None and row.review.denied_profile is not None,
        reports=len(row.open_reports) if page.person.id not in (row.owner_id, *row.extra_owners) else 0,
        proven=is_proven(row) if kind.facts is not None else None,
        claimed_by=claim.by if claim is not None else None,
        decision=row.state if show == "decided" else None,
    )


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
