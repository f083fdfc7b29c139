"""A server of `wire/` whose clients share its loop. Invariant: the server takes no turn while a test prepares
requests for it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import uvloop

from tests.support.gateways import WAIT_SECONDS
from tests.support.wire_stories import APPLICATION, LIMITS, DirectNumber, KeptNumber, refuse
from wire.http_server import BesideRoutes, WireServer
from wire.listening import listen, listen_unix
from wire.parser import ConnectionLimits

ROOM = ConnectionLimits(**{**vars(LIMITS), "connections": 100, "connections_per_address": 100})


def asking(number: int, way: str = "direct") -> bytes:
    return b"GET /%s/%d HTTP/1.1\r\nHost: g\r\n\r\n" % (way.encode(), number)


def numbers_in(answers: bytes) -> list[int]:
    return [int(each.partition(b"\r\n")[0]) for each in answers.split(b"X-Number: ")[1:]]


class Recorded(DirectNumber):
    """Keeps the number of each request it answers, and the turn of the loop that it had."""

    def __init__(self) -> None:
        self.answered: list[tuple[int, int]] = []
        self._turn = 0

    def answer(self, target: bytes, caller: str) -> tuple[int, bytes] | None:
        answer = super().answer(target, caller)
        if answer is not None:
            self.answered.append((int(target.rpartition(b"/")[2]), self._turn))
        return answer

    def count_turns(self) -> None:
        self._turn += 1
        asyncio.get_running_loop().call_soon(self.count_turns)

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.answered]


class Place:
    """A server, and clients that are answered once before the test begins."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self.direct = Recorded()
        self.server = WireServer(
            APPLICATION, ROOM, refuse, self.direct, beside=BesideRoutes(pages=KeptNumber())
        )
        self.address = sockets[0].getsockname()
        self.server.add_sockets(sockets)
        self._family = sockets[0].family
        self._stack = contextlib.ExitStack()

    def connected(self) -> socket.socket:
        """A client that has asked nothing, and may not be accepted yet."""
        client = self._stack.enter_context(socket.socket(self._family))
        client.connect(self.address)
        client.setblocking(False)
        return client

    async def client(self) -> socket.socket:
        client = self.connected()
        client.send(asking(0))
        await self.answers(client, 1)
        self.direct.answered.clear()
        return client

    async def answers(self, client: socket.socket, count: int) -> bytes:
        """So many whole answers with a number each, and no byte of the next one."""
        received = b""
        while received.count(b"HTTP/1.1 200 ") < count or not received.endswith(b"0" * 8):
            piece = await asyncio.get_running_loop().sock_recv(client, 1 << 20)
            assert piece, received[-1_000:]
            received += piece
        return received

    async def until_closed(self, client: socket.socket) -> bytes:
        """All that comes until the server closes; then the client closes, too."""
        received, loop = b"", asyncio.get_running_loop()
        while piece := await loop.sock_recv(client, 1 << 20):
            received += piece
        client.close()
        return received

    async def close(self) -> None:
        self._stack.close()
        self.server.stop()
        await self.server.close_all_connections()


def run(story: Callable[[Place], Awaitable[None]], path: Path | None = None) -> None:
    """Tell a story of a server on TCP, or on a Unix socket at the path."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Place]:
        place = Place(listen_unix(path) if path is not None else listen("127.0.0.1", 0))
        try:
            yield place
        finally:
            await place.close()

    async def bounded() -> None:
        async with asyncio.timeout(WAIT_SECONDS), opened() as place:
            await story(place)

    uvloop.run(bounded())
