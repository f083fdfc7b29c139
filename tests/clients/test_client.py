"""The Python client, beyond the stories that both languages share."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import pytest

from tests.clients.scripted_server import ScriptedServer
from tests.clients.stories import DEFAULTS, NOW
from tests.clients.story_clock import StoryClock
from votegate_client import (
    Client,
    CountUnknown,
    InvalidKey,
    InvalidRequest,
    RateLimited,
    TooFarOff,
    Unavailable,
)

KEY: str = DEFAULTS["client"]["key"]
BOT: str = DEFAULTS["client"]["bot_id"]
USER = 333333333333333333
OK = {"status": 200, "json": {"success": True}}
NEVER_VOTED = {"status": 200, "json": {"voted": False, "vote": 0, "lastVote": None}}


def refusal(status: int, text: str, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"success": False, "error": text, "status": status}
    return {"status": status, "json": body, "headers": named}


class World:
    """A clock, and a gateway with given answers."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.clock = StoryClock(NOW)
        self.requests: list[dict[str, Any]] = []
        exchanges = [{"request": {}, "answer": answer} for answer in answers]
        self.server = ScriptedServer(exchanges, lambda _, request: self.requests.append(request))

    def client(self, **options: Any) -> Client:
        return Client(KEY, BOT, self.server.address, clock=self.clock, **options)

    def pushed(self) -> list[dict[str, int]]:
        return [json.loads(request["body"]) for request in self.requests]


Open = Callable[..., World]


@pytest.fixture
def open_world() -> Iterator[Open]:
    opened: list[World] = []

    def open_one(*answers: dict[str, Any]) -> World:
        opened.append(World(*answers))
        return opened[-1]

    yield open_one
    for world in opened:
        assert world.server.close() == 0


@pytest.mark.parametrize("key", ["", "two words", f"Bearer {KEY}", f"{KEY}\n", "clé"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="The key must be") as error:
        Client(key, BOT, "https://votes.example")
    assert not key or key not in str(error.value)


def test_the_first_failure_of_each_call_is_logged_without_the_key(
    open_world: Open, caplog: pytest.LogCaptureFixture
) -> None:
    world = open_world(*[refusal(503, "Nothing can be written right now.")] * 2, OK)

    async def go() -> None:
        async with world.client() as client:
            await client.post_stats(7)

    asyncio.run(go())
    host = world.server.address.removeprefix("http://")
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert line == f"A request to {host} waits 1 s: 503 Nothing can be written right now."
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "address",
    ["votes.example", "ftp://votes.example", "https://", "https://ada:secret@votes.example", "https://a?b=c"],
)
def test_an_address_that_cannot_be_one_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="The base address must be"):
        Client(KEY, BOT, address)


@pytest.mark.parametrize("bot", ["groove", "1234", "../../manage", 1234])
def test_an_id_of_the_bot_that_is_none_is_refused(bot: str | int) -> None:
    with pytest.raises(ValueError, match="bot_id must have 17 to 20 digits"):
        Client(KEY, bot, "https://votes.example")


def test_ids_may_be_integers(open_world: Open) -> None:
    world = open_world(NEVER_VOTED)

    async def go() -> None:
        async with Client(KEY, int(BOT), world.server.address) as client:
            assert await client.has_voted(USER) is False

    asyncio.run(go())
    assert world.requests[0]["path"] == f"/bots/{BOT}/voters/{USER}"


@pytest.mark.parametrize("count", [True, 12.0, "12"])
def test_a_count_that_is_no_integer_is_refused(count: Any) -> None:
    async def go() -> None:
        async with Client(KEY, BOT, "https://votes.example") as client:
            with pytest.raises(TypeError, match="server_count must be an integer"):
                await client.post_stats(count)

    asyncio.run(go())


def test_the_bot_and_the_address_are_shown_but_never_the_key() -> None:
    client = Client(KEY, BOT, "https://votes.example/")
    assert repr(client) == f"Client(bot_id='{BOT}', base_url='https://votes.example')"


