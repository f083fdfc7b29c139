"""The first page of a listing: how it stands, and what is missing.

Here its owner also proves to control the bot: the public description of the application at the platform must
hold a code that only this deployment can make. The owner of a server has its conditions checked again.

Invariant: the page shows the check that is in the listing, and a check changes nothing else.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from actions.action import Access
from actions.history import ACTION_NAMES, ActView, act_views
from actions.listing_views import listing_view
from actions.views import Count, KindName, Moment, View
from core.rows import Listing
from kinds.registry import kind_of
from listings import eligibility
from listings.owners import is_proven, prove_ownership
from listings.review import review_of, waiting_since, waits
from listings.rules import listing_of
from pages.owner.take_over import description_now
from pages.page import AnyPage, Page, PageCall, Post, Shown
from pages.shared_texts import CONDITIONS, done
from pages.site_tools import Submissions
from pages.visitors import names_of
from people.permissions import Right

Gap = Literal["ownership", "key", "webhook", "counts"]
"""Something that a listing could have, but has not."""
_WHO_FILLS: Mapping[Gap, Right] = {
    "ownership": "prove",
    "key": "keys",
    "webhook": "webhook",
    "counts": "keys",
}


class ListingStanding(View):
    """The standing of a listing, for its owners."""

    kind: KindName
    listing: View
    place: Annotated[int | None, Meta(description="The place in the queue, from 1.")]
    waiting_since: Annotated[
        Moment | None,
        Meta(description="The time when the listing, or a change of it, began to wait for a decision."),
    ]
    usual_wait_ms: Annotated[
        Count | None, Meta(description="The median time of recent decisions; null while too few are known.")
    ]
    is_proven: bool
    missing: tuple[Gap, ...]
    may: Annotated[tuple[Right, ...], Meta(description="The rights of the visitor.")]
    history: Annotated[tuple[ActView, ...], Meta(description="The newest act first.")]
    success: bool = True


def show(page: PageCall) -> Shown[ListingStanding]:
    row, asked, standing = page.row, page.site.submissions, _standing(page)
    owners, decision = (row.owner_id, *row.extra_owners), review_of(row)
    is_unproven = "prove" in page.rights and "ownership" in standing.missing
    html: Mapping[str, Any] = {
        "is_withdrawn": decision is not None and decision.action == "withdrawn",
        "gaps": [gap for gap in standing.missing if _WHO_FILLS[gap] in page.rights],
        "owners": owners,
        "names": names_of(page.call.state, owners),
        "act_names": ACTION_NAMES,
        "me": f"users/{page.person.id}",
        "conditions": CONDITIONS,
        "hides_ms": hides_ms(asked, row),
        "bot_link": bot_link(asked, row),
        "code": asked.code_of(row.ref, row.owner_id) if is_unproven else None,
    }
    return Shown(standing, html=html)


async def prove(page: PageCall, _: None) -> None:
    """Ask the platform for the bot's description, and look for the code in it."""
    description = await description_now(page)
    call = page.call.rechecked()
    row = listing_of(call.state, call.ref)
    code = page.site.submissions.code_of(row.ref, row.owner_id)
    events = prove_ownership(row, description, code, call.now_ms, by=call.by)
    await call.commit(events, lambda: None)


async def check(page: PageCall, _: None) -> None:
    """Ask the chat platform, and keep what it says."""
    asked, row = page.site.submissions, page.row
    now = await asked.checking.check(page.person.id, row.id)
    call = page.call.rechecked()
    events = eligibility.check(call.state, row.ref, now, call.now_ms, asked.grace_ms, by=call.by)
    await call.commit(events, lambda: None)


def _standing(page: PageCall) -> ListingStanding:
    row, ownership = page.row, page.call.tools.ownership
    return ListingStanding(
        kind=kind_of(row.ref).plural,
        listing=listing_view(row),
        place=ownership.place(row.ref),
        waiting_since=waiting_since(row) if waits(row) else None,
        usual_wait_ms=ownership.usual_wait_ms,
        is_proven=is_proven(row),
        missing=gaps_of(row),
        may=tuple(sorted(page.rights)),
        history=act_views(row, names_moderators=page.person.is_moderator),
    )


def gaps_of(row: Listing) -> tuple[Gap, ...]:
    """Return what is missing to a listing, the most urgent first."""
    kind, is_approved = kind_of(row.ref), row.state == "approved"
    found: tuple[tuple[Gap, bool], ...] = (
        ("ownership", kind.known_as == "application" and not is_proven(row)),
        ("key", kind.has("keys") and is_approved and not row.keys),
        ("webhook", kind.has("webhook") and is_approved and row.webhook is None),
        ("counts", kind.has("stats") and is_approved and row.counts is None),
    )
    return tuple(gap for gap, is_missing in found if is_missing)


def hides_ms(asked: Submissions, row: Listing) -> int | None:
    """Return when a listing that fails is hidden; None for one that passes, or is hidden already."""
    known = row.eligibility
    if known is None or known.failing_ms is None or known.hidden_ms is not None:
        return None
    return known.failing_ms + asked.grace_ms


def bot_link(asked: Submissions, row: Listing) -> str | None:
    """Return where the owner of a server adds the bot that sees what is unknown."""
    known = row.eligibility
    is_unknown = known is not None and any(each.outcome == "unknown" for each in known.checks)
    return asked.checking.bot_link(row.id) if is_unknown else None


OVERVIEW_PAGES: tuple[AnyPage, ...] = (
    Page(path="/{kind}/{id}/manage", tab="overview", access=Access("see"), show=show),
    Page(
        path="/{kind}/{id}/manage/prove",
        known_as="application",
        tab="overview",
        show=show,
        has_get=False,
        posts=(Post(access=Access("prove"), run=prove, then=lambda page, _: done(page.here, "proven")),),
    ),
    Page(
        path="/{kind}/{id}/manage/check",
        of="checks",
        posts=(
            Post(
                access=Access("edit"),
                run=check,
                then=lambda page, _: done(f"{page.here}#conditions", "checked"),
            ),
        ),
    ),
)
