"""Names of users for pages. Only users who have signed in here have one."""

from collections.abc import Iterable, Mapping

from core.state import State
from core.user_rows import user_ref


def names_of(state: State, user_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of those of the users who have signed in here."""
    rows = {user_id: state.users.get(user_ref(user_id)) for user_id in user_ids}
    return {
        user_id: row.profile.shown_name
        for user_id, row in rows.items()
        if row is not None and row.profile is not None
    }
