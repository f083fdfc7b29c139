"""The permissions on listings, in one table. Invariant: what is not in it is not allowed.

    owner         everything that an owner does
    extra owner   the same, but for the owners and the removal; may leave
    invited       sees the invitation, or the hand-over that is offered, and answers; nothing else
    moderator     what a review takes; never keys or the webhook, which are secrets of the owners
    stranger      nothing

An owner names the invited, so their other rights stay as they are: nobody can shut a moderator out.

A moderator who also owns a listing has both rights, but decides nothing about that listing. The operator may
do everything, and is not asked about.

Owners, and users under quarantine, read that a moderator decided, never which one: nobody can take revenge.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from core.actors import MODERATOR, Actor, user_of
from core.rows import AuditAction, Decision, Listing

Relation = Literal["owner", "extra owner", "invited", "moderator"]
Right = Literal[
    "see", "edit", "keys", "webhook", "prove", "own", "leave", "remove", "answer", "review", "decide"
]
"""`see`: state, profile and history. `own`: to say who the owners are. `leave`: to be an owner no longer.
`answer`: to accept an invitation or a hand-over, or to decline it. `review`: to claim, and to note."""

_OWNERS: frozenset[Relation] = frozenset({"owner", "extra owner"})
_OWNER: frozenset[Relation] = frozenset({"owner"})
_MODERATOR: frozenset[Relation] = frozenset({"moderator"})
RIGHTS: Mapping[Right, frozenset[Relation]] = {
    "see": _OWNERS | _MODERATOR,
    "edit": _OWNERS,
    "keys": _OWNERS,
    "webhook": _OWNERS,
    "prove": _OWNER,
    "own": _OWNER,
    "leave": frozenset({"extra owner"}),
    "remove": _OWNER,
    "answer": frozenset({"invited"}),
    "review": _MODERATOR,
    "decide": _MODERATOR,
}

DEEDS_OF_MODERATORS: frozenset[AuditAction] = frozenset({*get_args(Decision), "votes_struck"})
"""The deeds in the trail of a listing for which a moderator needs the right `decide`."""


def relations(user_id: str, row: Listing, *, is_moderator: bool) -> frozenset[Relation]:
    """Return what the user is to the listing."""
    found = set[Relation]()
    if user_id == row.owner_id:
        found.add("owner")
    elif user_id in row.extra_owners:
        found.add("extra owner")
    if user_id in row.asked:
        found.add("invited")
    if is_moderator:
        found.add("moderator")
    return frozenset(found)


def rights(user_id: str, row: Listing, *, is_moderator: bool) -> frozenset[Right]:
    """Return everything that the user may do with the listing."""
    mine = relations(user_id, row, is_moderator=is_moderator)
    allowed = {right for right, relations in RIGHTS.items() if relations & mine}
    return frozenset(allowed - {"decide"} if mine & _OWNERS else allowed)


def unnamed(moderator: Actor) -> Actor:
    """Return the actor of a moderator's deed as others read it. The operator stays named."""
    return MODERATOR if user_of(moderator) is not None else moderator
