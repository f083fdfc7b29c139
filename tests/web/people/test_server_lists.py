"""web/people/server_lists.py: lists of servers are kept in memory, for a while, and not too many."""

from chatplatform.answers import PlatformServer
from core.clock import NS_PER_SECOND
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import OTHER_USER, USER
from web.people.server_lists import KEPT_NS, MOST_USERS, ServerLists

MANAGED = PlatformServer("300000000000000001", "Mine", may_manage=True)
JOINED = PlatformServer("300000000000000002", "Theirs")


def test_servers_that_the_user_manages_are_kept_and_no_others() -> None:
    lists = ServerLists(FakeClock())
    lists.keep(USER, (MANAGED, JOINED))
    known = lists.of(USER)
    assert known is not None
    assert known.is_known
    assert (known.of(MANAGED.id), known.of(JOINED.id)) == (MANAGED, None)
    assert lists.of(OTHER_USER) is None


def test_a_list_is_gone_after_ten_minutes() -> None:
    clock = FakeClock()
    lists = ServerLists(clock)
    lists.keep(USER, (MANAGED,))
    clock.advance(KEPT_NS / NS_PER_SECOND - 1)
    assert lists.of(USER) is not None
    clock.advance(1)
    assert lists.of(USER) is None


def test_a_platform_that_says_nothing_is_known_to_have_said_nothing() -> None:
    lists = ServerLists(FakeClock())
    lists.keep(USER, None)
    known = lists.of(USER)
    assert known is not None
    assert (known.is_known, known.servers) == (False, [])


def test_the_oldest_lists_go_first() -> None:
    lists = ServerLists(FakeClock())
    for number in range(MOST_USERS + 1):
        lists.keep(str(number), (MANAGED,))
    assert (lists.of("0"), lists.of("1") is not None) == (None, True)
    lists.forget("1")
    assert lists.of("1") is None


def test_a_sign_in_reads_the_list_for_those_who_list_servers_alone() -> None:
    wanted = ["/servers/new", "/servers/new?id=1", "/servers/1/manage", "/servers/1/manage/webhook"]
    others = ["/", "/me", "/bots/new", "/servers", "/servers/1", "/servers/1/vote", "/servers/newer"]
    assert [page for page in (*wanted, *others) if ServerLists.is_wanted(page)] == wanted
