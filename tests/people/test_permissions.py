"""people/permissions.py: the rights of each relation to a listing."""

from typing import get_args

import pytest
from msgspec.structs import replace

from core.actors import user_actor
from core.rows import HandOver, Listing, Reviewed
from people.permissions import RIGHTS, Right, rights
from tests.support.co_owners import co_owner
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

ROW = Listing(
    *(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS),
    Reviewed("in_review", NOW_MS),
    co_owners=(co_owner(OTHER_USER),),
)
INVITING = replace(ROW, co_owners=(co_owner(OTHER_USER, joined=False),))
OFFERED = replace(ROW, co_owners=(), hand_over=HandOver(user_actor(OTHER_USER), NOW_MS, NOW_MS + 1))
ALL = {*get_args(Right)}
OF_OWNERS = ALL - {"review", "decide", "answer"}
OF_MODERATORS = {"see", "review", "decide"}


@pytest.mark.parametrize(
    ("user", "is_moderator", "allowed"),
    [
        (OWNER, False, OF_OWNERS - {"leave"}),
        (OTHER_USER, False, OF_OWNERS - {"own", "remove", "prove"}),
        (USER, False, set()),
        (USER, True, OF_MODERATORS),
        (OWNER, True, OF_OWNERS - {"leave"} | {"review"}),
        (OTHER_USER, True, OF_OWNERS - {"own", "remove", "prove"} | {"review"}),
    ],
    ids=["owner", "extra owner", "stranger", "moderator", "owning moderator", "moderator as extra owner"],
)
def test_everybody_may_do_what_the_table_says(user: str, is_moderator: bool, allowed: set[Right]) -> None:
    assert rights(user, ROW, is_moderator=is_moderator) == allowed


@pytest.mark.parametrize("row", [INVITING, OFFERED], ids=["invited", "successor"])
def test_who_is_named_may_answer_and_a_moderator_keeps_every_right(row: Listing) -> None:
    assert rights(OTHER_USER, row, is_moderator=False) == {"answer"}
    assert rights(OTHER_USER, row, is_moderator=True) == {"answer", *OF_MODERATORS}


def test_every_right_is_somebody_s() -> None:
    assert set(RIGHTS) == ALL
    assert all(RIGHTS.values())
