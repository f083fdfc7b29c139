"""Moderators: named in the settings, or appointed by the operator.

Invariant: a role that is taken away holds in no session any more, because each check reads the state again.
"""

from typing import Literal

from core.actors import Actor
from core.events import Event, UserSlotsSet
from core.refusals import Refusal
from core.state import State
from core.user_rows import user_ref

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
