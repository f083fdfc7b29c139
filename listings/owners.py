"""The rules of who owns a listing. Invariant: nobody gets rights or duties before they agree.

    a co-owner    invited -> accepted -> has left, or was removed
                     `-----> declined, or withdrawn
    a hand-over   offered -> accepted within 7 days -> the successor is the owner
                     `-----> declined, withdrawn, or lapsed
    a take-over   the claimant proves to own the listing -> the claimant is the owner

Only some kinds have co-owners (`CoOwnersPart`). A new owner alone decides about co-owners, so invitations end
with a hand-over; the former owner stays as a co-owner if there is room.

A take-over depends on the proof of the claimant, and on that of the owner:

    listing   proof of the claimant                            owner unproven   owner proven
    bot       its public description holds their code          taken over       refused
    server    the platform names them as the server's owner    taken over       taken over
    server    the platform says that they may manage it        taken over       refused
    template  the platform says that they made it              taken over       taken over

The operator can hand over what is refused here. Votes, counts, profile and review stay: the new owner edits a
denied listing and sends it again. Its API keys, its webhook with all deliveries, and its co-owners end. Both
owners get a notice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from core.actors import OPERATOR, UNKNOWN, Actor, user_actor
from core.clock import MS_PER_DAY
from core.events import CoOwnerSaved, CoOwnersEnded, Event, ListingTakenOver, OwnerSet, SlotsSet
from core.rows import CoOwner, CoOwnersAction, HandOver, Key, Listing, OwnerAction, Proof
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.said import Code

OFFER_MS = 7 * MS_PER_DAY
"""The time for which an offer of a listing can be accepted."""
CODE_PREFIX = "verify-"
CODE_CHARACTERS = 10
CodeOf = Callable[[str, str], str]
"""Returns the code of a listing's ref and a user's id. A bot's public description holds it as a proof."""
Evidence = Literal["code", "server owner", "server manager", "template creator"]
"""The proof of a claimant, from an answer of the platform."""
_REFUSED_BY_PROOF: Mapping[Evidence, Code] = {
    "code": "owner_proven",
    "server manager": "owner_proven_server",
}
"""The evidence that is not enough against an owner who has proven to own the listing."""


# -- Co-owners --------------------------------------------------------------------------------------------


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
    after_ms = now_ms + 1  # an audit log is in the order of times, and this follows the submission
    invited = (CoOwner(new_id(), user_actor(user), now_ms) for user in users)
    return [CoOwnerSaved(ref, each, after_ms, by=by) for each in invited]


