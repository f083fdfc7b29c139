"""web/people/user_limit.py: each user has a limit of one's own."""

import pytest

from core.clock import FakeClock
from core.rows import Policy
from handlers.reply import reply_to
from ratelimit.bucket import TooMany
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER
from web.people.user_limit import UserLimit


def test_who_acts_too_often_is_refused_until_the_window_ends_and_others_are_not() -> None:
    clock = FakeClock(NOW_MS)
    limit = UserLimit(Policy(2, 60), clock)
    limit.take(USER)
    limit.take(USER)
    with pytest.raises(TooMany) as refused:
        limit.take(USER)
    reply = reply_to(refused.value)
    assert reply.limits is not None
    assert (reply.status, reply.limits.reset_seconds) == (429, 60)
    limit.take(OTHER_USER)
    clock.advance(60)
    limit.take(USER)
