"""Whether owners may see a voter's name. Law: nobody is named who has not asked for it."""

from core.actors import Actor
from core.events import Event, UserSlotsSet
from core.state import State
from core.user_rows import Naming, user_ref
from languages.refusals import Refusal


def set_naming(state: State, user_id: str, now_ms: int, *, is_allowed: bool, by: Actor) -> list[Event]:
    """Let owners see the user's name among their top voters, or not any more.

    Changes nothing if that is so already. Raises Refusal.
    """
    row = state.users.get(user_ref(user_id))
    if row is None:
        raise Refusal("no_such_user")
    if row.lets_name == is_allowed:
        return []
    return [UserSlotsSet(row.ref, now_ms, naming=Naming(now_ms, is_allowed), by=by)]