def accept_invitation(row: Listing, user: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the invited user a co-owner. Raises Refusal."""
    if user in row.extra_owners:
        return []
    invitation = next((each for each in row.co_owners if each.user == user_actor(user)), None)
    if invitation is None or user not in row.invited:
        raise Refusal("no_invitation")
    return [CoOwnerSaved(row.ref, replace(invitation, joined_ms=now_ms), now_ms, by=by)]


def end_co_owner(row: Listing, user: str, now_ms: int, *, by: Actor) -> list[Event]:
    """End the invitation or the co-ownership of a user. The user and the owner may. Raises Refusal."""
    ids = tuple(each.id for each in row.co_owners if each.user == user_actor(user))
    if not ids:
        raise Refusal("no_extra_owner")
    is_own = by == user_actor(user)
    action: CoOwnersAction
    if user in row.extra_owners:
        action = "co_owner_left" if is_own else "co_owner_removed"
    else:
        action = "invitation_declined" if is_own else "invitation_withdrawn"
    return [CoOwnersEnded(row.ref, ids, action, now_ms, by=by)]


def keys_of_others(row: Listing) -> Sequence[Key]:
    """Return the keys whose makers are not all owners now, and may still know the values.

    The operator's keys are not among them.
    """
    owners = {user_actor(user) for user in (row.owner_id, *row.extra_owners)}
    return [key for key in row.keys if any(maker not in owners and maker != OPERATOR for maker in key.makers)]


# -- A hand-over ------------------------------------------------------------------------------------------


def open_offer(row: Listing, now_ms: int) -> HandOver | None:
    """Return the offer that can be accepted now."""
    offered = row.hand_over
    return offered if offered is not None and now_ms < offered.until_ms else None


def is_offered_to(row: Listing, user: str) -> bool:
    """Return true if the ownership is offered to the user. The offer may have lapsed."""
    return row.hand_over is not None and row.hand_over.successor == user_actor(user)


def is_asked(row: Listing, user: str, now_ms: int) -> bool:
    """Return true if the listing asks the user to become an owner, and the user may accept now."""
    return user in row.invited or (is_offered_to(row, user) and open_offer(row, now_ms) is not None)


def offer(row: Listing, successor: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Offer the listing to a user, in place of an earlier offer. Raises Refusal."""
    if successor == row.owner_id:
        raise Refusal("owns_already")
    offered = HandOver(user_actor(successor), now_ms, now_ms + OFFER_MS)
    return [OwnerSet(row.ref, row.owner_id, offered, "hand_over_offered", now_ms, by=by)]


def accept_offer(row: Listing, successor: str, new_id: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the successor the owner. Raises Refusal if nothing is offered to that user now."""
    if open_offer(row, now_ms) is None or not is_offered_to(row, successor):
        raise Refusal("no_hand_over")
    events = hand_over(row, successor, now_ms, by=by)
    others = [user for user in row.extra_owners if user != successor]
    if len(others) < most_co_owners(row.ref):
        former = CoOwner(new_id, user_actor(row.owner_id), now_ms, now_ms)
        events.append(CoOwnerSaved(row.ref, former, now_ms, by=UNKNOWN))
    return events


def end_offer(row: Listing, now_ms: int, *, by: Actor) -> list[Event]:
    """Decline or withdraw the offer, even if it has lapsed. Raises Refusal."""
    offered = row.hand_over
    if offered is None:
        raise Refusal("no_hand_over")
    action: OwnerAction = "hand_over_declined" if by == offered.successor else "hand_over_withdrawn"
    return [OwnerSet(row.ref, row.owner_id, None, action, now_ms, by=by)]


def hand_over(row: Listing, successor: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the successor the owner at once. The former owner keeps no right."""
    new = user_actor(successor)
    over = tuple(each.id for each in row.co_owners if each.joined_ms is None or each.user == new)
    events: list[Event] = [OwnerSet(row.ref, successor, None, "handed_over", now_ms, by=by)]
    if over:  # its actor is unknown, because it is a part of the same action
        events.append(CoOwnersEnded(row.ref, over, "invitation_withdrawn", now_ms, by=UNKNOWN))
    return events


# -- Proofs, and a take-over ------------------------------------------------------------------------------


def code_maker(digest: Callable[[str], str]) -> CodeOf:
    """Return the function that makes the codes of a deployment. `digest` makes a keyed digest of a text."""
    return lambda ref, user_id: CODE_PREFIX + digest(f"prove {ref} {user_id}")[:CODE_CHARACTERS]


def is_proven(row: Listing) -> bool:
    """Return true if the present owner has proven to control the bot or to manage the server."""
    return row.proof is not None and row.proof.by == user_actor(row.owner_id)


def prove_ownership(row: Listing, description: str, code: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Note that the owner controls the bot: its public description holds the code.

    Raises Refusal if it does not, or if the actor is not the owner.
    """
    if by != user_actor(row.owner_id):
        raise Refusal("owner_proves")
    if code not in description:
        raise Refusal("no_code")
    if is_proven(row):
        return []
    return [SlotsSet(row.ref, now_ms, "ownership_proven", proof=Proof(now_ms, by), by=by)]


def take_over_refusal(row: Listing, user_id: str, evidence: Evidence) -> Code | None:
    """Return why the user cannot take the listing over; None if nothing forbids it."""
    if row.owner_id == user_id:
        return "own_listing"
    return _REFUSED_BY_PROOF.get(evidence) if is_proven(row) else None


def take_over(row: Listing, user_id: str, evidence: Evidence, now_ms: int) -> list[Event]:
    """Make the user the owner. Raises Refusal.

    Args:
        evidence: the proof that the platform has just given.
    """
    reason = take_over_refusal(row, user_id, evidence)
    if reason is not None:
        raise Refusal(reason)
    return [
        SlotsSet(row.ref, now_ms, webhook=None, by=UNKNOWN),
        ListingTakenOver(row.ref, user_id, row.owner_id, now_ms, by=user_actor(user_id)),
    ]
