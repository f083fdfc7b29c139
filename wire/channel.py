"""The sending half of a connection, and its end. Law: an answer that was written is not lost to the way the
connection is closed, and a client that does not read holds a bounded number of bytes for a bounded time.

Lingering: our side of the socket is shut down, and what the client still sends is read and dropped, because
closing a socket with unread bytes would reset it and take the answer with it (RFC 9112, 9.6).
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from tornado.iostream import StreamClosedError

if TYPE_CHECKING:
    from wire.server import WireServer

LINGER_SECONDS = 1.0
NEVER = float("inf")
UNIX_PEER = "unix"
"""What stands for the address of a client on a Unix socket."""
PROGRESS_BYTES = 1_024
"""How much a client has to read of its answers in `write_seconds` to stay."""


class Channel(asyncio.Protocol):
    """Flow control, deadlines and closing. `deadline` is a time of the loop; the server watches it."""

    __slots__ = (
        "_at_eof",
        "_drained",
        "_lingering",
        "_open",
        "_paused",
        "_server",
        "_transport",
        "_unsent",
        "deadline",
        "opened",
        "protocol",
        "remote_ip",
    )

    def __init__(self, server: "WireServer") -> None:
        self._server = server
        self.opened = False  # once, and for good
        self._open = False
        self.remote_ip = ""
        self.protocol = "http"
        self.deadline = NEVER
        self._paused = False  # the client does not keep up with what is written
        self._drained: list[asyncio.Future[None]] | None = None
        self._unsent = 0  # when the deadline was last put off for the client to read
        self._lingering = False
        self._at_eof = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.opened = self._open = True
        peer = transport.get_extra_info("peername")
        self.remote_ip = peer[0] if isinstance(peer, tuple) else UNIX_PEER
        if transport.get_extra_info("sslcontext") is not None:
            self.protocol = "https"

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        self._release(lambda future: future.set_exception(StreamClosedError(error)))

    def write(self, data: bytes) -> "asyncio.Future[None]":
        """Done at once while the client keeps up, else when it has read; raises StreamClosedError."""
        if not self._open or self._transport.is_closing():
            return self.closed()
        future = self._server.loop.create_future()
        self._transport.write(data)
        if not self._paused:
            future.set_result(None)
        elif self._drained is None:
            self._drained = [future]
        else:
            self._drained.append(future)
        return future

    def closed(self) -> "asyncio.Future[None]":
        """What `write` gives when there is nobody to write to."""
        future = self._server.loop.create_future()
        future.set_exception(StreamClosedError())
        future.exception()  # nobody has to look at it
        return future

    def pause_writing(self) -> None:
        self._paused = True
        self.wait()

    def resume_writing(self) -> None:
        self._paused = False
        self._release(lambda future: future.set_result(None))
        self.wait()

    def _release(self, settle: "Callable[[asyncio.Future[None]], None]") -> None:
        futures, self._drained = self._drained or (), None
        for future in futures:
            if not future.done():
                settle(future)
                future.exception()  # nobody has to look at it

    def linger(self) -> None:
        """Closes once everything is sent; gives the client a moment to close first."""
        if not self._open or self._lingering:
            return
        self._lingering, self._unsent, transport = True, 0, self._transport
        self.deadline = self._server.now + LINGER_SECONDS
        if self._at_eof:
            transport.close()
        elif transport.can_write_eof():
            transport.resume_reading()
            transport.write_eof()
        else:  # TLS: how much is unsent is not told, so the client gets the time to read all of it
            self.deadline = self._server.now + self._server.limits.write_seconds
            transport.close()

    def abort(self) -> None:
        """Closes now; what is not sent yet never will be."""
        if self._open:
            self._transport.abort()

    def wait(self) -> None:
        """Sets the deadline by what is waited for."""
        if self._paused:
            self._wait_for_reader()

    def expired(self) -> None:
        """The deadline has passed."""
        unsent = self._transport.get_write_buffer_size()
        if not unsent:
            self._timed_out()
        elif not self._unsent or unsent <= self._unsent - PROGRESS_BYTES:
            self._wait_for_reader()
        else:
            self.abort()

    def _wait_for_reader(self) -> None:
        self._unsent = self._transport.get_write_buffer_size()
        self.deadline = self._server.now + self._server.limits.write_seconds

    def _timed_out(self) -> None:
        self.abort()
