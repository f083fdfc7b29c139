"""A transport without a socket, which keeps the promises of asyncio and uvloop to a protocol.

It fails where they would raise or warn. A test plays the client: it decides when to send, to read and to
leave.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.support.turn_loop import TurnLoop

HIGH_BYTES = 4_096
LOW_BYTES = 1_024
EMPTY, _ = socket.socketpair()
"""The socket that the transport names as its own: its buffers in the kernel are empty."""


class Pipe(asyncio.Transport):
    def __init__(self, protocol: asyncio.Protocol, *, tls: bool, late: bool) -> None:
        """With `late`, data that was read before a pause may arrive after it, as with uvloop."""
        extra: dict[str, Any] = {"peername": ("127.0.0.1", 4_711), "socket": EMPTY}
        super().__init__(extra | ({"sslcontext": object()} if tls else {}))
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._tls = tls
        self._inbox: deque[bytes | None] = deque()  # None is the end
        self._late = late
        self._reading = True
        self._one_more = False
        self._closing = False
        self._paused = False
        self._unread = 0
        self.client_reads = True
        self.written = b""
        self.shut_down = False  # our side
        self.aborted = False
        self.lost = False
        protocol.connection_made(self)

    # Actions of the client.

    def send(self, data: bytes | None) -> None:
        """Send bytes of the client; None closes its side."""
        self._inbox.append(data)
        self._loop.call_soon(self._pump)

    def read(self) -> None:
        """Let the client read all that there is, and from now on at once."""
        self.client_reads, self._unread = True, 0
        self._loop.call_soon(self._unpause)

    def reset(self) -> None:
        if not self._closing:
            self.aborted = True
            self._end(ConnectionResetError())

    # Actions of the loop.

    def _pump(self) -> None:
        while self._inbox and not self._closing:
            if not (self._reading or (self._one_more and self._inbox[0] is not None)):
                break
            self._one_more = False
            data = self._inbox.popleft()
            if data is not None:
                self._protocol.data_received(data)
            elif not self._protocol.eof_received() or self._tls:
                self.close()

    def _unpause(self) -> None:
        if self._paused and self._unread <= LOW_BYTES and not self.lost:
            self._paused = False
            self._protocol.resume_writing()
        if self._closing and not self._unread:
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        self._closing = True
        self._loop.call_soon(self._lose, error)

    def _lose(self, error: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self._protocol.connection_lost(error)

    # Calls of the protocol: asyncio.Transport.

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._one_more = self._reading and self._late
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._loop.call_soon(self._pump)

    def can_write_eof(self) -> bool:
        return not self._tls

    def write_eof(self) -> None:
        assert not self._tls, "TLS has no half-closed connections"
        self.shut_down = True

    def write(self, data: Any) -> None:
        assert isinstance(data, bytes)
        assert data, "no bytes were written"
        assert not self.shut_down, "written after the end"
        assert not self._closing, "written to a closed transport"
        self.written += data
        if not self.client_reads:
            self._unread += len(data)
            if self._unread > HIGH_BYTES and not self._paused:
                self._paused = True
                self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self._unread

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._unread:
                self._end(None)

    def abort(self) -> None:
        if not self.lost:
            self.aborted, self._unread = True, 0
            self._end(None)


class PipeLoop(TurnLoop):
    """A loop that replaces each socket that a server accepts by a pipe. Nothing comes over the socket."""

    def __init__(self, *, tls: bool, late: bool) -> None:
        super().__init__(seed=0)
        self._pipe_of: Callable[[asyncio.Protocol], Pipe] = lambda protocol: Pipe(
            protocol, tls=tls, late=late
        )
        self.pipe: asyncio.Future[Pipe] = self.create_future()

    async def connect_accepted_socket(
        self, protocol_factory: Callable[[], Any], sock: socket.socket, **_: Any
    ) -> tuple[Any, Any]:
        sock.close()
        protocol = protocol_factory()
        pipe = self._pipe_of(protocol)
        self.pipe.set_result(pipe)
        return pipe, protocol
