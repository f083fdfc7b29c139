"""outbound/bounded_answers.py: what aiohttp reads is bounded in all that an answer is made of."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from outbound.bounded_answers import BYTES_EACH, FREE, HEAD_BYTES, MAX_HEADERS, BoundedConnector
from tests.support.coroutines import run
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_http_servers import Answering, answering, saying, serving

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
LARGE = b"x" * (1 << 20)


@asynccontextmanager
async def asking() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=WAIT_SECONDS)
    async with aiohttp.ClientSession(connector=BoundedConnector(), timeout=timeout) as session:
        yield session


def answers(answer: Answering, times: int = 1) -> list[bytes]:
    """The bodies of some requests, one behind the other over one connection."""

    async def main() -> list[bytes]:
        async with serving(answer) as origin, asking() as session:
            found = []
            for _ in range(times):
                async with session.get(origin.url) as response:
                    found.append(await response.read())
            assert origin.connections == 1
            return found

    return run(main())


def in_drips(head: bytes, drip: bytes, times: int) -> Answering:
    """Writes so many pieces, each in a packet of its own."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer.write(head)
        for _ in range(times):
            await asyncio.sleep(0.001)  # the rate; that there are too many is the point
            writer.write(drip)
        await asyncio.Event().wait()

    return answer


GOOD = {
    "an empty one": (answering(), b""),
    "a large one": (answering("200 OK", LARGE), LARGE),
    "a large one in chunks": (saying(CHUNKED + b"%x\r\n" % len(LARGE) + LARGE + b"\r\n" + LAST), LARGE),
    "chunks as small as packets": (
        saying(CHUNKED + (b"%x\r\n" % BYTES_EACH + b"x" * BYTES_EACH + b"\r\n") * 1_000 + LAST),
        b"x" * BYTES_EACH * 1_000,
    ),
    "a few tiny chunks": (saying(CHUNKED + b"1\r\nx\r\n" * (FREE - 1) + LAST), b"x" * (FREE - 1)),
    "some interim answers": (
        saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 8 + OK + b"Content-Length: 2\r\n\r\nok"),
        b"ok",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_of_ordinary_parts_is_read_again_and_again(name: str) -> None:
    answer, body = GOOD[name]
    assert answers(answer, 3) == [body] * 3


HOSTILE = {
    "8,150 lines": saying(OK + b"a:\r\n" * 8_150 + b"\r\n"),
    "one line too many": saying(OK + b"a: b\r\n" * (MAX_HEADERS + 1) + b"\r\n"),
    "interim answers for ever": saying(b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * (HEAD_BYTES // 30)),
    "9 interim answers": saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 9 + OK + b"Content-Length: 0\r\n\r\n"),
    "a head that does not end": saying(OK, *[b"a: " + b"b" * 1_000 + b"\r\n"] * 100),
    "a chunk for each byte": saying(CHUNKED + b"1\r\nx\r\n" * 10_000 + LAST),
    "extensions for ever": saying(CHUNKED + b"1;", *[b"e" * 65_536] * 100),
    "a read for each byte of the head": in_drips(OK + b"a: ", b"x", 3 * FREE),
    "a read for each byte of the body": in_drips(OK + b"Content-Length: 1000\r\n\r\n", b"x", 3 * FREE),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_answer_of_too_many_parts_is_refused(name: str) -> None:
    with pytest.raises(aiohttp.ClientError):
        answers(HOSTILE[name])
