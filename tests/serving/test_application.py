"""serving/application.py over a real socket: a stream ends when nobody reads it any more."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

import pytest
import uvloop

from handlers.reply import EVENT_STREAM, Reply
from handlers.request import Request
from handlers.route import Resource
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.loop_share import LoopShare
from serving.traffic import Traffic
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_http_client import request
from tests.support.wire_stories import LIMITS, refuse
from wire.http_server import WireServer
from wire.listening import listen

BACKUP = "application/octet-stream"
HERE, NEWS = b": here\n\n", b"data: news\n\n"
ASKED = request("GET", "/watched")


class Watched:
    """A stream whose news the test releases, and a server that sends it."""

    def __init__(self, content_type: str = EVENT_STREAM) -> None:
        self.content_type = content_type
        self.is_asked, self.is_answered = asyncio.Event(), asyncio.Event()
        self.is_answered.set()
        self.has_news, self.is_over = asyncio.Event(), asyncio.Event()
        self.running = RunningRequests()

    async def answer(self, _: Request) -> Reply:
        self.is_asked.set()
        await self.is_answered.wait()
        return Reply(200, b"", {}, None, self.content_type, self._pieces())

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            yield HERE
            await self.has_news.wait()
            yield NEWS
        finally:
            self.is_over.set()

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator["Client"]:
        clock = FakeClock()
        policy = ApplicationPolicy(
            1_024, (), self.running, LoopShare(clock.monotonic_ns), clock, Traffic(["watch"]), None
        )
        watched = Resource("/watched", {"GET": self.answer}, names={"GET": "watch"})
        server = WireServer(make_application([watched], policy), LIMITS, refuse)
        server.add_sockets(listening := listen("127.0.0.1", 0))
        client = Client(*await asyncio.open_connection(*listening[0].getsockname()))
        try:
            yield client
        finally:
            client.close()
            server.stop()
            await server.close_all_connections()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    def ask(self) -> None:
        self._writer.write(ASKED)

    async def watch(self) -> None:
        """Send a request, and read the first piece of the answer."""
        self.ask()
        await self.reader.readuntil(HERE)

    def sends_no_more(self) -> None:
        self._writer.write_eof()

    def reset(self) -> None:
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            await story()

    uvloop.run(bounded())


@pytest.mark.parametrize("leave", [Client.close, Client.reset, Client.sends_no_more])
def test_a_stream_of_events_ends_when_its_client_leaves(leave: Callable[[Client], None]) -> None:
    async def story() -> None:
        watched = Watched()
        async with watched.client() as client:
            await client.watch()
            leave(client)
            await watched.is_over.wait()
            await watched.running.finished()

    run(story)


def test_any_stream_ends_when_its_connection_is_lost() -> None:
    async def story() -> None:
        watched = Watched(BACKUP)
        async with watched.client() as client:
            await client.watch()
            client.reset()
            await watched.is_over.wait()

    run(story)


@pytest.mark.parametrize("leave", [Client.close, Client.reset, Client.sends_no_more])
def test_a_stream_of_events_does_not_outlast_a_client_that_left_before_it_began(
    leave: Callable[[Client], None],
) -> None:
    async def story() -> None:
        watched = Watched()
        watched.is_answered.clear()
        async with watched.client() as client:
            client.ask()
            await watched.is_asked.wait()
            leave(client)
            for _ in range(20):
                await asyncio.sleep(0)  # the server reads the end, or will in a moment
            watched.is_answered.set()
            await watched.is_over.wait()

    run(story)


def test_a_client_that_sends_no_more_gets_the_end_of_its_events() -> None:
    async def story() -> None:
        watched = Watched()
        async with watched.client() as client:
            await client.watch()
            client.sends_no_more()
            assert await client.reader.read() == b"\r\n0\r\n\r\n"

    run(story)


def test_a_client_that_sends_no_more_gets_the_whole_of_any_other_stream() -> None:
    async def story() -> None:
        watched = Watched(BACKUP)
        async with watched.client() as client:
            await client.watch()
            client.sends_no_more()
            for _ in range(20):
                await asyncio.sleep(0)  # the server reads the end meanwhile
            watched.has_news.set()
            assert await client.reader.read() == b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(NEWS), NEWS)

    run(story)
