"""Pages of users. Law: a cursor names the last row shown; rows may come and go meanwhile."""

from bisect import bisect_right

from core.state import State
from core.user_rows import UserRow, user_ref


def users_page(state: State, *, after: str | None, limit: int) -> tuple[list[UserRow], str | None]:
    """Return up to `limit` users, ordered by their ids as text, and the next cursor or None."""
    refs = state.users.refs
    start = bisect_right(refs, user_ref(after or ""))
    found = [state.users[ref] for ref in refs[start : start + limit]]
    return found, found[-1].id if start + limit < len(refs) else None
