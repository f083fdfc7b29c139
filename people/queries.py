"""Users: pages of them, and names of some."""

from collections.abc import Iterable, Mapping

from core.state import State
from core.user_rows import UserRow, user_ref
from search.paging import ListPage, page_of, rows_behind


def users_page(state: State, *, after: str | None, limit: int) -> ListPage[UserRow]:
    """Return a page of the users, ordered by their ids as text."""
    behind = rows_behind(state.users.refs, user_ref(after or ""))
    return page_of((state.users[ref] for ref in behind), limit, lambda row: row.id)


def names_of(state: State, user_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of those of the users who have signed in here."""
    rows = {user_id: state.users.get(user_ref(user_id)) for user_id in user_ids}
    return {
        user_id: row.profile.shown_name
        for user_id, row in rows.items()
        if row is not None and row.profile is not None
    }
