"""Clients that send many requests at once: others have turns in between, and unread answers stop them."""

import asyncio
import contextlib
import itertools
import socket
from collections import Counter
from pathlib import Path

from tests.support.server_in_loop import Place, asking, numbers_in, run
from wire.connection import SLICES_AT_ONCE
from wire.http_server import CONNECTIONS_AT_ONCE

ANSWER_BYTES = 100  # at least, each


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
