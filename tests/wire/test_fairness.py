"""Clients that send many requests at once: others have their turn between, and unread answers stop them.

Server and clients share a loop, so nothing happens while a test prepares what the server will find.
"""

import asyncio
import contextlib
import itertools
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import uvloop

from tests.support.gateways import WAIT_SECONDS
from tests.support.wire_stories import APPLICATION, LIMITS, DirectNumber, refuse
from wire.http_server import WireServer
from wire.limits import CONNECTIONS_AT_ONCE, SLICES_AT_ONCE, ConnectionLimits
from wire.listening import listen, listen_unix

ROOM = ConnectionLimits(**{**vars(LIMITS), "connections": 100, "connections_per_address": 100})
ANSWER_BYTES = 100  # at least, each


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
        self.server = WireServer(APPLICATION, ROOM, refuse, self.direct)
        self.server.add_sockets(sockets)
        self._sockets = sockets
        self._stack = contextlib.ExitStack()

    async def client(self) -> socket.socket:
        listening = self._sockets[0]
        client = self._stack.enter_context(socket.socket(listening.family))
        client.connect(listening.getsockname())
        client.setblocking(False)
        client.send(asking(0))
        assert await asyncio.get_running_loop().sock_recv(client, 1_000)
        self.direct.answered.clear()
        return client

    async def answers(self, client: socket.socket, count: int) -> bytes:
        received = b""
        while received.count(b"HTTP/1.1 200 ") < count or not received.endswith(b"0" * 8):
            piece = await asyncio.get_running_loop().sock_recv(client, 1 << 20)
            assert piece, received[-1_000:]
            received += piece
        return received

    async def close(self) -> None:
        self._stack.close()
        self.server.stop()
        await self.server.close_all_connections()


def run(story: Callable[[Place], Awaitable[None]], path: Path | None = None) -> None:
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


def test_between_a_few_answers_of_one_client_all_others_have_theirs() -> None:
    async def story(place: Place) -> None:
        greedy, other = await place.client(), await place.client()
        greedy.send(b"".join(map(asking, range(1_000))))
        other.send(asking(5_000))
        await place.answers(other, 1)
        before = place.direct.numbers.index(5_000)
        assert before <= 2 * SLICES_AT_ONCE, "it had its turn and another one, at most"
        await place.answers(greedy, 1_000)

    run(story)


def test_clients_that_send_many_requests_are_answered_in_turn() -> None:
    async def story(place: Place) -> None:
        clients = [await place.client() for _ in range(3)]
        for number, client in enumerate(clients):
            client.send(b"".join(asking(number * 1_000 + each) for each in range(200)))
        for client in clients:
            await place.answers(client, 200)
        of_whom = [number // 1_000 for number in place.direct.numbers]
        runs = [len(list(run)) for _, run in itertools.groupby(of_whom)]
        assert max(runs[: -len(clients)]) <= SLICES_AT_ONCE
        for who in range(3):  # and each in the order in which it asked
            asked = [number for number in place.direct.numbers if number // 1_000 == who]
            assert asked == sorted(asked)

    run(story)


def test_however_many_clients_send_many_requests_a_turn_of_the_loop_is_short() -> None:
    async def story(place: Place) -> None:
        clients = [await place.client() for _ in range(3 * CONNECTIONS_AT_ONCE)]
        place.direct.count_turns()
        for client in clients:
            client.send(b"".join(map(asking, range(200))))
        for client in clients:
            await place.answers(client, 200)
        first, *later = Counter(turn for _, turn in place.direct.answered).items()
        assert first[1] <= len(clients) * SLICES_AT_ONCE, "the turn that reads it"
        assert max(count for _, count in later) <= CONNECTIONS_AT_ONCE * SLICES_AT_ONCE

    run(story)


def test_a_request_of_the_application_keeps_its_place_among_many() -> None:
    async def story(place: Place) -> None:
        client = await place.client()
        ways = ["direct", "direct", "echo"] * 100
        client.send(b"".join(asking(number, way) for number, way in enumerate(ways)))
        assert numbers_in(await place.answers(client, 300)) == list(range(300))

    run(story)


def test_a_client_that_reads_nothing_is_neither_read_nor_answered_until_it_reads(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        client = await place.client()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        sent, stream, silent = 0, b"".join(map(asking, range(100_000))), 0
        while silent < 100:  # turns of the loop in which nothing moves
            before = sent, len(place.direct.answered)
            with contextlib.suppress(BlockingIOError):
                sent += client.send(stream[sent : sent + 65_536])
            await asyncio.sleep(0)
            silent = silent + 1 if before == (sent, len(place.direct.answered)) else 0
        answered = len(place.direct.answered)
        assert sent < len(stream), "the server reads on"
        assert answered * ANSWER_BYTES < 1 << 20, "what its kernel and its buffer hold, and no more"

        whole = stream[:sent].count(b"\r\n\r\n")
        assert whole > answered
        assert numbers_in(await place.answers(client, whole)) == list(range(whole))

    run(story, tmp_path / "votegate.sock")
