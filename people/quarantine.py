"""Quarantine: an act that is forbidden to a user for a time, with a reason that the user may see.

Invariant: nobody decides about a quarantine of their own. A moderator under one cannot lift it.

A lifted quarantine stays in the row with its end, so that every node of a fleet learns that it is over. A
user who may not sign in is signed out, too. An erasure does not lift quarantines: they get a new row, with
nothing else in it, which is dropped when they are over.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from core.actors import GATEWAY, OPERATOR, Actor, user_actor
from core.events import Event, QuarantineSet, SessionsEnded, UserDropped
from core.rows import UNSTAMPED
from core.state import State
from core.user_rows import Quarantine, QuarantinedAct, UserRow, user_ref
from languages.refusals import Invalid, Refusal
from languages.said import Code, Fault

MOST_CHARACTERS = 512
REMEMBERED_MS = 30 * 86_400_000
"""The time after its end for which a fleet remembers a quarantine: a node that was away may not know that it
was lifted."""


def refuse_quarantined(state: State, user_id: str, act: QuarantinedAct, now_ms: int) -> None:
    """Raise Refusal if the act is forbidden to the user now."""
    found = _in_force(state, user_id, act, now_ms)
    if found is not None:
        code: Code = "quarantined" if found.until_ms is not None else "quarantined_without_end"
        raise Refusal(code, reason=found.reason, until_ms=found.until_ms)


def refuse_of_quarantined_owner(state: State, owner_id: str, now_ms: int, *, by: Actor) -> None:
    """Refuse to change a listing whose owner may not submit listings.

    Raises Refusal: only the owner and the operator read the reason.
    """
    if by in {user_actor(owner_id), OPERATOR}:
        refuse_quarantined(state, owner_id, "submit", now_ms)
    elif _in_force(state, owner_id, "submit", now_ms) is not None:
        raise Refusal("owner_may_not_submit")


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
    """Forbid an act, also to a user who has never signed in. Raises Refusal, and Invalid with the wrong
    fields."""
    _refuse_own(user_id, by)
    wrong = dict[str, Fault]()
    if not reason or len(reason) > MOST_CHARACTERS:
        wrong["reason"] = Fault("wrong_length", {"least": 1, "most": MOST_CHARACTERS})
    if until_ms is not None and until_ms <= now_ms:
        wrong["until"] = Fault("not_later")
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
    """End a quarantine now. Raises Refusal, also if there is none in force."""
    _refuse_own(user_id, by)
    found = _in_force(state, user_id, act, now_ms)
    if found is None:
        raise Refusal("no_such_quarantine")
    lifted = Quarantine(act, found.reason, found.by, found.since_ms, now_ms)
    return [QuarantineSet(user_ref(user_id), lifted, now_ms, by=by)]


def after_erasure(state: State, user_id: str, now_ms: int) -> list[Event]:
    """Return the events that keep the quarantines of a user whom the same record erases. In a fleet these are
    later than the erasure."""
    row = state.users.get(user_ref(user_id))
    found = row.quarantines if row is not None else ()
    return [
        QuarantineSet(user_ref(user_id), replace(each, stamp=None), now_ms, by=GATEWAY)
        for each in found
        if each.is_in_force(now_ms)
    ]


def sweep_users(
    state: State, refs: Iterable[str], now_ms: int, is_named: Callable[[str], bool]
) -> list[Event]:
    """Drop the rows of users that hold nothing any more. `is_named` returns true for a user whom listings
    name: their pages show the profile."""
    over_ms = now_ms - REMEMBERED_MS if state.fleet.label else now_ms
    rows = (state.users.get(ref) for ref in refs)
    return [
        UserDropped(row.ref)
        for row in rows
        if row is not None and _is_empty(row, over_ms) and not (row.profile is not None and is_named(row.id))
    ]


def _is_empty(row: UserRow, over_ms: int) -> bool:
    """Return true if nothing in the row, but for the profile, has been in force since then."""
    signed_in = row.sessions or row.ended
    chosen = row.reminders or row.naming or row.mail or row.mails or row.settled or row.ratings
    stamps = row.known_stamps
    # In a fleet the end of a role has a stamp, and must be known to all nodes for good.
    is_known = stamps.role == UNSTAMPED and (row.stamps is None or stamps.profile.ms < over_ms)
    has_more = signed_in or chosen or row.role or not is_known
    return not has_more and not any(each.is_in_force(over_ms) for each in row.quarantines)


def _refuse_own(user_id: str, by: Actor) -> None:
    if by == user_actor(user_id):
        raise Refusal("own_quarantine")


def _in_force(state: State, user_id: str, act: QuarantinedAct, now_ms: int) -> Quarantine | None:
    row = state.users.get(user_ref(user_id))
    return row.quarantine(act, now_ms) if row is not None else None
