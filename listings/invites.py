"""The invites of servers. Invariant: visitors get no invite that the chat platform has called invalid.

Other rooms ask the platform; here the answer becomes a change of the listing. An answer is about one code. If
the profile then names another code, that one is unknown.
"""

from collections.abc import Mapping

from core.actors import Actor
from core.events import Event, SlotsSet
from core.rows import AuditAction, InviteCheck, InviteProblem, Listing
from core.state import State
from kinds.registry import kind_of
from languages.said import Code, Fault
from listings.rules import listing_of

_CODES: Mapping[InviteProblem, Code] = {
    "gone": "invite_gone",
    "elsewhere": "invite_elsewhere",
    "expires": "invite_expires",
}


def fault_of(problem: InviteProblem) -> Fault:
    """Return the fault of a form for a problem of its invite."""
    return Fault(_CODES[problem])


def public_invite(row: Listing) -> str | None:
    """Return the code of the invite that visitors get; None if there is none, or if it is not valid."""
    known = check_of(row)
    return _code(row) if known is None or known.problem is None else None


def check_of(row: Listing) -> InviteCheck | None:
    """Return the last answer about the invite that everybody sees; None if there was none yet."""
    known = row.invite_check
    return known if known is not None and known.code == _code(row) else None


def can_join(row: Listing) -> bool:
    """Return true if the owners' version has an invite that the platform has not called invalid."""
    code, known = kind_of(row.ref).invite_code(row.latest), row.invite_check
    return code is not None and (known is None or known.code != code or known.problem is None)


def is_due(row: Listing, now_ms: int, age_ms: int) -> bool:
    """Return true if the platform is to be asked: it never was, or its answer is too old."""
    known = check_of(row)
    return _code(row) is not None and (known is None or now_ms - known.at_ms >= age_ms)


def checked(state: State, ref: str, check: InviteCheck, now_ms: int, *, by: Actor) -> list[Event]:
    """Set the answer about the invite of a listing. Raises Refusal.

    An answer about a code that the profile does not name any more changes nothing. If a valid or unknown
    invite is found invalid, the owner gets a notice.
    """
    row = listing_of(state, ref)
    if check.code != _code(row):
        return []
    known = check_of(row)
    is_news = check.problem is not None and (known is None or known.problem is None)
    action: AuditAction | None = "invite_broken" if is_news else None
    return [SlotsSet(ref, now_ms, action, check.problem or "", invite_check=check, by=by)]


def checked_at_save(ref: str, check: InviteCheck, now_ms: int, *, by: Actor) -> Event:
    """Return the event that follows a submission or an edit: the answer about its valid invite."""
    return SlotsSet(ref, now_ms, invite_check=check, by=by)


def _code(row: Listing) -> str | None:
    return kind_of(row.ref).invite_code(row.profile)
