"""pages/platform_facts.py: limits of questions, checks of servers, and the age of a list of servers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from chatplatform.answers import PlatformServer
from chatplatform.listing_checks import ServerConditions
from chatplatform.platform_client import PlatformAway, open_chat_platform
from core.clock import NS_PER_SECOND, SystemClock
from pages.platform_facts import KEPT_NS, LOOK_UPS, MOST_USERS, ServerChecking, ServerLists
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLIENT_ID, GOOD_SERVER, READY, StandIn, standing_in
from tests.support.sample_rows import OTHER_USER, USER


def test_a_user_looks_up_so_many_in_a_minute_and_others_none_the_less(
    gateway: PeopleGateway, ada: Person
) -> None:
    path, ben = f"/bots/new?id={READY}", gateway.person(BEN)
    for _ in range(LOOK_UPS.requests):
        ada.page(path)
    asked = gateway.stand_in.asked(f"/applications/{READY}/rpc")
    refused = ada.get(path)
    assert (refused.status_code, "One moment, please" in refused.text) == (429, True)
    assert gateway.stand_in.asked(f"/applications/{READY}/rpc") == asked
    ben.page(path)
    gateway.clock.advance(LOOK_UPS.window_seconds)
    ada.page(path)


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


MINE = PlatformServer(GOOD_SERVER, "Mine", None, True, True, "yes", 250, "yes")


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@asynccontextmanager
async def checking(stand_in: StandIn, *, has_bot: bool = True) -> AsyncIterator[ServerChecking]:
    clock = SystemClock()
    access = stand_in.access if has_bot else replace(stand_in.access, bot_token="")
    lists = ServerLists(clock)
    lists.keep(ADA, (MINE,))
    opening = open_chat_platform(access, clock, deadline_seconds=WAIT_SECONDS, cache_seconds=0)
    async with opening as platform:
        yield ServerChecking(platform, ServerConditions(), lists, clock, stand_in.authorize_url, CLIENT_ID)


def test_the_list_of_the_user_is_enough_for_what_it_tells_and_no_bot_is_needed(stand_in: StandIn) -> None:
    async def main() -> None:
        async with checking(stand_in, has_bot=False) as checks:
            found = {check.name: check.outcome for check in await checks.check(ADA, GOOD_SERVER)}
            assert {name for name, outcome in found.items() if outcome == "unknown"} == {"two_factor", "nsfw"}
            assert checks.bot_link(GOOD_SERVER) is None
            assert {check.name: check.outcome for check in checks.glance(MINE, 1)} == found

    run(main())


def test_the_bot_sees_the_rest_and_what_it_says_wins(stand_in: StandIn) -> None:
    async def main() -> None:
        async with checking(stand_in) as checks:
            found = {check.name: check for check in await checks.check(ADA, GOOD_SERVER)}
            assert {check.outcome for check in found.values()} == {"pass"}
            assert found["members"].have == 1_250

    run(main())


def test_a_platform_that_is_away_leaves_a_user_with_what_is_known_and_a_round_with_none(
    stand_in: StandIn,
) -> None:
    async def main() -> None:
        async with checking(stand_in) as checks:
            stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}", "500", times=2)
            found = {check.name: check.outcome for check in await checks.check(ADA, GOOD_SERVER)}
            assert (found["members"], found["two_factor"]) == ("pass", "unknown")
            with pytest.raises(PlatformAway):
                await checks.look(GOOD_SERVER)

    run(main())


def test_the_bot_is_added_to_that_server_without_any_permission(stand_in: StandIn) -> None:
    async def main() -> None:
        async with checking(stand_in) as checks:
            link = checks.bot_link(GOOD_SERVER) or ""
            assert link.startswith(stand_in.authorize_url)
            query = parse_qs(urlsplit(link).query)
            assert (query["scope"], query["permissions"], query["guild_id"]) == (
                ["bot"],
                ["0"],
                [GOOD_SERVER],
            )

    run(main())
