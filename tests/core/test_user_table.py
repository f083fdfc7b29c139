"""core/user_table.py: the index of sessions follows every change; its laws are also in test_state_laws.py."""

from core.user_rows import UserRow, UserSession
from core.user_table import UserTable
from tests.support.sample_rows import NOW_MS


def a_row(ref: str, *digests: str, is_moderator: bool = False) -> UserRow:
    sessions = tuple(UserSession(digest, "Firefox", NOW_MS, NOW_MS) for digest in digests)
    return UserRow(ref, NOW_MS, sessions=sessions, role="moderator" if is_moderator else None)


def test_rows_are_found_by_ref_and_by_session() -> None:
    table = UserTable()
    table.put(a_row("users/2", "d1", "d2"))
    table.put(a_row("users/1", is_moderator=True))
    assert list(table.refs) == ["users/1", "users/2"]
    assert dict(table.by_session) == {"d1": "users/2", "d2": "users/2"}
    assert set(table.with_role) == {"users/1"}
    assert (len(table), table["users/1"].role) == (2, "moderator")


def test_a_row_takes_the_place_of_the_one_before() -> None:
    table = UserTable()
    table.put(a_row("users/1", "d1", "d2", is_moderator=True))
    table.put(a_row("users/1", "d2", "d3"))
    assert list(table.refs) == ["users/1"]
    assert set(table.by_session) == {"d2", "d3"}
    assert not table.with_role


def test_nothing_stays_of_a_row_that_was_removed() -> None:
    table = UserTable()
    table.put(a_row("users/1", "d1", is_moderator=True))
    table.put(a_row("users/2"))
    table.remove("users/1")
    table.remove("users/3")
    assert list(table.refs) == list(table) == ["users/2"]
    assert (dict(table.by_session), set(table.with_role)) == ({}, set())


def test_loaded_rows_are_in_order_whatever_order_they_came_in() -> None:
    table = UserTable()
    table.load(a_row("users/2", "d1"))
    table.load(a_row("users/1", is_moderator=True))
    table.loaded()
    assert list(table.refs) == ["users/1", "users/2"]
    assert dict(table.by_session) == {"d1": "users/2"}
    assert set(table.with_role) == {"users/1"}
