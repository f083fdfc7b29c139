"""The rule of a take-over: who proves to own a listing gets it from an owner who has not.

    listing   what the claimant shows                          owner unproven   owner proven
    bot       its public description holds their code          taken over       refused
    server    the platform names them as the server's owner    taken over       taken over
    server    the platform says that they may manage it        taken over       refused

The operator can hand over what is refused here. Votes, counts, profile and review stay: the new owner edits a
denied listing and sends it again. Its API keys, its webhook with all deliveries, and its extra owners end.
Both owners read a notice of it.
"""

from collections.abc import Mapping
from typing import Literal

from core.actors import UNKNOWN, user_actor
from core.events import Event, ListingTakenOver, SlotsSet
from core.refusals import Refusal
from core.rows import Listing
from core.state import State
from languages.said import Code
from listings.review import is_proven
from listings.rules import listing_of

Evidence = Literal["code", "server owner", "server manager"]
"""The proof that a claimant has given, from an answer of the platform."""
_REFUSED_BY_PROOF: Mapping[Evidence, Code] = {
    "code": "owner_proven",
    "server manager": "owner_proven_server",
}
"""The evidence that is not enough against an owner who has proven to own the listing."""


def refusal(row: Listing, user_id: str, evidence: Evidence) -> Code | None:
    """Return the reason for which the user cannot take the listing over; None if nothing forbids it."""
    if row.owner_id == user_id:
        return "own_listing"
    return _REFUSED_BY_PROOF.get(evidence) if is_proven(row) else None


def take_over(state: State, ref: str, user_id: str, evidence: Evidence, now_ms: int) -> list[Event]:
    """Make the user the owner. Raises Refusal.

    Args:
        evidence: what the platform has just said of the user.
    """
    row = listing_of(state, ref)
    reason = refusal(row, user_id, evidence)
    if reason is not None:
        raise Refusal(reason)
    return [
        SlotsSet(ref, now_ms, webhook=None, by=UNKNOWN),
        ListingTakenOver(ref, user_id, row.owner_id, now_ms, by=user_actor(user_id)),
    ]
