"""The rules of a server's eligibility. Invariant: a failing server is hidden only after a grace period.

Other rooms make the checks; here they become a change of the listing. An approved listing that fails stays
visible for a grace period, and its owner is told. Then it is hidden until it passes again.
"""

from collections.abc import Sequence

from core.actors import GATEWAY, Actor, user_actor
from core.events import Event, ListingReviewed, OwnerMessageQueued, SlotsSet
from core.rows import AuditAction, Eligibility, Proof, ServerCheck
from core.state import State
from listings.rules import listing_of


def renewed(before: Sequence[ServerCheck], now: Sequence[ServerCheck]) -> tuple[ServerCheck, ...]:
    """Return the new checks. A check that is unknown now stays as it was, with its time."""
    known = {(check.name, check.need): check for check in before if check.outcome != "unknown"}
    return tuple(
        known.get((check.name, check.need), check) if check.outcome == "unknown" else check for check in now
    )


def check(
    state: State, ref: str, now: Sequence[ServerCheck], now_ms: int, grace_ms: int, *, by: Actor
) -> list[Event]:
    """Set the checks of a listing. Raises Refusal.

    Args:
        now: the new checks; see `renewed`.
        grace_ms: how long an approved listing may fail before it is hidden.
    """
    row = listing_of(state, ref)
    before = row.eligibility or Eligibility(0, ())
    checks, failing, hidden = renewed(before.checks, now), before.failing_ms, before.hidden_ms
    after = Eligibility(now_ms, checks)
    if row.state == "approved" and after.outcome == "fail":
        failing_ms = now_ms if failing is None else failing
        is_over = hidden is None and now_ms - failing_ms >= grace_ms
        after = Eligibility(now_ms, checks, failing_ms, now_ms if is_over else hidden)
    action: AuditAction | None = None
    if after.hidden_ms is not None and hidden is None:
        action = "hidden"
    elif after.hidden_ms is None and hidden is not None:
        action = "shown_again"
    elif after.failing_ms is not None and failing is None:
        action = "found_failing"
    failed = " ".join(each.name for each in checks if each.outcome == "fail")
    about = failed if action is not None and action != "shown_again" else ""
    return [SlotsSet(ref, now_ms, action, about, eligibility=after, by=by)]


def checked_at_submission(
    ref: str,
    owner_id: str,
    checks: Sequence[ServerCheck],
    now_ms: int,
    *,
    by: Actor,
    approves: bool,
    tells_owner: bool = False,
) -> list[Event]:
    """Return the events behind those of a submission, with the checks that were just made of the listing.

    Args:
        by: its manager, as the chat platform has just said.
        approves: true if the gateway itself approves a server of which every check passes.
        tells_owner: as for a decision of a moderator.
    """
    eligibility = Eligibility(now_ms, tuple(checks))
    events: list[Event] = [
        SlotsSet(ref, now_ms, "ownership_proven", proof=Proof(now_ms, by), eligibility=eligibility, by=by),
    ]
    if not approves or eligibility.outcome != "pass":
        return events
    decided_ms = now_ms + 1  # an audit log is in the order of times, and this comes after the submission
    events.append(ListingReviewed(ref, "approved", None, decided_ms, by=GATEWAY))
    if tells_owner:
        events.append(OwnerMessageQueued(ref, user_actor(owner_id), "approved", None, decided_ms))
    return events
