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
from languages.refusals import Refusal
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
            f"For moderators only. {ABOUT_PROSE}",
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
        described(
            "`submission`: the listing is in review. `change`: the listing is "
            "approved, and a change of it waits."
        ),
    ]
    name: Annotated[ListingName, described("The name of the listing; for a change, the proposed name.")]
    owner_id: UserId
    since: Annotated[Moment, described("The time when it began to wait, in Unix milliseconds.")]
    claimed_by: Annotated[
        ActorName | None, described("The moderator who has claimed the review; null if nobody has.")
    ]
    proven: Annotated[bool, described("True if the owner has proven to control the listing.")]


class QueuePage(Success):
    """The listings in review and the changes, the one that has waited longest first."""

    usual_wait_ms: Annotated[
        Count | None,
        described(
            f"The median time that a listing waited for its decision, over the last {USUAL_OF} "
            f"decisions; null if fewer than {USUAL_FROM} are known.",
            21_600_000,
        ),
    ]
    queue: tuple[WaitingListing, ...]
    next: Annotated[QueueCursor | None, described(NEXT, None)]


class ClaimAnswer(Success):
    """The moderator who has claimed the review, and the time of the claim."""

    claimed_by: Annotated[
        ActorName | None, described("The moderator who has claimed the review; null if nobody has.")
    ]
    claimed_at: Moment | None


class NoteView(View):
    """A note of a moderator."""

    at: Moment
    by: ActorName
    text: Annotated[str, example("The invite works.")]


class NoteList(Success):
    """The notes of moderators on a listing."""

    notes: Annotated[tuple[NoteView, ...], described(f"The last {NOTES_KEPT} notes, the newest first.")]
    next: NoMore = None


async def show_queue(call: Call, form: QueueQuery) -> QueuePage:
    """Return a page of the queue. The first call of a process looks through all listings, in slices."""
    ownership, state = call.tools.ownership, call.state
    await call.tools.in_slices(ownership.survey())
    after = place_of(form.after) if form.after is not None else (0, "")
    shown = page_of(rows_behind(ownership.queue, after), form.limit, cursor_of)
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


def cursor_of(place: tuple[int, str]) -> str:
    since_ms, ref = place
    return f"{since_ms}-{ref.replace('/', '-')}"


def place_of(cursor: str) -> tuple[int, str]:
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
    """Approve the listing in review, and return it, with a hint if its first push would fail.

    One that comes back after a denial has let go of its unique values: it stays denied if they are taken.
    """
    row = listing_of(call.state, call.ref)
    if row.state == "denied" and call.listing_kind.unique:
        await call.tools.in_slices(call.tools.unique.survey())
        call = call.rechecked()
        if call.tools.unique.lost(listing_of(call.state, call.ref)):
            raise Refusal("is_denied")
    answer = await _decide(call, Verdict("approved"))
    kind = call.listing_kind
    if not kind.has("stats"):
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
    summary="Show the review queue",
    about=(
        "The queue has the listings in review and the changes of approved listings, in pages. The "
        "one that has waited longest comes first."
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
    summary="Claim the review of a {thing}",
    about=(
        "Other moderators see that you review it. They can still decide. Your claim replaces the "
        "claim of another moderator."
    ),
    outcome="The claim after the call.",
    refuses=("not_in_review",),
    command=Command("review claim"),
)
RELEASE = Action(
    name="release{Thing}",
    run=release,
    access=Access("review"),
    route="DELETE /manage/{kind}/{id}/claim",
    of="review",
    summary="Release your claim on a {thing}",
    about="Your own claim ends. A claim of another moderator stays.",
    outcome="The claim after the call.",
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
    about="Moderators write notes for each other. Owners never see them.",
    outcome="The newest notes.",
    command=Command("review notes"),
)
NOTE = Action(
    name="note{Thing}",
    run=note,
    access=Access("review"),
    route="POST /manage/{kind}/{id}/notes",
    of="review",
    summary="Add a note to a {thing}",
    about=(
        "The note is for other moderators; owners never see it. If there are too many notes, the "
        "oldest is deleted."
    ),
    outcome="The newest notes, including this one.",
    status=201,
    command=Command(
        "review note",
        "Add a note to a listing.\n\nTEXT is for other moderators. The owner never sees it.",
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
    about={
        kind.plural: "It becomes public"
        + (": users can vote for it" if kind.votes is not None else "")
        + (", and it can have API keys." if kind.keys is not None else ".")
        for kind in KINDS
    },
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
    about="Its owner sees the reason, and can edit the {thing} to send it to review again.",
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
        kind.plural: "It is no longer public"
        + (", and nobody can vote for it," if kind.votes is not None else "")
        + " until it is approved again."
        + (" Its API keys are refused until then." if kind.keys is not None else "")
        + " Its owner sees the reason, and can edit the {thing} to send it to review again."
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
    of="changes",
    summary="Agree to the change of a {thing}",
    about="Everybody sees the proposed version from now on.",
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
    of="changes",
    summary="Refuse the change of a {thing}",
    about=(
        "Everybody sees the version that was agreed to last. The proposed version is discarded, and the "
        "owner sees the reason."
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
