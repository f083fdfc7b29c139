"""Quarantine: an act that is forbidden to a user for a time. Law: it says why, and the user may see it.

Nobody decides about a quarantine of their own: a moderator under one cannot lift it.

One that is lifted stays in the row with its end, so that every node of a fleet learns that it is over. Who
may not sign in is signed out, too. Who is erased stays under quarantine: the row is made anew, with nothing
else in it, and goes when the quarantine is over.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from core.actors import GATEWAY, OPERATOR, Actor, user_actor
from core.events import Event, QuarantineSet, SessionsEnded, UserDropped
from core.refusals import Conflict, Invalid, NotFound, Quarantined
from core.state import State
from core.user_rows import Quarantine, QuarantinedAct, UserRow, user_ref

MOST_CHARACTERS = 512
REMEMBERED_MS = 30 * 86_400_000
"""For so long after its end a quarantine is remembered in a fleet: a node that was away may not know that it
was lifted."""


def refuse_quarantined(state: State, user_id: str, act: QuarantinedAct, now_ms: int) -> None:
    """Raise Quarantined if the act is forbidden to the user now."""
    row = state.users.get(user_ref(user_id))
    quarantine = row.quarantine(act, now_ms) if row is not None else None
    if quarantine is not None:
        raise Quarantined(act, quarantine.reason, quarantine.until_ms)


def refuse_of_quarantined_owner(state: State, owner_id: str, now_ms: int, *, by: Actor) -> None:
    """Refuse to change a listing whose owner may not submit listings.

    Raises Quarantined for the owner and the operator, and Conflict for others, who do not read the reason.
    """
    try:
        refuse_quarantined(state, owner_id, "submit", now_ms)
    except Quarantined:
        if by in {user_actor(owner_id), OPERATOR}:
            raise
        raise Conflict("owner_quarantined") from None


def impose(
    state: State,
    user_id: str,
    act: QuarantinedAct,
    reason: str,
    until_ms: int | None,
    now_ms: int,
    *,
    by: Actor,
) -> list[Event]:
    """Forbid an act, also to a user who has never signed in. Raises Conflict, and Invalid with the wrong
    fields."""
    _refuse_own(user_id, by)
    wrong = {}
    if not reason or len(reason) > MOST_CHARACTERS:
        wrong["reason"] = f"must have 1 to {MOST_CHARACTERS} characters"
    if until_ms is not None and until_ms <= now_ms:
        wrong["until"] = "must be later than now"
    if wrong:
        raise Invalid(wrong)
    ref = user_ref(user_id)
    events: list[Event] = [QuarantineSet(ref, Quarantine(act, reason, by, now_ms, until_ms), now_ms, by=by)]
    row = state.users.get(ref)
    if act == "sign_in" and row is not None and row.sessions:
        digests = tuple(session.digest for session in row.sessions)
        events.append(SessionsEnded(ref, digests, now_ms, by=by))
    return events


def lift(state: State, user_id: str, act: QuarantinedAct, now_ms: int, *, by: Actor) -> list[Event]:
    """End a quarantine now. Raises Conflict, and NotFound if there is none in force."""
    _refuse_own(user_id, by)
    row = state.users.get(user_ref(user_id))
    found = row.quarantine(act, now_ms) if row is not None else None
    if row is None or found is None:
        raise NotFound("quarantine")
    lifted = Quarantine(act, found.reason, found.by, found.since_ms, now_ms)
    return [QuarantineSet(row.ref, lifted, now_ms, by=by)]


def after_erasure(state: State, user_id: str, now_ms: int) -> list[Event]:
    """Put a user whose row an erasure in the same record removes under the same quarantines again. So the
    erasure lifts none, and in a fleet these are later than it."""
    row = state.users.get(user_ref(user_id))
    found = row.quarantines if row is not None else ()
    return [
        QuarantineSet(user_ref(user_id), replace(each, stamp=None), now_ms, by=GATEWAY)
        for each in found
        if each.is_in_force(now_ms)
    ]


def sweep_users(state: State, refs: Iterable[str], now_ms: int) -> list[Event]:
    """Drop the rows of those users who have no account, and whose quarantines are over."""
    over_ms = now_ms - REMEMBERED_MS if state.fleet.label else now_ms
    rows = (state.users.get(ref) for ref in refs)
    return [UserDropped(row.ref) for row in rows if row is not None and _is_empty(row, over_ms)]


def _is_empty(row: UserRow, over_ms: int) -> bool:
    """Tell if nothing in the row has held since then."""
    # In a fleet the end of a role has a stamp, and must be known to all nodes for good.
    has_more = row.profile or row.sessions or row.ended or row.role or row.stamps is not None
    return not has_more and not any(each.is_in_force(over_ms) for each in row.quarantines)


def _refuse_own(user_id: str, by: Actor) -> None:
    if by == user_actor(user_id):
        raise Conflict("own_quarantine")
