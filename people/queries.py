"""Pages of users."""

from core.state import State
from core.user_rows import UserRow, user_ref
from search.paging import ListPage, page_of, rows_behind


def users_page(state: State, *, after: str | None, limit: int) -> ListPage[UserRow]:
    """Return a page of the users, ordered by their ids as text."""
    behind = rows_behind(state.users.refs, user_ref(after or ""))
    return page_of((state.users[ref] for ref in behind), limit, lambda row: row.id)
