"""A listing as moderators see it: the value that the page and its JSON show.

Invariant: a fact that is not known is called unknown.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from actions.history import ActView, OwnerMessageOrNone, act_views, owner_message_view
from actions.listing_views import listing_view
from actions.reports import ReportView, report_views
from actions.review import NoteView, note_views
from actions.users import DisplayName, QuarantineView, Username, user_view
from actions.views import ActorName, KindName, Moment, Snowflake, Success, View
from chatplatform.answers import Answer, created_ms
from chatplatform.platform_client import PlatformAway
from core.rows import Listing, Review
from kinds.registry import kind_of
from listings import owners, review
from listings.profile_changes import ChangedField, changed_fields
from pages.page import PageCall

LOOK_SECONDS = 2.0
"""The time that a page waits for the chat platform. The question goes on, so a later page has the answer."""
OTHERS_SHOWN = 50

Known = Literal["told", "no application", "away", "not asked"]
"""`no application`: the platform knows none of this id. `not asked`: it says nothing about servers."""


class PlatformView(View):
    """The facts of the chat platform about a bot."""

    known: Known
    at: Moment | None
    name: str | None = None
    is_inviteable: Answer = "unknown"
    has_commands: Answer = "unknown"


class OwnerView(View):
    """The owner of a listing, as far as moderators have a reason to know one."""

    id: Snowflake
    username: Username
    display_name: DisplayName
    first_at: Moment | None
    is_moderator: bool
    quarantines: Annotated[tuple[QuarantineView, ...], Meta(description="The quarantines that are in force.")]


class OtherListing(View):
    """Another listing of the same owner."""

    ref: str
    name: str
    state: Review


class ReviewView(Success):
    """A listing as moderators see it."""

    kind: KindName
    listing: View
    waiting_since: Moment | None
    claimed_by: ActorName | None
    claimed_at: Moment | None
    made_at: Annotated[Moment | None, Meta(description="The time when the platform made its id, if it did.")]
    platform: PlatformView
    is_proven: bool
    proven_at: Moment | None
    edited_at: Annotated[
        tuple[Moment, ...], Meta(description="Edits since the submission, the newest first.")
    ]
    changes: Annotated[
        Sequence[ChangedField] | None,
        Meta(
            description=(
                "The changes since the last denial or, for an approved listing, the changes that wait for "
                "a decision; null if they are not kept."
            )
        ),
    ]
    denials: tuple[ActView, ...]
    decision: ActView | None
    message: OwnerMessageOrNone
    notes: tuple[NoteView, ...]
    reports: Annotated[
        tuple[ReportView, ...], Meta(description="The open reports, the newest first; none to an owner.")
    ]
    owner: OwnerView
    others: tuple[OtherListing, ...]


async def platform_view(page: PageCall) -> PlatformView:
    """Ask the chat platform about the listing, for a short time."""
    if page.call.listing_kind.known_as != "application":
        return PlatformView(known="not asked", at=None)
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            told = await page.site.platform.application(page.call.ids[0])
    except (PlatformAway, TimeoutError):
        return PlatformView(known="away", at=None)
    if told.application is None:
        return PlatformView(known="no application", at=told.at_ms)
    return PlatformView(
        known="told",
        at=told.at_ms,
        name=told.application.name,
        is_inviteable=told.application.is_inviteable,
        has_commands=told.application.has_commands,
    )


def review_view(page: PageCall, row: Listing, platform: PlatformView) -> ReviewView:
    """Return a listing as moderators see it."""
    claim, acts = review.claim_of(row), act_views(row)
    is_proven = owners.is_proven(row)
    return ReviewView(
        kind=kind_of(row.ref).plural,
        listing=listing_view(row),
        waiting_since=review.waiting_since(row) if review.waits(row) else None,
        claimed_by=claim.by if claim is not None else None,
        claimed_at=claim.at_ms if claim is not None else None,
        made_at=created_ms(row.id) if kind_of(row.ref).has_snowflakes else None,
        platform=platform,
        is_proven=is_proven,
        proven_at=row.proof.at_ms if is_proven and row.proof is not None else None,
        edited_at=tuple(act.at for act in acts if act.deed == "edited"),
        changes=_changes(row),
        denials=tuple(act for act in acts if act.deed in review.DENIALS),
        decision=next((act for act in acts if act.deed in review.REVIEWS), None),
        message=owner_message_view(row),
        notes=note_views(row),
        reports=report_views(row) if "decide" in page.rights else (),
        owner=_owner(page, row.owner_id),
        others=_others(page, row),
    )


def _owner(page: PageCall, user_id: str) -> OwnerView:
    user = user_view(page.call.tools, user_id, page.call.now_ms)
    return OwnerView(
        id=user.id,
        username=user.username,
        display_name=user.display_name,
        first_at=user.first_at,
        is_moderator=user.moderator is not None,
        quarantines=tuple(each for each in user.quarantines if each.in_force),
    )


def _others(page: PageCall, row: Listing) -> tuple[OtherListing, ...]:
    listings = page.call.state.listings
    refs = [ref for ref in page.call.tools.ownership.refs_of(row.owner_id) if ref != row.ref]
    briefs = [(ref, listings.brief(ref)) for ref in refs[:OTHERS_SHOWN]]
    return tuple(OtherListing(ref=ref, name=brief.name, state=brief.state) for ref, brief in briefs)


def _changes(row: Listing) -> Sequence[ChangedField] | None:
    denied = row.review.denied_profile if row.review is not None else None
    before = row.agreed if row.change is not None else denied
    if before is None:
        return None
    kind = kind_of(row.ref)
    return changed_fields(kind.written(before), kind.written(row.latest))
