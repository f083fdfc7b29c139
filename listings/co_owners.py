"""The rules of co-owners. Invariant: nobody gets rights, duties or messages by being named.

    invited -> accepted -> has left, or was taken out
       `-----> declined, or withdrawn

A server has no co-owners, by contract: its routes offer none.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from core.actors import OPERATOR, Actor, user_actor
from core.events import CoOwnerSaved, CoOwnersEnded, Event
from core.refusals import Refusal
from core.rows import CoOwner, CoOwnersAction, Key, Listing
from kinds.registry import kind_of


def most_co_owners(ref: str) -> int:
    """Return the number of co-owners and invitations together that a listing may have."""
    part = kind_of(ref).co_owners
    return part.most if part is not None else 0


def invite(row: Listing, user: str, new_id: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Invite a user, unless that was done before. Raises Refusal."""
    if user == row.owner_id:
        raise Refusal("owns_already")
    known = {*row.extra_owners, *row.invited}
    if user in known:
        return []
    most = most_co_owners(row.ref)
    if len(known) >= most:
        raise Refusal("too_many_owners", most=most)
    return [CoOwnerSaved(row.ref, CoOwner(new_id, user_actor(user), now_ms), now_ms, by=by)]


def invited_at_submission(
    ref: str, users: Iterable[str], new_id: Callable[[], str], now_ms: int, *, by: Actor
) -> list[Event]:
    """Invite the users whom a submission names, in its record. Its form bounds their number."""
    after_ms = now_ms + 1  # an audit log is in the order of times, and this comes after the submission
    invited = (CoOwner(new_id(), user_actor(user), now_ms) for user in users)
    return [CoOwnerSaved(ref, each, after_ms, by=by) for each in invited]


def accept(row: Listing, user: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the invited user a co-owner. Raises Refusal."""
    if user in row.extra_owners:
        return []
    invitation = next((each for each in row.co_owners if each.user == user_actor(user)), None)
    if invitation is None or user not in row.invited:
        raise Refusal("no_invitation")
    return [CoOwnerSaved(row.ref, replace(invitation, joined_ms=now_ms), now_ms, by=by)]


def end(row: Listing, user: str, now_ms: int, *, by: Actor) -> list[Event]:
    """End the invitation or the co-ownership of a user, who may wish it, or the owner. Raises Refusal."""
    ids = tuple(each.id for each in row.co_owners if each.user == user_actor(user))
    if not ids:
        raise Refusal("no_extra_owner")
    is_own = by == user_actor(user)
    deed: CoOwnersAction
    if user in row.extra_owners:
        deed = "co_owner_left" if is_own else "co_owner_removed"
    else:
        deed = "invitation_declined" if is_own else "invitation_withdrawn"
    return [CoOwnersEnded(row.ref, ids, deed, now_ms, by=by)]


def keys_of_others(row: Listing) -> Sequence[Key]:
    """Return the keys whose values were made by somebody who is no owner any more, and may know them still.

    The operator's keys are none of these.
    """
    owners = {user_actor(user) for user in (row.owner_id, *row.extra_owners)}
    return [key for key in row.keys if any(maker not in owners and maker != OPERATOR for maker in key.makers)]
