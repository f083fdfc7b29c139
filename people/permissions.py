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

Moderators are named in the settings, or appointed by the operator. A role that is taken away holds in no
session any more, because each check reads the state again.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from core.actors import MODERATOR, Actor, user_of
from core.events import Event, UserSlotsSet
from core.rows import AuditAction, Decision, Listing
from core.state import State
from core.user_rows import user_ref
from languages.refusals import Refusal

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

ACTIONS_OF_MODERATORS: frozenset[AuditAction] = frozenset(
    {*get_args(Decision), "votes_struck", "rating_removed", "reports_settled"}
)
"""The actions in an audit log for which a moderator needs the right `decide`."""


def relations(user_id: str, row: Listing, *, is_moderator: bool) -> frozenset[Relation]:
    """Return the relations of the user to the listing."""
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
    """Return the actor of a moderator's action as others read it. The operator stays named."""
    return MODERATOR if user_of(moderator) is not None else moderator


ModeratorSource = Literal["settings", "appointed"]
"""Where a moderator's role comes from: the settings, which alone can end it, or somebody's appointment."""


class Moderators:
    """The moderators of a deployment.

    Args:
        named: the ids of users in the settings.
    """

    def __init__(self, state: State, named: frozenset[str]) -> None:
        self._state = state
        self._named = named

    def has(self, user_id: str) -> bool:
        return self.source(user_id) is not None

    def source(self, user_id: str) -> ModeratorSource | None:
        """Return where the user's role comes from; None for one who does not moderate."""
        if user_id in self._named:
            return "settings"
        row = self._state.users.get(user_ref(user_id))
        return "appointed" if row is not None and row.role == "moderator" else None

    def sources(self) -> dict[str, ModeratorSource]:
        """Return where the roles of all moderators come from, by their ids and in the order of these."""
        appointed = {self._state.users[ref].id for ref in self._state.users.with_role}
        ids = sorted(self._named | appointed)
        return {user_id: "settings" if user_id in self._named else "appointed" for user_id in ids}

    def refuse_moderator(self, user_id: str) -> None:
        """Raise Refusal for a user who moderates: no moderator has power over another one, or over
        themselves."""
        if self.has(user_id):
            raise Refusal("is_moderator")

    def appoint(self, user_id: str, now_ms: int, *, by: Actor) -> list[Event]:
        """Make a user a moderator, also one who has never signed in."""
        if self.has(user_id):
            return []
        return [UserSlotsSet(user_ref(user_id), now_ms, role="moderator", by=by)]

    def dismiss(self, user_id: str, now_ms: int, *, by: Actor) -> list[Event]:
        """Take the role away. Raises Refusal for one whom the settings name."""
        if user_id in self._named:
            raise Refusal("moderator_by_settings")
        return [UserSlotsSet(user_ref(user_id), now_ms, role=None, by=by)] if self.has(user_id) else []
