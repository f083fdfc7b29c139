"""The flagged votes of a listing. Law: flags may come in any order, and more than once.

A flag outlives the name of its voter: an erased user is struck out of it, as of the trail. So the nodes of a
fleet keep the same flags, whoever heard of an erasure first.
"""

from msgspec import UNSET, UnsetType

from core.actors import user_actor
from core.events import VoteFlagged
from core.rows import Stamp, VoteFlag
from core.trail import in_order_once

KEPT = 50  # of one listing
Flags = tuple[VoteFlag, ...] | UnsetType


def flagged(known: Flags, event: VoteFlagged, stamp: Stamp | None) -> Flags:
    """Return the flags with that of the event. `stamp` is given inside a fleet only."""
    at = Stamp(event.at_ms) if stamp is None else stamp
    flag = VoteFlag(at.ms, user_actor(event.user), event.rule, event.flag_id, at.node)
    return joined_flags(known, (flag,))


def joined_flags(one: Flags, other: Flags) -> Flags:
    """Return the flags that a listing keeps: the newest, in the order of their times."""
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    return in_order_once((*one, *other), lambda flag: (flag.at_ms, flag.node, flag.id))[-KEPT:]
