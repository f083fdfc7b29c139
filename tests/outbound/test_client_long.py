"""Long answers of services that the operator chooses: read to the end, and bounded in all their parts."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from grammars.service_urls import read_proxy_url
from outbound.client import HttpClient, open_client
from outbound.http1 import HEAD_BYTES, MAX_CHUNKS, MAX_HEADERS, MAX_PIECES
from outbound.result import BYTES_EACH, HttpResult
from outbound.targets import AnyTarget
from tests.support.certificate_authority import trusted
from tests.support.coroutines import run
from tests.support.gateways import WAIT_SECONDS
from tests.support.name_server import naming
from tests.support.proxy_servers import NAME, Proxy, SocksProxy, proxying
from tests.support.raw_receivers import Answering, Peer, Run, answering, on_both_loops, receiving, saying

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
LARGE = b"x" * (1 << 20)


@contextlib.asynccontextmanager
async def asking(
    proxy_url: str | None = None, name_servers: tuple[str, ...] = ()
) -> AsyncIterator[HttpClient]:
    async with open_client(
        AnyTarget(),
        timeout_seconds=WAIT_SECONDS,
        user_agent="test",
        proxy=read_proxy_url(proxy_url) if proxy_url is not None else None,
        name_servers=name_servers,
        read_bytes=len(LARGE) + 1,
    ) as client:
        yield client


def results(answer: Answering, times: int = 1) -> list[HttpResult]:
    """Return the results of some requests, one after the other over one connection."""

    async def main() -> list[HttpResult]:
        async with receiving(answer) as origin, asking() as client:
            found = [await client.get(origin.url, {}) for _ in range(times)]
            assert origin.connections == 1
            return found

    return run(main())


def in_drips(head: bytes, drip: bytes, times: int) -> Answering:
    """Write so many pieces, each in a packet of its own."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer.write(head)
        for _ in range(times):
            await asyncio.sleep(0.001)  # sets the rate; the test is about their number
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
    "a few tiny chunks": (
        saying(CHUNKED + b"1\r\nx\r\n" * (MAX_CHUNKS - 1) + LAST),
        b"x" * (MAX_CHUNKS - 1),
    ),
    "some interim answers": (
        saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 8 + OK + b"Content-Length: 2\r\n\r\nok"),
        b"ok",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_of_ordinary_parts_is_read_again_and_again(name: str) -> None:
    answer, body = GOOD[name]
    assert [(each.status, each.is_whole, each.body) for each in results(answer, 3)] == [(200, True, body)] * 3


def test_a_body_without_a_length_is_whole_when_the_peer_ends_it() -> None:
    async def ending(writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"\r\nok")
        writer.close()

    async def breaking_off(writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: 3\r\n\r\nok")
        writer.close()

    ((ended,), (broken,)) = results(ending), results(breaking_off)
    assert (ended.body, ended.is_whole) == (b"ok", True)
    assert (broken.body, broken.is_whole) == (b"ok", False)


HOSTILE = {
    "8,150 lines": saying(OK + b"a:\r\n" * 8_150 + b"\r\n"),
    "one line too many": saying(OK + b"a: b\r\n" * (MAX_HEADERS + 1) + b"\r\n"),
    "interim answers for ever": saying(b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * (HEAD_BYTES // 30)),
    "9 interim answers": saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 9 + OK + b"Content-Length: 0\r\n\r\n"),
    "a head that does not end": saying(OK, *[b"a: " + b"b" * 1_000 + b"\r\n"] * 100),
    "a chunk for each byte": saying(CHUNKED + b"1\r\nx\r\n" * 10_000 + LAST),
    "extensions for ever": saying(CHUNKED + b"1;", *[b"e" * 65_536] * 100),
    "a body that is too long": answering("200 OK", LARGE + b"xx"),
    "a read for each byte of the head": in_drips(OK + b"a: ", b"x", 3 * MAX_PIECES),
    "a read for each byte of the body": in_drips(OK + b"Content-Length: 1000\r\n\r\n", b"x", 3 * MAX_PIECES),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_answer_of_too_many_parts_is_never_whole(name: str) -> None:
    (result,) = results(HOSTILE[name])
    assert not result.is_whole


@on_both_loops
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(("kind", "tls"), [(None, False), (Proxy, False), (Proxy, True), (SocksProxy, False)])
def test_a_long_answer_comes_through_tls_and_proxies_and_the_connection_is_kept(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Proxy] | None,
    tls: bool,
    secure: bool,
) -> None:
    authority = trusted(tmp_path, monkeypatch)

    async def main() -> tuple[list[HttpResult], Peer]:
        async with contextlib.AsyncExitStack() as stack:
            certificate = authority.server(NAME) if secure else None
            peer = await stack.enter_async_context(receiving(answering(body=LARGE), certificate))
            names = await stack.enter_async_context(naming(["127.0.0.1"]))
            proxy_url = None
            if kind is not None:
                proxying_tls = authority.server("127.0.0.1") if tls else None
                proxy_url = (await stack.enter_async_context(proxying(kind(), proxying_tls))).url
            client = await stack.enter_async_context(asking(proxy_url, (names.address,)))
            return [await client.post(peer.at(NAME), {}, b"{}") for _ in range(2)], peer

    found, peer = run(main())
    assert [(each.status, each.is_whole, each.body == LARGE) for each in found] == [(200, True, True)] * 2
    assert peer.connections == 1
