"""HTTP servers on the bare socket, for answers that no HTTP library would give."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Origin:
    """`answer` answers every request; `requests` are the heads and bodies as they came."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.connections = 0
        self.url = ""
        self._serving: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (line for line in head.split(b"\r\n") if b"content-length" in line.lower()), b":0"
                )
                self.requests.append(head + await reader.readexactly(int(length.partition(b":")[2])))
                await self.answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone, or never spoke HTTP
        finally:
            writer.close()

    async def stop(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


@contextlib.asynccontextmanager
async def serving(answer: Answering) -> AsyncIterator[Origin]:
    origin = Origin(answer)
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0)
    origin.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield origin
    finally:
        server.close()
        await origin.stop()


def saying(*pieces: bytes) -> Answering:
    """Sends the pieces as they are and leaves the connection open."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


def answering(status: str = "200 OK", body: bytes = b"", *headers: str) -> Answering:
    head = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return saying("\r\n".join(head).encode() + b"\r\n\r\n" + body)


async def hang(_: asyncio.StreamWriter) -> None:
    """Never answers."""
    await asyncio.Event().wait()


async def close(writer: asyncio.StreamWriter) -> None:
    """Closes the connection without an answer."""
    writer.close()


async def reset(writer: asyncio.StreamWriter) -> None:
    """Resets the connection."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def trickle(writer: asyncio.StreamWriter) -> None:
    """Begins an answer and goes on with it, a byte at a time, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.001)


async def pour(writer: asyncio.StreamWriter) -> None:
    """Answers with a body that does not end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1000\r\n" + b"x" * 4_096 + b"\r\n")
        await writer.drain()


def unused_url() -> str:
    """Return a URL at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}"