def test_a_broken_answer_that_quotes_the_key_does_not_bring_it_into_the_error() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nbroken " + request.replace(b"\r\n", b" ") + b"\r\n\r\n")
        await writer.drain()
        writer.close()

    async def asking() -> str:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with Client(KEY, BOT, address, longest_wait=0) as client:
            with pytest.raises(Unavailable) as raised:
                await client.has_voted(USER)
        server.close()
        return str(raised.value)

    text = asyncio.run(asking())
    assert "[key]" in text
    assert KEY not in text


@pytest.mark.parametrize("seconds", ["1800000000", "9" * 400])
def test_a_limit_that_cannot_be_one_ends_within_a_day(open_world: Open, seconds: str) -> None:
    limit = {"ratelimit_remaining": "0", "ratelimit_reset": seconds}
    world = open_world(refusal(401, "Invalid API key.", **limit), OK)

    async def pushing() -> None:
        async with world.client() as client:
            with pytest.raises(InvalidKey):
                await client.post_stats(1)
            await world.clock.sleep(24 * 60 * 60)
            await client.post_stats(2)

    asyncio.run(pushing())
    assert world.pushed() == [{"server_count": 1}, {"server_count": 2}]


def test_a_given_session_is_used_and_stays_open(open_world: Open) -> None:
    world = open_world(refusal(401, "Invalid API key."), OK)

    async def go() -> None:
        agent = {"User-Agent": "a bot"}
        async with aiohttp.ClientSession(headers=agent, raise_for_status=True) as session:
            client = world.client(session=session)
            with pytest.raises(InvalidKey):
                await client.post_stats(1)
            await client.post_stats(1)
            await client.close()
            assert not session.closed

    asyncio.run(go())


def test_a_push_that_waits_during_close_leaves_no_session_open(
    open_world: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = open_world(refusal(503, "Nothing can be written right now."), OK)
    opened: list[aiohttp.ClientSession] = []
    make = aiohttp.ClientSession

    def noted(**given: Any) -> aiohttp.ClientSession:
        opened.append(make(**given))
        return opened[-1]

    monkeypatch.setattr(aiohttp, "ClientSession", noted)

    class ClosingClock(StoryClock):
        async def sleep(self, seconds: float) -> None:
            await client.close()
            await super().sleep(seconds)

    client = Client(KEY, BOT, world.server.address, clock=ClosingClock(NOW))
    asyncio.run(client.post_stats(server_count=1))
    assert [session.closed for session in opened] == [True, True]


def test_a_closed_client_can_be_used_again(open_world: Open) -> None:
    world = open_world(OK, OK)

    async def go() -> None:
        client = world.client()
        await client.post_stats(1)
        await client.close()
        await client.close()
        async with client:
            await client.post_stats(2)

    asyncio.run(go())
    assert world.pushed() == [{"server_count": 1}, {"server_count": 2}]


def test_a_caller_that_gives_up_holds_up_nobody(open_world: Open) -> None:
    world = open_world(OK, OK)

    async def go() -> None:
        async with world.client() as client:
            first, second, third = (asyncio.create_task(client.post_stats(count)) for count in (1, 2, 3))
            last = asyncio.create_task(client.post_stats(command_count=7))
            await asyncio.sleep(0)
            second.cancel()
            third.cancel()
            results = await asyncio.gather(first, second, third, last, return_exceptions=True)
            assert [type(result) for result in results] == [
                *(type(None), asyncio.CancelledError, asyncio.CancelledError, type(None))
            ]

    asyncio.run(go())
    assert world.pushed() == [{"server_count": 1}, {"command_count": 7}]


def test_errors_of_one_kind_are_caught_together() -> None:
    assert issubclass(TooFarOff, InvalidRequest)
    assert issubclass(CountUnknown, Unavailable)
    assert str(RateLimited("Too many requests.", wait=5, status=429)) == "429 Too many requests. Wait 5 s."
    assert str(Unavailable("No answer.")) == "No answer."
