"""Reviews: the queue, claims, the notes of moderators, and decisions.

Invariant: every decision is made by `listings.rules.decide`, for the API and for pages.
"""

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.listing_views import VIEWS, ApprovedListing, ListingAnswer, commit_listing
from actions.query_forms import AFTER, IS_CURSOR, PAGE, PageLimit
from actions.views import (
    NEXT,
    ActorName,
    Count,
    KindName,
    ListingId,
    ListingName,
    Moment,
    NoMore,
    Success,
    UserId,
    View,
    described,
    example,
)
from core.audit_log import NOTES_KEPT
from core.rows import Listing
from forms.fields import ABOUT_PROSE, Form, Nothing
from forms.rules import IN_PROSE, About, Size, matching
from kinds.registry import KINDS, SAMPLE_REF, id_pattern, kind_of
from listings import owners, review
from listings.forms import ChangeAgreement, ChangeRefusal, Denial
from listings.ownership import USUAL_FROM, USUAL_OF
from listings.rules import Verdict, decide, listing_of
from search.paging import page_of, rows_behind

QUEUE_CURSOR_PATTERN = rf"^[0-9]{{1,15}}-(?:{'|'.join(map(str, KINDS))})-{id_pattern('[0-9]{17,20}')}$"
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
        About(AFTER, _CURSOR_EXAMPLE),
    ] = None
    limit: PageLimit = PAGE


class WaitingListing(View):
    """A listing that waits for a decision, or a change of it."""

    ref: Annotated[str, described("Its path in the API: the kind, a slash, the id.", SAMPLE_REF)]
    kind: KindName
    id: ListingId
    what: Annotated[
        Literal["submission", "change"],
        described("`change`: the listing is approved, and what changed waits."),
    ]
    name: Annotated[ListingName, described("Of a change, the new name.")]
    owner_id: UserId
    since: Annotated[Moment, described("Unix time in milliseconds since when it waits.")]
    claimed_by: Annotated[ActorName | None, described("Who is at it; null for nobody.")]
    proven: Annotated[bool, described("True if its owner has proven to control it.")]


class QueuePage(Success):
    """The listings in review and the changes, the one that waits for longest first."""

    usual_wait_ms: Annotated[
        Count | None,
        described(
            f"Half of the last {USUAL_OF} decisions came within this time after the listing was "
            f"sent; null while fewer than {USUAL_FROM} are known.",
            21_600_000,
        ),
    ]
    queue: tuple[WaitingListing, ...]
    next: Annotated[QueueCursor | None, described(NEXT, None)]


class ClaimAnswer(Success):
    """The moderator who is at the review, and since when."""

    claimed_by: Annotated[ActorName | None, described("Null for nobody.")]
    claimed_at: Moment | None


class NoteView(View):
    """A note of a moderator."""

    at: Moment
    by: ActorName
    text: Annotated[str, example("The invite works.")]


class NoteList(Success):
    """The notes of moderators on a listing."""

    notes: Annotated[tuple[NoteView, ...], described(f"The last {NOTES_KEPT}, the newest first.")]
    next: NoMore = None


async def show_queue(call: Call, form: QueueQuery) -> QueuePage:
    """Return a page of the queue. The first call of a process looks through all listings, in slices."""
    ownership, state = call.tools.ownership, call.state
    await call.tools.in_slices(ownership.survey())
    after = _place(form.after) if form.after is not None else (0, "")
    shown = page_of(rows_behind(ownership.queue, after), form.limit, _cursor)
    return QueuePage(
        usual_wait_ms=ownership.usual_wait_ms,
        queue=tuple(waiting_listing(state.listings[ref]) for _, ref in shown.rows),
        next=shown.next,
    )


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


def _cursor(place: tuple[int, str]) -> str:
    since_ms, ref = place
    return f"{since_ms}-{ref.replace('/', '-')}"


