"""The sending half of a connection, and its end. Law: an answer that was written is not lost to the way the
connection is closed, and a client that does not read holds a bounded number of bytes for a bounded time.

Lingering: our side of the socket is shut down, and what the client still sends is read and dropped, because
closing a socket with unread bytes would reset it and take the answer with it (RFC 9112, 9.6).
"""

import asyncio
import contextlib
import fcntl
import socket
import sys
import termios
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from tornado.iostream import StreamClosedError

if TYPE_CHECKING:
    from wire.server import WireServer

LINGER_SECONDS = 1.0
NEVER = float("inf")
UNIX_PEER = "unix"
"""What stands for the address of a client on a Unix socket."""
_BYTES_ACKED = 120  # where struct tcp_info has tcpi_bytes_acked (linux/tcp.h)
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
        "_taken",
        "_transport",
        "accepted",
        "deadline",
        "opened",
        "protocol",
        "remote_ip",
    )

    def __init__(self, server: "WireServer") -> None:
        self._server = server
        self.opened = False  # once, and for good
        self.accepted: socket.socket | None = None  # while it is being opened
        self._open = False
        self.remote_ip = ""
        self.protocol = "http"
        self.deadline = NEVER
        self._paused = False  # the client does not keep up with what is written
        self._drained: list[asyncio.Future[None]] | None = None
        self._taken: int | None = None  # by the client, when the deadline was last put off for it to read
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
            return self.not_written()
        future = self._server.loop.create_future()
        self._transport.write(data)
        if not self._paused:
            future.set_result(None)
        elif self._drained is None:
            self._drained = [future]
        else:
            self._drained.append(future)
        return future

    def not_written(self) -> "asyncio.Future[None]":
        """What `write` gives when there is nobody to write to."""
        future = self._server.loop.create_future()
        future.set_exception(StreamClosedError())
        future.exception()  # nobody has to look at it
        return future

    def pause_writing(self) -> None:
        self._paused = True
        self.set_deadline()

    def resume_writing(self) -> None:
        self._paused, self._taken = False, None
        self._release(lambda future: future.set_result(None))
        self.set_deadline()

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
        self._lingering, self._taken, transport = True, None, self._transport
        self.deadline = self._server.now + LINGER_SECONDS
        if self._at_eof or not transport.can_write_eof():  # TLS cannot
            transport.close()
        else:
            transport.resume_reading()
            transport.write_eof()

    def abort(self) -> None:
        """Closes now, opened or not; what is not sent yet never will be."""
        if self._open:
            self._transport.abort()
        elif not self.opened and self.accepted is not None:
            # Its end is met as any client's would be. The opening is not cancelled: uvloop never tells of the
            # end of a connection that was cancelled just before or after it told of its beginning.
            with contextlib.suppress(OSError):  # the client has gone
                self.accepted.shutdown(socket.SHUT_RDWR)

    def make_room(self) -> None:
        """Ends now. What is idle loses nothing by it."""
        self.deadline = NEVER
        self.abort()

    def set_deadline(self) -> None:
        """Sets the deadline by what is waited for."""
        if self._paused:
            self._wait_for_reader()

    def expired(self) -> None:
        """The deadline has passed."""
        if self._transport.get_extra_info("socket") is None:
            return  # the loop has closed it, and says so presently
        if not self._paused and not self._unsent():
            self._timed_out()
        elif self._taken is None or self._taken_now() >= self._taken + PROGRESS_BYTES:
            self._wait_for_reader()
        else:
            self.abort()

    def _unsent(self) -> bool:
        """Whether closing now could take something from the client. What the kernel holds counts too: if more
        came from the client, it would reset the connection. (A TLS transport tells of no other.)"""
        sock = self._transport.get_extra_info("socket")
        end = 1 if self._lingering else 0  # TCP's own
        return self._transport.get_write_buffer_size() > 0 or _queued(sock.fileno()) > end

    def _silent(self) -> bool:
        """Whether the client has sent nothing that is not read; of a connection that is not opened."""
        descriptor = -1 if self.accepted is None else self.accepted.fileno()
        return descriptor < 0 or not _unread(descriptor)  # closed: its handshake has just failed

    def _settled(self) -> bool:
        """Whether nothing is on its way: no request that is not read yet, and no answer. One that the kernel
        has for a while counts no more: it sends it behind our end too, and the client may never take it."""
        sock = self._transport.get_extra_info("socket")
        if sock is None or self._transport.get_write_buffer_size() > 0 or _unread(sock.fileno()):
            return False
        return self.deadline <= self._server.idle_deadline - LINGER_SECONDS or not _queued(sock.fileno())

    def _wait_for_reader(self) -> None:
        self._taken = self._taken_now()
        self.deadline = self._server.now + self._server.limits.write_seconds

    def _taken_now(self) -> int:
        """A number that grows by the bytes that the client takes."""
        sock = self._transport.get_extra_info("socket")
        if sock.family == socket.AF_UNIX:  # nothing is sent while the client is waited for
            return -self._transport.get_write_buffer_size() - _queued(sock.fileno())
        acknowledged = slice(_BYTES_ACKED, _BYTES_ACKED + 8)
        return int.from_bytes(
            sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, acknowledged.stop)[acknowledged],
            sys.byteorder,
        )

    def _timed_out(self) -> None:
        self.abort()


def _queued(descriptor: int) -> int:
    """Bytes that the kernel holds for the client (SIOCOUTQ: tcp(7), unix(7))."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def _unread(descriptor: int) -> int:
    """Bytes that the kernel holds of the client (SIOCINQ: tcp(7), unix(7))."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
