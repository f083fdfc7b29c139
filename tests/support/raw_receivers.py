"""HTTP servers on bare sockets, for any answer, and clients that must leave nothing behind."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
import uvloop

from grammars.http_urls import Target, UrlRefused, read_url
from grammars.service_urls import read_proxy_url
from outbound.client import HttpClient, open_client
from outbound.result import HttpResult
from settings.model import WebhooksSettings
from tests.support.closed_servers import close_server
from tests.support.gateways import WAIT_SECONDS, eventually

BODY = b'{"user":"555555555555555555","test":true}'
LOOPBACK = ("127.0.0.1", "::1")

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Run(Protocol):
    def __call__(self, main: Coroutine[Any, Any, T], /) -> T: ...


class Allowing:
    """A guard that allows some addresses for every URL."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def check_url(self, url: str) -> Target:
        return read_url(url)

    def check_address(self, target: Target, address: str) -> None:  # noqa: ARG002 (the guard's signature)
        if address not in self.addresses:
            raise UrlRefused("this_machine")

    def check_ends(self, ours: str, theirs: str) -> None:
        pass


def _open_sockets() -> set[str]:
    """Return the sockets of this process, as the kernel names them."""
    names = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            names.add(str(entry.readlink()))
    return {name for name in names if name.startswith("socket:")}


def _run(loop_factory: Callable[[], asyncio.AbstractEventLoop], main: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine. Fails if it does not end, or leaves a task, a socket or an error behind."""
    before = _open_sockets()
    complaints: list[dict[str, Any]] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(WAIT_SECONDS):
            result = await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        return result

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        result = runner.run(bounded())
        assert not complaints, complaints
    eventually(lambda: _open_sockets() <= before)
    return result


on_both_loops = pytest.mark.parametrize(
    "run",
    [
        pytest.param(partial(_run, uvloop.new_event_loop), id="uvloop"),
        pytest.param(partial(_run, asyncio.new_event_loop), id="asyncio", marks=pytest.mark.long),
    ],
)
"""Runs a test on uvloop, as a gateway; `make test-long` also runs it on asyncio's own loop."""


def sending(
    timeout_seconds: float = WAIT_SECONDS,
    guard: Allowing | None = None,
    proxy: str | None = None,
    **options: Any,
) -> AbstractAsyncContextManager[HttpClient]:
    return open_client(
        guard or Allowing(*LOOPBACK),
        timeout_seconds=timeout_seconds,
        user_agent="Votegate/tests",
        proxy=read_proxy_url(proxy) if proxy is not None else None,
        **options,
    )


@contextlib.asynccontextmanager
async def listening(
    serve: Serve, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[int]:
    """Listen on a port and serve every connection. Yield the port."""
    serving: set[asyncio.Task[None]] = set()

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, RuntimeError):
            pass  # the client has gone (uvloop raises RuntimeError), or the test is over
        finally:
            serving.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(tracked, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await close_server(server)
        await asyncio.sleep(0)  # the connection that was accepted last gets its task
        for task in serving:
            task.cancel()
        while serving:
            await asyncio.wait(list(serving))
        for _ in range(3):  # the loop still has work for a connection that failed
            await asyncio.sleep(0)


class Peer:
    """A server. `answer` answers every request; `requests` are the received heads and bodies."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.connections = self.ended = 0
        self.port = 0
        self.scheme = "http"

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.base_url}/hook"

    def at(self, name: str) -> str:
        return f"{self.scheme}://{name}:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                self.requests.append(head + await reader.readexactly(int(length or b"0")))
                await self.answer(writer)
        finally:
            self.ended += 1


@contextlib.asynccontextmanager
async def receiving(
    answer: Answering, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Peer]:
    peer = Peer(answer)
    async with listening(peer.serve, tls, host, port) as peer.port:
        peer.scheme = "https" if tls is not None else "http"
        yield peer


async def posted(answer: Answering, timeout_seconds: float = WAIT_SECONDS) -> HttpResult:
    """Return the sender's result for an answer."""
    async with receiving(answer) as peer, sending(timeout_seconds) as sender:
        return await sender.post(peer.url, {}, BODY)


def saying(*pieces: bytes) -> Answering:
    """Send the pieces as they are, and leave the connection open."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


def saying_and_closing(*pieces: bytes) -> Answering:
    async def answer(writer: asyncio.StreamWriter) -> None:
        await saying(*pieces)(writer)
        writer.close()
        await writer.wait_closed()

    return answer


def answering(status: str = "200 OK", body: bytes = b"", *headers: str) -> Answering:
    head = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return saying("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)


def endlessly(*, first: bytes = b"", again: bytes) -> Answering:
    """Repeat something without an end, as fast as it is read."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()

    return answer


def dripping(first: bytes, pieces: Iterable[bytes]) -> Answering:
    """Send the pieces slowly."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)  # the rate

    return answer


async def hang(_: asyncio.StreamWriter) -> None:
    """Do not answer."""
    await asyncio.Event().wait()


def resetting(first: bytes = b"") -> Answering:
    """Reset the connection after `first`."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await writer.drain()
        reset(writer)

    return answer


def reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def unused_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def unused_webhook_port() -> int:
    """Return a port on which nobody listens, and to which webhooks may go."""
    return next(port for port in iter(unused_port, 0) if port not in WebhooksSettings().refused_ports)


def unused_url() -> str:
    """Return a URL at which nobody listens."""
    return f"http://127.0.0.1:{unused_port()}"


@contextlib.contextmanager
def full_port() -> Iterator[int]:
    """Listen on a port of 127.0.0.2 with a full backlog: it neither accepts nor refuses connections."""
    with socket.create_server(("127.0.0.2", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.2", port))
        try:
            yield port
        finally:
            for filler in fillers:
                filler.close()