def _place(cursor: str) -> tuple[int, str]:
    """Return the place in the queue that a cursor names."""
    since_ms, kind, its_id = cursor.split("-")
    return int(since_ms), f"{kind}/{its_id}"


async def claim(call: Call, _: Nothing) -> ClaimAnswer:
    """Claim the review for the caller."""
    events = review.claim(call.state, call.ref, call.now_ms, by=call.by)
    return await call.commit(events, lambda: _claimed(call))


async def release(call: Call, _: None) -> ClaimAnswer:
    """Give the caller's own claim back. The claim of another moderator stays."""
    events = review.release(call.state, call.ref, call.now_ms, by=call.by)
    return await call.commit(events, lambda: _claimed(call))


def _claimed(call: Call) -> ClaimAnswer:
    known = review.claim_of(listing_of(call.state, call.ref))
    if known is None:
        return ClaimAnswer(claimed_by=None, claimed_at=None)
    return ClaimAnswer(claimed_by=known.by, claimed_at=known.at_ms)


def show_notes(call: Call, _: None) -> NoteList:
    """Return the notes of moderators on the listing."""
    return NoteList(notes=note_views(listing_of(call.state, call.ref)))


async def note(call: Call, form: NewNote) -> NoteList:
    """Keep a note, and return all notes."""
    events = review.add_note(call.state, call.ref, form.text, call.now_ms, by=call.by)
    return await call.commit(events, lambda: show_notes(call, None))


def note_views(row: Listing) -> tuple[NoteView, ...]:
    return tuple(NoteView(at=each.at_ms, by=each.by, text=each.text) for each in reversed(row.notes))


async def approve(call: Call, _: Nothing) -> ApprovedListing:
    """Approve the listing in review, and return it, with a hint if its first push would fail."""
    answer = await _decide(call, Verdict("approved"))
    kind = call.listing_kind
    if kind.keys is None:
        return answer
    approved: Success = VIEWS[kind.plural].approved(**asdict(answer), hint=call.tools.hint(call.ref))
    return approved


async def deny(call: Call, form: Denial) -> ListingAnswer:
    """Deny the listing in review, and return it."""
    return await _decide(call, Verdict("denied", form.reason))


async def withdraw(call: Call, form: Denial) -> ListingAnswer:
    """Withdraw the approval of the listing, and return it."""
    return await _decide(call, Verdict("withdrawn", form.reason))


async def agree(call: Call, form: ChangeAgreement) -> ListingAnswer:
    """Agree to the change of the approved listing, and return it."""
    return await _decide(call, Verdict("change_agreed", version=form.version))


async def refuse(call: Call, form: ChangeRefusal) -> ListingAnswer:
    """Refuse the change of the approved listing, and return it."""
    return await _decide(call, Verdict("change_refused", form.reason, form.version))


async def _decide(call: Call, verdict: Verdict) -> Success:
    events = decide(
        call.state,
        call.ref,
        verdict,
        call.now_ms,
        by=call.by,
        tells_owner=call.tools.tells_owners,
        deliveries=call.tools.new_deliveries(),
    )
    return await commit_listing(call, call.ref, events)


