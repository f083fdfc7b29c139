"""gateway/delivery.py: the settings decide the address, the proxy, the secret and the timeout of the
platform."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from chatplatform.authorization import new_sign_in, read_callback, token_form
from chatplatform.platform_client import ChatPlatform, PlatformAway
from core.clock import SystemClock
from gateway.delivery import open_platform, platform_access
from settings.model import Settings, load_settings
from tests.support.coroutines import run
from tests.support.platform_stand_in import (
    ADA,
    BACK,
    BOT_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    READY,
    StandIn,
    standing_in,
)
from tests.support.proxy_servers import PASSWORD, USER, Proxy, SocksProxy, proxying
from tests.support.raw_receivers import receiving, saying, unused_port

RPC = f"/applications/{READY}/rpc"
SIGN_IN = new_sign_in(bytes(range(64)))
GIVEN = f"{USER}:{PASSWORD.replace(':', '%3A')}@"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


def settings_of(stand_in: StandIn, **settings: object) -> Settings:
    usual = {
        "web.public_url": BACK.removesuffix("/signin/callback"),
        "chat_platform.api_url": f"{stand_in.url}/api/v10",
        "chat_platform.client_id": CLIENT_ID,
        "chat_platform.client_secret": CLIENT_SECRET,
        "chat_platform.timeout_seconds": 60,
    }
    return load_settings(None, {}, {**usual, **settings})


@asynccontextmanager
async def asking(stand_in: StandIn, **settings: object) -> AsyncIterator[ChatPlatform]:
    given = settings_of(stand_in, **settings)
    async with open_platform(given.chat_platform, given.web, given.webhooks, SystemClock()) as platform:
        yield platform


async def reason(platform: ChatPlatform) -> str:
    with pytest.raises(PlatformAway) as away:
        await platform.application(READY)
    return away.value.reason


def test_the_platform_knows_the_deployment_by_its_settings(stand_in: StandIn) -> None:
    given = settings_of(stand_in)
    access = platform_access(given.chat_platform, given.web)
    assert (access.api_url, access.public_url) == (f"{stand_in.url}/api/v10", "http://127.0.0.1:8080")
    assert (access.client_id, access.client_secret) == (CLIENT_ID, CLIENT_SECRET)
    assert CLIENT_SECRET not in repr(access)
    assert access.bot_token == ""
    with_bot = settings_of(stand_in, **{"chat_platform.bot_token": BOT_TOKEN})
    access = platform_access(with_bot.chat_platform, with_bot.web)
    assert access.bot_token == BOT_TOKEN
    assert BOT_TOKEN not in repr(access)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n" + b"a:\r\n" * 8_150 + b"Content-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 50_000,
    ],
)
def test_an_answer_of_too_many_header_lines_or_chunks_is_given_up_at_once(
    stand_in: StandIn, answer: bytes
) -> None:
    async def main() -> str:
        async with (
            receiving(saying(answer)) as hostile,
            asking(stand_in, **{"chat_platform.api_url": f"{hostile.base_url}/api/v10"}) as platform,
        ):
            return await reason(platform)

    assert run(main()) == "unreachable"


@pytest.mark.parametrize("secret", [CLIENT_SECRET, "another-secret"])
def test_a_sign_in_takes_the_right_secret_and_the_redirect_uri(stand_in: StandIn, secret: str) -> None:
    given = settings_of(stand_in)
    assert given.web.redirect_uri == BACK

    async def main() -> str:
        async with asking(stand_in, **{"chat_platform.client_secret": secret}) as platform:
            code = read_callback(stand_in.decide(SIGN_IN, ADA), SIGN_IN)
            token = await platform.token(token_form(code, given.web.redirect_uri or "", SIGN_IN))
            return (await platform.user(token)).username

    if secret == CLIENT_SECRET:
        assert run(main()) == "ada"
    else:
        with pytest.raises(PlatformAway, match="refused"):
            run(main())


@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
@pytest.mark.parametrize(("credentials", "is_let_in"), [(GIVEN, True), ("stranger:word@", False)])
def test_the_platform_is_asked_through_the_proxy_of_webhooks(
    stand_in: StandIn, kind: type[Proxy], credentials: str, is_let_in: bool
) -> None:
    async def main() -> int:
        before = stand_in.asked(RPC)
        async with (
            proxying(kind(locked=True), credentials=credentials) as proxy,
            asking(stand_in, **{"webhooks.proxy": proxy.url}) as platform,
        ):
            if is_let_in:
                told = await platform.application(READY)
                assert told.application is not None
                assert proxy.asked == [("127.0.0.1", int(stand_in.url.rpartition(":")[2]))]
            else:
                assert await reason(platform) == "unreachable"
        return stand_in.asked(RPC) - before

    assert run(main()) == is_let_in


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_a_proxy_that_is_down_is_not_gone_around(stand_in: StandIn, scheme: str) -> None:
    async def main() -> int:
        before = stand_in.asked(RPC)
        proxy = f"{scheme}://127.0.0.1:{unused_port()}"
        async with asking(stand_in, **{"webhooks.proxy": proxy}) as platform:
            assert await reason(platform) == "unreachable"
        return stand_in.asked(RPC) - before

    assert run(main()) == 0


@pytest.mark.parametrize(("cache_seconds", "times"), [(600, 1), (0, 2)])
def test_an_answer_is_reused_for_as_long_as_the_settings_say(
    stand_in: StandIn, cache_seconds: int, times: int
) -> None:
    async def main() -> int:
        before = stand_in.asked(RPC)
        async with asking(stand_in, **{"chat_platform.cache_seconds": cache_seconds}) as platform:
            for _ in range(2):
                await platform.application(READY)
        return stand_in.asked(RPC) - before

    assert run(main()) == times


def test_a_question_ends_when_the_settings_say(stand_in: StandIn) -> None:
    async def main() -> None:
        async with asking(stand_in, **{"chat_platform.timeout_seconds": 0.2}) as platform:
            stand_in.goes_wrong(RPC, "slow")
            assert await reason(platform) == "timeout"

    run(main())
