"""The rules of reviews. Invariant: a claim tells moderators who is at it, and forbids nothing to others.

A listing waits for a decision while it is in review, or while it is approved and has a change. Claims and
notes are for moderators alone. The decisions themselves are in `rules`: a submission is in review once only,
so two moderators never decide it twice, and the same holds for a change.
"""

from collections.abc import Collection
from typing import NamedTuple, get_args

from core.actors import GATEWAY, Actor
from core.events import Event, NoteAdded, SlotsSet
from core.rows import AuditAction, AuditEntry, Claim, Decision, Listing
from core.state import State
from kinds.registry import kind_of
from languages.refusals import Invalid
from languages.said import Fault
from listings.rules import listing_of, not_in_review

NOTE_CHARACTERS = 1_000
REVIEWS: Collection[AuditAction] = ("approved", "denied", "withdrawn")
"""The actions that decide about a listing as a whole."""
_DECISIONS: Collection[AuditAction] = get_args(Decision)
DENIALS: Collection[AuditAction] = ("denied", "withdrawn", "change_refused")
"""The actions that refuse something, with a reason."""


class PresetReason(NamedTuple):
    """A reason for a denial of a listing of that kind, or of `all`, which moderators choose from a list. Its
    owner reads title and text."""

    key: str
    title: str
    text: str
    kind: str


def waiting_since(row: Listing) -> int:
    """Return the time since which a listing waits for a decision (Unix ms).

    It is the time of its submission, or of the edit that sent it again after a denial, or of the first edit
    of a change: an edit while it waits does not send it back to the end of the queue.
    """
    if row.change is not None:
        return row.change.since_ms
    return row.updated_ms if row.review is None else row.review.sent_ms


PRIORITY_MS = 1_000_000_000_000
"""The head start in the queue of a server that meets every condition: 31 years."""


def place_ms(row: Listing) -> int:
    """Return the time that orders the queue: the least comes first."""
    since_ms = waiting_since(row)
    checked, part = row.eligibility, kind_of(row.ref).checks
    comes_first = row.state == "in_review" and part is not None and part.come_first
    is_eligible = comes_first and checked is not None and checked.outcome == "pass"
    return max(since_ms - PRIORITY_MS, 0) if is_eligible else since_ms


def since_of(at_ms: int) -> int:
    """Return the time since which a listing waits, from the time that orders the queue."""
    return at_ms if at_ms >= PRIORITY_MS else at_ms + PRIORITY_MS


def waited_ms(row: Listing) -> int | None:
    """Return how long the owner waited for the decision that holds; None if that is not known, if nobody
    waited for it, or if the gateway decided."""
    if row.review is None or row.review.decided_ms is None:
        return None
    decision = review_of(row)
    if decision is not None and (decision.by == GATEWAY or decision.action == "withdrawn"):
        return None
    return row.review.decided_ms - row.review.sent_ms


def claim_of(row: Listing) -> Claim | None:
    """Return the claim on the review that is open now; None if nobody has claimed it."""
    claim, decision = row.claim, decision_of(row)
    if not waits(row) or claim is None:
        return None
    # A claim from before the last decision was on the review that ended with it. In a fleet both times are
    # stamps, because clocks differ.
    claimed_ms = row.known_stamps.claim.ms or claim.at_ms
    return claim if decision is None or decision.at_ms <= claimed_ms else None


def waits(row: Listing) -> bool:
    """Tell if a listing, or a change of it, waits for a decision."""
    return row.state == "in_review" or row.change is not None


def decision_of(row: Listing) -> AuditEntry | None:
    """Return the last decision that the audit log remembers, also one about a change."""
    return next((act for act in reversed(row.audit_log) if act.action in _DECISIONS), None)


def review_of(row: Listing) -> AuditEntry | None:
    """Return the last decision about the listing as a whole that the audit log remembers."""
    return next((act for act in reversed(row.audit_log) if act.action in REVIEWS), None)


def denial_text(*parts: str) -> str:
    """Return the reason of a denial, made of texts of which each becomes a sentence of its own."""
    sentences = [part.strip() for part in parts if part.strip()]
    return " ".join(part if part[-1] in ".!?…" else f"{part}." for part in sentences)


def claim(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Take a review on, also from another moderator. Raises Refusal."""
    row = _waiting(state, ref)
    known = claim_of(row)
    if known is not None and known.by == by:
        return []
    return [SlotsSet(ref, now_ms, claim=Claim(now_ms, by), by=by)]


def release(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Give a review back, if it is one's own. Raises Refusal."""
    known = claim_of(_waiting(state, ref))
    return [SlotsSet(ref, now_ms, claim=None, by=by)] if known is not None and known.by == by else []


def add_note(state: State, ref: str, text: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Note something for other moderators. Raises Refusal and Invalid."""
    listing_of(state, ref)
    text = text.strip()
    if not text or len(text) > NOTE_CHARACTERS:
        raise Invalid({"text": Fault("wrong_length", {"least": 1, "most": NOTE_CHARACTERS})})
    return [NoteAdded(ref, text, now_ms, by=by)]


def _waiting(state: State, ref: str) -> Listing:
    row = listing_of(state, ref)
    if not waits(row):
        raise not_in_review(row)
    return row
