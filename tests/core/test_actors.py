"""core/actors.py: the names of actors."""

from core.actors import ERASED, GATEWAY, OPERATOR, UNKNOWN, user_actor, user_of
from tests.support.sample_rows import USER


def test_a_user_is_found_in_the_actor_that_names_them_and_in_no_other() -> None:
    assert user_of(user_actor(USER)) == USER
    assert [user_of(actor) for actor in (OPERATOR, GATEWAY, ERASED, UNKNOWN)] == [None] * 4
