"""Management of the review desk: the queue, claims, and the notes of moderators. Law: parse, rule, commit,
reply.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta

from actions.query_forms import IS_CURSOR, PAGE, PageLimit
from actions.views import (
    NULL,
    ActorName,
    Count,
    KindName,
    ListingName,
    Moment,
    NoMore,
    Snowflake,
    Success,
    UserId,
    View,
    example,
)
from core.audit_log import NOTES_KEPT
from core.rows import Listing
from core.state import State
from forms.fields import ABOUT_PROSE, Form, Nothing
from forms.reading import read, read_query
from forms.rules import IN_PROSE, About, Size, matching
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from kinds.registry import KINDS, kind_of
from listings import owners, review
from listings.ownership import USUAL_FROM, USUAL_OF, Ownership
from listings.rules import listing_of

QUEUE_CURSOR_PATTERN = rf"^[0-9]{{1,15}}-(?:{'|'.join(kind.plural for kind in KINDS)})-[0-9]{{17,20}}$"
_CURSOR_EXAMPLE = "1750000000000-bots-123456789012345678"
QueueCursor = Annotated[str, Meta(pattern=QUEUE_CURSOR_PATTERN), example(_CURSOR_EXAMPLE)]


class NewNote(Form, frozen=True):
    """A note for other moderators. The owner of the listing never sees it."""

    text: Annotated[
        str,
        Size(1, review.NOTE_CHARACTERS),
        About(
            f"For moderators alone. {ABOUT_PROSE}",
            "The invite works. I ask the owner about the permissions that it wants.",
        ),
        IN_PROSE,
    ]


class QueueQuery(Form, frozen=True):
    """The query of the queue. A parameter that is None was left out."""

    after: Annotated[
        Annotated[str, matching(QUEUE_CURSOR_PATTERN)] | None,
        IS_CURSOR,
        About("The `next` of the page before.", _CURSOR_EXAMPLE),
    ] = None
    limit: PageLimit = PAGE


class WaitingListing(View):
    """A listing that waits for a decision, or a change of it."""

    ref: Annotated[
        str,
        Meta(description="Its path in the API: the kind, a slash, the id."),
        example("bots/123456789012345678"),
    ]
    kind: KindName
    id: Snowflake
    what: Annotated[
        Literal["submission", "change"],
        Meta(description="`change`: the listing is approved, and what changed waits."),
    ]
    name: Annotated[ListingName, Meta(description="Of a change, the new name.")]
    owner_id: UserId
    since: Annotated[Moment, Meta(description="Unix time in milliseconds since when it waits.")]
    claimed_by: Annotated[ActorName | None, Meta(description="Who is at it; null for nobody.")]
    proven: Annotated[bool, Meta(description="True if its owner has proven to control it.")]


class QueuePage(Success):
    """The listings in review and the changes, the one that waits for longest first."""

    usual_wait_ms: Annotated[
        Count | None,
        Meta(
            description=f"Half of the last {USUAL_OF} decisions came within this time after the listing was "
            f"sent; null while fewer than {USUAL_FROM} are known.",
            examples=[21_600_000],
        ),
    ]
    queue: tuple[WaitingListing, ...]
    next: Annotated[
        QueueCursor | None,
        Meta(description="Give it as `after` to get the next page; null on the last one."),
        NULL,
    ]


class ClaimAnswer(Success):
    """Who is at the review."""

    claimed_by: Annotated[ActorName | None, Meta(description="Null for nobody.")]
    claimed_at: Moment | None


class NoteView(View):
    """A note of a moderator."""

    at: Moment
    by: ActorName
    text: Annotated[str, example("The invite works.")]


class NoteList(Success):
    """The notes of moderators on a listing."""

    notes: Annotated[tuple[NoteView, ...], Meta(description=f"The last {NOTES_KEPT}, the newest first.")]
    next: NoMore = None


class ManageQueue:
    """The queue. A gateway that nobody has asked for it yet looks through all listings once, in slices."""

    def __init__(self, state: State, ownership: Ownership) -> None:
        self._state = state
        self._ownership = ownership

    async def show(self, request: Request) -> Reply:
        asked = read_query(QueueQuery, request.query)
        await in_slices(self._ownership.survey())
        queue = self._ownership.queue
        start = bisect_right(queue, _place(asked.after)) if asked.after is not None else 0
        shown = queue[start : start + asked.limit]
        entries = tuple(waiting_listing(self._state.listings[ref]) for _, ref in shown)
        is_last = start + asked.limit >= len(queue)
        return success(
            QueuePage(
                usual_wait_ms=self._ownership.usual_wait_ms,
                queue=entries,
                next=None if is_last else _cursor(*shown[-1]),
            )
        )


class ManageReview:
    """Claims and notes."""

    def __init__(self, context: ManageContext, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref

    async def claim(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        read(Nothing, request.json_object())
        events = review.claim(self._state, ref, self._clock.now_ms(), by=request.by)
        return await self._context.commit(events, lambda: self._claimed(ref))

    async def release(self, request: Request) -> Reply:
        """Give one's own claim back. That of another moderator stays."""
        ref = self._ref(request)
        events = review.release(self._state, ref, self._clock.now_ms(), by=request.by)
        return await self._context.commit(events, lambda: self._claimed(ref))

    def notes(self, request: Request) -> Reply:
        return success(note_list(listing_of(self._state, self._ref(request))))

    async def note(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        form = read(NewNote, request.json_object())
        events = review.add_note(self._state, ref, form.text, self._clock.now_ms(), by=request.by)
        return await self._context.commit(
            events, lambda: success(note_list(listing_of(self._state, ref)), 201)
        )

    def _claimed(self, ref: str) -> Reply:
        claim = review.claim_of(listing_of(self._state, ref))
        if claim is None:
            return success(ClaimAnswer(claimed_by=None, claimed_at=None))
        return success(ClaimAnswer(claimed_by=claim.by, claimed_at=claim.at_ms))


def waiting_listing(row: Listing) -> WaitingListing:
    """Return a listing that waits as the queue shows it."""
    claim = review.claim_of(row)
    return WaitingListing(
        ref=row.ref,
        kind=kind_of(row.ref).plural,
        id=row.id,
        what="change" if row.change is not None else "submission",
        name=row.latest.name,
        owner_id=row.owner_id,
        since=review.waiting_since(row),
        claimed_by=claim.by if claim is not None else None,
        proven=owners.is_proven(row),
    )


def note_list(row: Listing) -> NoteList:
    return NoteList(
        notes=tuple(NoteView(at=note.at_ms, by=note.by, text=note.text) for note in reversed(row.notes))
    )


def _cursor(since_ms: int, ref: str) -> str:
    return f"{since_ms}-{ref.replace('/', '-')}"


def _place(cursor: str) -> tuple[int, str]:
    """Return the place in the queue that a cursor names."""
    since_ms, kind, its_id = cursor.split("-")
    return int(since_ms), f"{kind}/{its_id}"
