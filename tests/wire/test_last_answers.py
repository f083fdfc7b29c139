"""A server stops: the last answer of each connection says that it is the last, and none is missing."""

import asyncio
import socket

import pytest

from tests.support.server_in_loop import Place, asking, numbers_in, run

CLOSES = b"Connection: close\r\n"
ANSWER = b"HTTP/1.1 "


@pytest.mark.parametrize("way", ["direct", "kept", "kept-big", "echo", "big", "early", "nowhere"])
def test_an_ending_server_says_in_each_answer_that_it_is_the_last(way: str) -> None:
    async def story(place: Place) -> None:
        kept, new = await place.client(), place.connected()
        place.server.end_soon()
        for client in (kept, new):
            client.send(asking(1, way))
            answer = await place.until_closed(client)
            assert answer.count(ANSWER) == answer.count(CLOSES) == 1

    run(story)


def test_a_refusal_and_the_answer_to_a_known_head_say_it_too() -> None:
    async def story(place: Place) -> None:
        clients = [await place.client() for _ in range(2)]
        place.server.end_soon()
        for client, data in zip(clients, (asking(1), b"nonsense\r\n\r\n"), strict=True):
            client.send(data)
            assert (await place.until_closed(client)).count(CLOSES) == 1
        assert place.direct.numbers == [1]

    run(story)


@pytest.mark.parametrize(
    "ways", [["direct"] * 50, ["kept"] * 50, ["echo"] * 50, ["direct", "echo", "kept-big", "big"] * 9]
)
def test_all_requests_that_are_there_are_answered_and_the_last_answer_is_said_to_be_it(
    ways: list[str],
) -> None:
    async def story(place: Place) -> None:
        client = await place.client()
        place.server.end_soon()
        client.send(b"".join(asking(number, way) for number, way in enumerate(ways)))
        answers = await place.until_closed(client)
        assert numbers_in(answers) == list(range(len(ways)))
        assert [CLOSES in each for each in answers.split(ANSWER)[1:]] == [False] * (len(ways) - 1) + [True]

    run(story)


async def has_ended(client: socket.socket) -> bool:
    for _ in range(20):  # turns of the loop
        await asyncio.sleep(0)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_connection_that_asks_nothing_stays_until_the_server_stops() -> None:
    async def story(place: Place) -> None:
        client = await place.client()
        place.server.end_soon()
        assert not await has_ended(client)
        client.send(asking(1))
        assert CLOSES in await place.until_closed(client)

    run(story)


@pytest.mark.parametrize("way", ["direct", "echo"])
def test_a_request_that_comes_when_the_server_has_just_stopped_is_answered(way: str) -> None:
    async def story(place: Place) -> None:
        clients = [await place.client() for _ in range(3)]
        place.server.stop()
        assert not await has_ended(clients[0])
        for client in clients:
            client.send(asking(1, way))
            answer = await place.until_closed(client)
            assert answer.count(ANSWER) == answer.count(CLOSES) == 1
        await place.server.finished()

    run(story)


def test_connections_that_were_not_accepted_when_the_server_stops_are_answered() -> None:
    async def story(place: Place) -> None:
        clients = [place.connected() for _ in range(20)]
        for number, client in enumerate(clients[:10]):
            client.send(asking(number))
        place.server.stop()
        for number, client in enumerate(clients):
            if number >= 10:
                client.send(asking(number))
            assert numbers_in(await place.until_closed(client)) == [number]
        await place.server.finished()

    run(story)


def test_a_client_that_goes_on_asking_after_an_answer_that_began_before_the_stop_is_answered() -> None:
    """The head of its answer has promised that the connection stays."""

    async def story(place: Place) -> None:
        client, loop = await place.client(), asyncio.get_running_loop()
        client.send(b"POST /duplex/1 HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n")
        received = b""
        while b"\r\n\r\n" not in received:
            received += await loop.sock_recv(client, 1_000)
        place.server.stop()
        while not received.endswith(b"0\r\n\r\n"):
            received += await loop.sock_recv(client, 1_000)
        assert CLOSES not in received
        client.send(asking(2))
        assert CLOSES in await place.until_closed(client)

    run(story)


@pytest.mark.parametrize("data", [b"", b"GET /dir", b"\r\n"])
def test_a_stop_waits_a_moment_for_clients_that_ask_nothing_and_no_longer(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wire.connection.DRAIN_SECONDS", 0.05)
    monkeypatch.setattr("wire.connection.LINGER_SECONDS", 0.05)

    async def story(place: Place) -> None:
        clients = [await place.client(), place.connected()]
        place.server.stop()
        for client in clients:
            client.send(data)
        await place.server.finished()  # though none of them closes
        for client in clients:
            assert (await place.until_closed(client)).count(ANSWER) <= 1

    run(story)


def test_a_stop_waits_for_no_client_that_has_its_last_answer_and_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wire.connection.LINGER_SECONDS", 3_600)

    async def story(place: Place) -> None:
        client = await place.client()
        client.send(asking(1).replace(b"\r\n\r\n", b"\r\n" + CLOSES + b"\r\n"))
        received, loop = b"", asyncio.get_running_loop()
        while piece := await loop.sock_recv(client, 1_000):
            received += piece
        assert received.count(ANSWER) == 1
        place.server.stop()
        await place.server.finished()

    run(story)


def test_a_request_that_is_there_when_the_time_of_its_connection_is_over_is_answered() -> None:
    async def story(place: Place) -> None:
        client = await place.client()
        (connection,) = place.server._connections
        client.send(asking(1))
        connection.expired()  # before the loop has looked
        assert numbers_in(await place.answers(client, 1)) == [1]

    run(story)
