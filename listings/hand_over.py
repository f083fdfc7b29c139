"""The rules of a hand-over. Invariant: an owner's offer changes nothing until the heir accepts it.

    offered -> accepted within 7 days -> the heir is the owner
       `-----> declined, withdrawn, or lapsed

A new owner says alone who else owns the listing, so invitations end with a hand-over. The former owner of a
bot stays as a co-owner if there is room for one.
"""

from core.actors import UNKNOWN, Actor, user_actor
from core.clock import MS_PER_DAY
from core.events import CoOwnerSaved, CoOwnersEnded, Event, OwnerSet
from core.refusals import Refusal
from core.rows import CoOwner, HandOver, Listing, OwnerAction
from listings.co_owners import most_co_owners

LASTS_MS = 7 * MS_PER_DAY


def standing(row: Listing, now_ms: int) -> HandOver | None:
    """Return the offer that can be accepted now."""
    offered = row.hand_over
    return offered if offered is not None and now_ms < offered.until_ms else None


def offer(row: Listing, heir: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Offer the listing to a user, in place of an earlier offer. Raises Refusal."""
    if heir == row.owner_id:
        raise Refusal("owns_already")
    offered = HandOver(user_actor(heir), now_ms, now_ms + LASTS_MS)
    return [OwnerSet(row.ref, row.owner_id, offered, "hand_over_offered", now_ms, by=by)]


def accept(row: Listing, heir: str, new_id: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the heir the owner. Raises Refusal if nothing is offered to that user now."""
    offered = standing(row, now_ms)
    if offered is None or offered.successor != user_actor(heir):
        raise Refusal("no_hand_over")
    events = hand_over(row, heir, now_ms, by=by)
    others = [user for user in row.extra_owners if user != heir]
    if len(others) < most_co_owners(row.ref):
        former = CoOwner(new_id, user_actor(row.owner_id), now_ms, now_ms)
        events.append(CoOwnerSaved(row.ref, former, now_ms, by=UNKNOWN))
    return events


def end(row: Listing, now_ms: int, *, by: Actor) -> list[Event]:
    """Decline or withdraw the offer, also one that has lapsed. Raises Refusal."""
    offered = row.hand_over
    if offered is None:
        raise Refusal("no_hand_over")
    deed: OwnerAction = "hand_over_declined" if by == offered.successor else "hand_over_withdrawn"
    return [OwnerSet(row.ref, row.owner_id, None, deed, now_ms, by=by)]


def hand_over(row: Listing, heir: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Make the heir the owner at once, and the former owner nothing."""
    over = tuple(each.id for each in row.co_owners if each.joined_ms is None or each.user == user_actor(heir))
    events: list[Event] = [OwnerSet(row.ref, heir, None, "handed_over", now_ms, by=by)]
    if over:  # nobody is named as the one who did it: it is a part of the same act
        events.append(CoOwnersEnded(row.ref, over, "invitation_withdrawn", now_ms, by=UNKNOWN))
    return events
