"""A listing as moderators see it: a value, which the page and its JSON show. Law: what nobody knows is called
unknown, and nothing is made up.
"""

import asyncio
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import asdict

from actions.history import ActView, OwnerMessageOrNone, act_views, owner_message_view
from actions.listing_views import listing_view
from actions.views import ActorName, KindName, Moment, Snowflake, Success, View
from chatplatform.answers import Answer, created_ms
from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.rows import Listing, Review
from core.state import State
from handlers.manage_review import NoteView, note_list
from handlers.user_views import DisplayName, QuarantineView, Username, UserViews
from kinds.kind import Kind
from kinds.registry import kind_of
from listings import owners, review
from listings.ownership import Ownership
from listings.profile_changes import LineState, changed_fields

LOOK_SECONDS = 2.0
"""How long a page waits for the chat platform. The question goes on, so a later look finds the answer."""
OTHERS_SHOWN = 50

Known = Literal["told", "no application", "away", "not asked"]
"""`no application`: the platform knows none of this id. `not asked`: it tells nothing of servers."""


class PlatformView(View):
    """What the chat platform says of a bot."""

    known: Known
    at: Moment | None
    name: str | None = None
    is_inviteable: Answer = "unknown"
    has_commands: Answer = "unknown"


class ChangedLineView(View):
    """A line of a changed field."""

    state: LineState
    text: Annotated[str, Meta(description="The number of lines, for those that are left out.")]


class ChangedFieldView(View):
    """A field of the profile that differs from the version on which a moderator decided last."""

    name: str
    lines: tuple[ChangedLineView, ...]


class OwnerView(View):
    """The owner of a listing, as far as moderators have a reason to know one."""

    id: Snowflake
    username: Username
    display_name: DisplayName
    first_at: Moment | None
    is_moderator: bool
    quarantines: Annotated[tuple[QuarantineView, ...], Meta(description="Those in force.")]


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
    made_at: Annotated[Moment, Meta(description="When the platform made its id.")]
    platform: PlatformView
    is_proven: bool
    proven_at: Moment | None
    edited_at: Annotated[tuple[Moment, ...], Meta(description="Edits since it was submitted, newest first.")]
    changes: Annotated[
        tuple[ChangedFieldView, ...] | None,
        Meta(
            description="What was changed since the last denial, or of an approved listing what waits for a "
            "decision; null where it is not kept."
        ),
    ]
    denials: tuple[ActView, ...]
    decision: ActView | None
    message: OwnerMessageOrNone
    notes: tuple[NoteView, ...]
    owner: OwnerView
    others: tuple[OtherListing, ...]


class DecidedListing(View):
    """A listing with the last decision on it."""

    ref: str
    kind: KindName
    id: Snowflake
    name: str
    decision: Review
    at: Moment
    by: Annotated[ActorName | None, Meta(description="Null where nobody remembers it.")]
    reason: str | None
    message: OwnerMessageOrNone


class DecidedList(Success):
    """The last decisions, the newest first."""

    decided: tuple[DecidedListing, ...]


class ReviewViews:
    """Makes the views of one gateway."""

    def __init__(self, state: State, ownership: Ownership, users: UserViews, platform: ChatPlatform) -> None:
        self._state = state
        self._ownership = ownership
        self._users = users
        self._platform = platform

    async def platform(self, kind: Kind, listing_id: str) -> PlatformView:
        """Ask what the platform says of a listing, for a short time."""
        if not kind.is_a("application"):
            return PlatformView(known="not asked", at=None)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                told = await self._platform.application(listing_id)
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

    def review(self, row: Listing, platform: PlatformView, now_ms: int) -> ReviewView:
        claim, acts = review.claim_of(row), act_views(row)
        is_proven = owners.is_proven(row)
        return ReviewView(
            kind=kind_of(row.ref).plural,
            listing=listing_view(row),
            waiting_since=review.waiting_since(row) if review.waits(row) else None,
            claimed_by=claim.by if claim is not None else None,
            claimed_at=claim.at_ms if claim is not None else None,
            made_at=created_ms(row.id),
            platform=platform,
            is_proven=is_proven,
            proven_at=row.proof.at_ms if is_proven and row.proof is not None else None,
            edited_at=tuple(act.at for act in acts if act.deed == "edited"),
            changes=_changes(row),
            denials=tuple(act for act in acts if act.deed in review.DENIALS),
            decision=next((act for act in acts if act.deed in review.REVIEWS), None),
            message=owner_message_view(row),
            notes=note_list(row).notes,
            owner=self._owner(row.owner_id, now_ms),
            others=self._others(row),
        )

    def decided(self) -> tuple[DecidedListing, ...]:
        """Return the last decisions that are known, the newest first."""
        refs = [ref for _, ref in reversed(self._ownership.decided)]
        return tuple(_decided(self._state.listings.peek(ref)) for ref in refs)

    def _owner(self, user_id: str, now_ms: int) -> OwnerView:
        user = self._users.user(user_id, now_ms)
        return OwnerView(
            id=user.id,
            username=user.username,
            display_name=user.display_name,
            first_at=user.first_at,
            is_moderator=user.moderator is not None,
            quarantines=tuple(each for each in user.quarantines if each.in_force),
        )

    def _others(self, row: Listing) -> tuple[OtherListing, ...]:
        refs = [ref for ref in self._ownership.refs_of(row.owner_id) if ref != row.ref][:OTHERS_SHOWN]
        briefs = [(ref, self._state.listings.brief(ref)) for ref in refs]
        return tuple(OtherListing(ref=ref, name=brief.name, state=brief.state) for ref, brief in briefs)


def _changes(row: Listing) -> tuple[ChangedFieldView, ...] | None:
    denied = row.review.denied_profile if row.review is not None else None
    before = row.agreed if row.change is not None else denied
    if before is None:
        return None
    return tuple(
        ChangedFieldView(
            name=field.name,
            lines=tuple(ChangedLineView(state=line.state, text=line.text) for line in field.lines),
        )
        for field in changed_fields(asdict(before), asdict(row.latest))
    )


def _decided(row: Listing) -> DecidedListing:
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
