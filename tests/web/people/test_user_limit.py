"""web/people/user_limit.py: each user has a limit of one's own."""

import pytest

from core.rows import Policy
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER
from web.json_answers import AnswerRefused
from web.people.user_limit import UserLimit


def test_who_acts_too_often_is_refused_until_the_window_ends_and_others_are_not() -> None:
    clock = FakeClock(NOW_MS)
    limit = UserLimit(Policy(2, 60), clock)
    limit.take(USER)
    limit.take(USER)
    with pytest.raises(AnswerRefused) as refused:
        limit.take(USER)
    reply = refused.value.reply
    assert reply.limits is not None
    assert (reply.status, reply.limits.reset_seconds) == (429, 60)
    limit.take(OTHER_USER)
    clock.advance(60)
    limit.take(USER)
