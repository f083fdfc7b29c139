"""chatplatform/listing_icons.py: icons come from the platform, and no page waits for them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from chatplatform.listing_icons import HOLDS_MS, MOST_NOTED, ListingIcons
from chatplatform.platform_client import open_chat_platform
from tests.support.coroutines import run, turns, until
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.platform_stand_in import GOOD_SERVER, PRIVATE, READY, WITHOUT_BOT, StandIn, standing_in
from tests.support.raw_receivers import unused_port

CDN = "https://cdn.example"
BOT, SERVER = f"bots/{READY}", f"servers/{GOOD_SERVER}"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatplatform.listing_icons.PAUSE_SECONDS", 0)


@asynccontextmanager
async def icons_of(stand_in: StandIn, clock: FakeClock, **access: str) -> AsyncIterator[ListingIcons]:
    opening = open_chat_platform(
        replace(stand_in.access, **access), clock, deadline_seconds=WAIT_SECONDS, cache_seconds=600
    )
    async with opening as platform:
        icons = ListingIcons(platform, clock, CDN)
        asking = asyncio.create_task(icons.run())
        yield icons
        asking.cancel()


@pytest.mark.parametrize(
    ("ref", "path"), [(BOT, f"/applications/{READY}/rpc"), (SERVER, f"/guilds/{GOOD_SERVER}")]
)
def test_an_icon_is_asked_for_once_a_day_however_often_its_listing_is_shown(
    stand_in: StandIn, ref: str, path: str
) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with icons_of(stand_in, clock) as icons:
            before = stand_in.asked(path)
            assert [icons.url(ref) for _ in range(9)] == [None] * 9
            await until(lambda: icons.url(ref))
            found = icons.url(ref)
            assert found is not None
            assert found.startswith(CDN)
            assert ref.partition("/")[2] in found
            clock.advance(HOLDS_MS / 1_000)
            assert icons.url(ref) == found  # the last one is shown while the next is asked for
            await until(lambda: icons.url(ref) and stand_in.asked(path) == before + 2)

    run(main())


def test_what_the_platform_has_no_icon_of_is_not_asked_for_again_and_holds_up_nothing(
    stand_in: StandIn,
) -> None:
    async def main() -> None:
        async with icons_of(stand_in, FakeClock()) as icons:
            for ref in ("bots/999999999999999999", f"servers/{WITHOUT_BOT}", f"bots/{PRIVATE}", BOT):
                icons.url(ref)
            await until(lambda: icons.url(BOT))
            before = stand_in.asked(f"/guilds/{WITHOUT_BOT}")
            assert icons.url(f"servers/{WITHOUT_BOT}") is None
            icons.url(f"bots/{PRIVATE}")
            await turns()
            assert stand_in.asked(f"/guilds/{WITHOUT_BOT}") == before

    run(main())


def test_without_a_bot_of_the_deployment_nobody_is_asked_about_servers(stand_in: StandIn) -> None:
    async def main() -> None:
        path = f"/guilds/{GOOD_SERVER}"
        before = stand_in.asked(path)
        async with icons_of(stand_in, FakeClock(), bot_token="") as icons:
            icons.url(SERVER)
            icons.url(BOT)
            await until(lambda: icons.url(BOT))
        assert stand_in.asked(path) == before

    run(main())


def test_a_platform_that_is_away_is_left_alone_and_asked_later(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        clock, nowhere = FakeClock(), f"http://127.0.0.1:{unused_port()}"
        async with icons_of(stand_in, clock, api_url=nowhere) as icons:
            icons.url(BOT)
            icons.url(f"bots/{PRIVATE}")
            await until(lambda: len(icons._noted) == 1)
            await turns()
            assert [*icons._noted] == [f"bots/{PRIVATE}"]
        monkeypatch.setattr("chatplatform.listing_icons.AWAY_SECONDS", 0)
        async with icons_of(stand_in, clock, api_url=nowhere) as icons:
            icons.url(BOT)
            await until(lambda: not icons._noted)
            assert icons.url(BOT) is None
            assert [*icons._noted] == [BOT]

    run(main())


def test_no_more_is_noted_than_can_be_asked_in_a_while(stand_in: StandIn) -> None:
    async def main() -> None:
        async with icons_of(stand_in, FakeClock()) as icons:
            for number in range(MOST_NOTED + 10):
                icons.url(f"bots/{10**17 + number}")
            assert len(icons._noted) == MOST_NOTED

    run(main())
