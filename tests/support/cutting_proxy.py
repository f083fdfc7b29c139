"""A proxy between clients and a server on loopback. A test makes it slow, silent or broken.

Invariant: bytes arrive unchanged and in order, or not at all. `restore` lets bytes pass that `hang` held
back.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tests.support.gateways import WAIT_SECONDS

HOST = "127.0.0.1"
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no seconds: closing sends a reset."""
TURNS_TO_CLOSE = 3
"""asyncio closes a transport a turn after its opening was cancelled.

It warns if the loop has ended by then.
"""


def held_port() -> socket.socket:
    """Reserve a free port: no other program gets it, and a test can listen on it by its number.

    Connections are refused until then.
    """
    held = socket.socket()
    held.bind((HOST, 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after bind, so that this port was a free one
    return held


def held_ports(between: int) -> list[socket.socket]:
    """Reserve two free ports, the second one as far above the first."""
    while True:
        first, second = held_port(), socket.socket()
        try:
            second.bind((HOST, first.getsockname()[1] + between))
        except (OSError, OverflowError):
            first.close()
            second.close()
            continue
        second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return [first, second]


class _Way:
    """One direction of all connections."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.restore()

    def restore(self) -> None:
        self.delay_seconds = 0.0
        self.drip_seconds = 0.0
        self.bytes_left: int | None = None
        self.open.set()

    async def carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Carry bytes until the source ends. Raises ConnectionError to cut the connection."""
        while True:
            piece = await source.read(65_536)
            await asyncio.sleep(self.delay_seconds)
            await self.open.wait()
            if not piece:
                return
            cut = self.bytes_left is not None and len(piece) >= self.bytes_left
            if self.bytes_left is not None:
                piece = piece[: self.bytes_left]
                self.bytes_left = None if cut else self.bytes_left - len(piece)
            while self.drip_seconds and piece:
                sink.write(piece[:1])
                piece = piece[1:]
                await asyncio.sleep(self.drip_seconds)
            sink.write(piece)
            await sink.drain()
            if cut:
                raise ConnectionAbortedError


class CuttingProxy:
    """Passes everything to `target_port` until a test changes that; `restore` undoes all changes.

    With `tls`, clients connect to it by TLS. `connections` counts accepted connections.
    """

    def __init__(self, target_port: int, tls: ssl.SSLContext | None = None) -> None:
        self.target_port = target_port
        self.connections = 0
        self._tls = tls
        self._held = held_port()
        self.port: int = self._held.getsockname()[1]
        self.url = f"{'rediss' if tls is not None else 'redis'}://{HOST}:{self.port}/0"
        self._requests, self._answers = _Way(), _Way()
        self._listener: socket.socket | None = None
        self._closes_new = False
        self._opening: set[asyncio.Task[None]] = set()
        self._links: set[asyncio.Task[None]] = set()
        self._errors: list[dict[str, Any]] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def start(self) -> "CuttingProxy":
        self._thread.start()
        assert self._ready.wait(WAIT_SECONDS)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()
        self._held.close()
        assert not self._errors

    def __enter__(self) -> "CuttingProxy":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def restore(self) -> None:
        """Pass everything. Connections that hung go on; connections that were cut stay cut."""

        def restoring() -> None:
            self._closes_new = False
            self._requests.restore()
            self._answers.restore()

        self._change(restoring, listens=True)

    def delay(self, requests: float = 0.0, answers: float = 0.0) -> None:
        """Delay each piece by so many seconds."""

        def delaying() -> None:
            self._requests.delay_seconds, self._answers.delay_seconds = requests, answers

        self._change(delaying)

    def drip(self, seconds: float) -> None:
        """Pass answers one byte after the other, with pauses of so many seconds."""

        def dripping() -> None:
            self._answers.drip_seconds = seconds

        self._change(dripping)

    def hang(self) -> None:
        """Let nothing through. Connections stay open, and new ones are accepted."""

        def hanging() -> None:
            self._requests.open.clear()
            self._answers.open.clear()

        self._change(hanging)

    def hang_answers(self) -> None:
        """Let requests through, but no answers."""
        self._change(self._answers.open.clear)

    def cut(self, *, accepts: bool = False) -> None:
        """Reset all connections. Refuse new ones, or accept and close them."""
        self._change(self._cut, listens=accepts)

    def bytes_cut_after(self, count: int) -> None:
        """Reset the connection that carries the `count`-th byte of answers from now on, after that byte."""

        def cutting() -> None:
            self._answers.bytes_left = count

        self._change(cutting)

    def _change(self, change: Callable[[], None], *, listens: bool | None = None) -> None:
        """Change in the thread of the loop. Return when all connections are cut that the change cuts."""

        async def changing() -> None:
            if listens is not None:
                self._listen(listens)
            change()
            cancelled = [link for link in self._links if link.cancelling()]
            await asyncio.gather(*cancelled, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(changing(), self._loop).result(WAIT_SECONDS)

    def _cut(self) -> None:
        self._closes_new = True
        for link in self._links:
            link.cancel()

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note an error. Errors of connections are expected; any other is a bug of the proxy."""
        if not isinstance(context.get("exception"), OSError):
            self._errors.append(context)

    def _listen(self, listens: bool) -> None:
        if listens and self._listener is None:
            self._listener = socket.create_server((HOST, self.port))
            self._listener.setblocking(False)
            self._loop.add_reader(self._listener, self._accept, self._listener)
        elif not listens and self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._note)
        self._stop = asyncio.Event()
        self._listen(True)
        self._ready.set()
        await self._stop.wait()
        self._listen(False)
        self._closes_new = True
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for link in self._links:
                link.cancel()
            await asyncio.wait(others)
        for _ in range(TURNS_TO_CLOSE):
            await asyncio.sleep(0)

    def _accept(self, listener: socket.socket) -> None:
        """Accept all connections that wait.

        A server of asyncio would leave one open that it accepts in the turn in which it is closed.
        """
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                opening = asyncio.create_task(self._open(connection))
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        """Begin a link. This is never cancelled: asyncio may leave a TLS connection open if it is."""
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._tls
            )
        except OSError:  # the client broke its handshake off
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        reset = _resetting(writer)
        if self._closes_new:
            reset()
            return
        link = asyncio.create_task(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        link.add_done_callback(lambda _: reset())

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._requests.open.wait()
        try:
            beyond_reader, beyond_writer = await asyncio.open_connection(HOST, self.target_port)
        except OSError:
            return
        reset_beyond = _resetting(beyond_writer)
        ways = [
            asyncio.create_task(self._requests.carry(reader, beyond_writer)),
            asyncio.create_task(self._answers.carry(beyond_reader, writer)),
        ]
        try:
            ended, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if all(way.exception() is None for way in ended):
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
        finally:
            for way in ways:
                way.cancel()
            reset_beyond()
            await asyncio.gather(*ways, return_exceptions=True)


def _resetting(writer: asyncio.StreamWriter) -> Callable[[], None]:
    """Return a function that resets the connection, if it is open.

    Call this early: TLS forgets its socket.
    """
    connection = writer.get_extra_info("socket")
    writer.transport.set_write_buffer_limits(high=1)  # so that drain() waits until all bytes have left

    def reset() -> None:
        with contextlib.suppress(OSError):  # closed already
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        writer.transport.abort()

    return reset
