"""web/people/server_checking.py: who is asked, and where the bot is added."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from chatplatform.answers import PlatformServer
from chatplatform.listing_checks import ServerConditions
from chatplatform.platform_client import PlatformAway, open_chat_platform
from core.clock import SystemClock
from tests.support.coroutines import run
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import ADA, CLIENT_ID, GOOD_SERVER, StandIn, standing_in
from web.people.server_checking import ServerChecking
from web.people.server_lists import ServerLists

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