SHOW_QUEUE = Action(
    name="showQueue",
    run=show_queue,
    route="GET /manage/queue",
    summary="Show what waits for a decision",
    about=(
        "Bots and servers in review, and changes of approved ones, in pages. The one that waits for "
        "longest is first."
    ),
    outcome="A page of the queue.",
    command=Command("review queue"),
)
CLAIM = Action(
    name="claim{Thing}",
    run=claim,
    access=Access("review"),
    route="POST /manage/{kind}/{id}/claim",
    of="review",
    summary="Take the review of a {thing} on",
    about=(
        "Tells other moderators who is at it, and forbids them nothing. It takes the place of the "
        "claim of another one."
    ),
    outcome="Who is at it now.",
    refuses=("not_in_review",),
    command=Command("review claim"),
)
RELEASE = Action(
    name="release{Thing}",
    run=release,
    access=Access("review"),
    route="DELETE /manage/{kind}/{id}/claim",
    of="review",
    summary="Give the review of a {thing} back",
    about="Ends your own claim. That of another moderator stays.",
    outcome="Who is at it now.",
    refuses=("not_in_review",),
    command=Command("review release"),
)
SHOW_NOTES = Action(
    name="show{Thing}Notes",
    run=show_notes,
    access=Access("review"),
    route="GET /manage/{kind}/{id}/notes",
    of="review",
    summary="Show the notes on a {thing}",
    about="What moderators note for each other. Owners never see it.",
    outcome="The newest notes.",
    command=Command("review notes"),
)
NOTE = Action(
    name="note{Thing}",
    run=note,
    access=Access("review"),
    route="POST /manage/{kind}/{id}/notes",
    of="review",
    summary="Note something on a {thing}",
    about="For other moderators. With too many notes, the oldest one goes.",
    outcome="The newest notes, this one included.",
    status=201,
    command=Command(
        "review note",
        "Note something on a listing.\n\nTEXT is for other moderators. The owner never sees it.",
        {"text": Option()},
    ),
)
APPROVE = Action(
    name="approve{Thing}",
    run=approve,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/approve",
    of="review",
    summary="Approve a {thing} in review",
    about="From then on it can be voted for, and a bot can have API keys.",
    outcome="The {thing}.",
    refuses=("not_in_review",),
    command=Command("{kind} approve"),
)
DENY = Action(
    name="deny{Thing}",
    run=deny,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/deny",
    of="review",
    summary="Deny a {thing} in review",
    about="It goes back to review when its owner edits it.",
    outcome="The {thing}, denied.",
    refuses=("not_in_review", "is_approved"),
    command=Command(
        "{kind} deny",
        "Deny a {thing} in review.\n\nREASON is shown to its owner.",
        {"id": Option(argument="id"), "reason": Option()},
    ),
)
WITHDRAW = Action(
    name="withdraw{Thing}",
    run=withdraw,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/withdraw",
    of="review",
    summary="Withdraw the approval of a {thing}",
    about={
        kind.plural: "It is denied from then on: nobody sees it or votes for it"
        + (", and its API keys answer 401 until it is approved again." if kind.keys is not None else ".")
        + " It goes back to review when its owner edits it."
        for kind in KINDS
    },
    outcome="The {thing}, denied.",
    refuses=("not_approved",),
    command=Command(
        "{kind} withdraw",
        "Withdraw the approval of a {thing}.\n\nREASON is shown to its owner.",
        {"id": Option(argument="id"), "reason": Option()},
    ),
)
AGREE = Action(
    name="agreeTo{Thing}Change",
    run=agree,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/change/agree",
    of="review",
    summary="Agree to the change of a {thing}",
    about="Everybody sees the proposed version from then on.",
    outcome="The {thing}.",
    refuses=("no_change", "other_version"),
    command=Command(
        "review agree",
        "Agree to the change of an approved listing.\n\nVERSION names the change that you have seen: `bots "
        "show` and `servers show` print it.",
        {"version": Option()},
    ),
)
REFUSE = Action(
    name="refuse{Thing}Change",
    run=refuse,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/change/refuse",
    of="review",
    summary="Refuse the change of a {thing}",
    about=(
        "Everybody sees the version agreed to last. The proposed one is gone; its owner reads the reason."
    ),
    outcome="The {thing}.",
    refuses=("no_change", "other_version"),
    command=Command(
        "review refuse",
        "Refuse the change of an approved listing.\n\nVERSION names the change that you have seen: `bots "
        "show` and `servers show` print it. REASON is shown to the owner.",
        {"version": Option(), "reason": Option()},
    ),
)
DECISION_ACTIONS = (APPROVE, DENY, WITHDRAW, AGREE, REFUSE)
REVIEW_ACTIONS = (SHOW_QUEUE, CLAIM, RELEASE, SHOW_NOTES, NOTE)
