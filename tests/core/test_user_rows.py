"""core/user_rows.py: the properties of the row of a user."""

import pytest

from core.actors import OPERATOR, user_actor
from core.user_rows import Quarantine, UserRow, UserSession, user_ref
from tests.support.sample_rows import NOW_MS, USER

SESSION = UserSession("d1", "Firefox on Linux", NOW_MS, NOW_MS)
ROW = UserRow(user_ref(USER), NOW_MS, sessions=(SESSION,))


def test_a_ref_is_the_name_of_the_user_as_an_actor() -> None:
    assert ROW.id == USER
    assert user_ref(USER) == user_actor(USER)


def test_a_session_is_found_by_its_digest() -> None:
    assert ROW.session("d1") == SESSION
    assert ROW.session("d2") is None


@pytest.mark.parametrize(
    ("until_ms", "now_ms", "is_in_force"),
    [(None, NOW_MS + 10**12, True), (NOW_MS + 1, NOW_MS, True), (NOW_MS, NOW_MS, False)],
)
def test_a_quarantine_is_in_force_up_to_its_end(until_ms: int | None, now_ms: int, is_in_force: bool) -> None:
    quarantine = Quarantine("vote", "Why.", OPERATOR, NOW_MS, until_ms)
    row = UserRow(user_ref(USER), NOW_MS, quarantines=(quarantine,))
    assert (row.quarantine("vote", now_ms) == quarantine) is is_in_force
    assert row.quarantine("submit", now_ms) is None
