"""people/permissions.py: the table as SITE's sentence on roles says it."""

from typing import get_args

import pytest
from msgspec.structs import replace

from core.rows import Listing
from people.permissions import RIGHTS, Right, rights
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, SERVER_PROFILE, USER

ROW = Listing(BOT_REF, OWNER, replace(BOT_PROFILE, extra_owners=(OTHER_USER,)), "in_review", NOW_MS, NOW_MS)
ALL = {*get_args(Right)}
OF_MODERATORS = {"see", "review", "decide"}


@pytest.mark.parametrize(
    ("user", "is_moderator", "allowed"),
    [
        (OWNER, False, ALL - {"review", "decide"}),
        (OTHER_USER, False, ALL - {"review", "decide", "own", "remove", "prove"}),
        (USER, False, set()),
        (USER, True, OF_MODERATORS),
        (OWNER, True, ALL - {"decide"}),
        (OTHER_USER, True, ALL - {"decide", "own", "remove", "prove"}),
    ],
    ids=["owner", "extra owner", "stranger", "moderator", "owning moderator", "moderator as extra owner"],
)
def test_everybody_may_do_what_the_table_says(user: str, is_moderator: bool, allowed: set[Right]) -> None:
    assert rights(user, ROW, is_moderator=is_moderator) == allowed


def test_a_server_has_no_extra_owners() -> None:
    row = replace(ROW, ref="servers/1", profile=SERVER_PROFILE)
    assert rights(OTHER_USER, row, is_moderator=False) == set()
    assert rights(OWNER, row, is_moderator=False) >= {"edit", "webhook"}


def test_every_right_is_somebody_s() -> None:
    assert set(RIGHTS) == ALL
    assert all(RIGHTS.values())
