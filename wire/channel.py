"""The socket of a connection: writing, flow control, and its end.

Invariants. Closing the connection loses no answer that was written. A client that does not read makes the
process hold a bounded number of bytes.

The two halves are two small machines. *Reading* goes FLOWING <-> WAITING, and from either to ENDED, for good.
*Writing* goes FLOWING <-> BLOCKED, and from either to SHUT and to GONE.

Lingering: our side of the socket is shut down, and further bytes of the client are read and dropped, because
closing a socket with unread bytes would reset it and take the answer with it (RFC 9112, 9.6).

Bytes that the kernel still holds for the client could be lost, too, so the kernel is asked for them. A TLS
transport only knows its own buffer.
"""

import asyncio
import fcntl
import socket
import sys
import termios
from enum import Enum, auto
from typing import cast

from tornado.iostream import StreamClosedError

UNIX_PEER = "unix"
"""The address of every client on a Unix socket."""
PROGRESS_BYTES = 1_024
"""The bytes of its answers that a client has to read in `write_seconds` to stay."""
_BYTES_ACKED = 120  # where struct tcp_info has tcpi_bytes_acked (linux/tcp.h)


class Reading(Enum):
    FLOWING = auto()
    WAITING = auto()  # further bytes stay in the kernel
    ENDED = auto()  # the client has sent its last


class Writing(Enum):
    FLOWING = auto()
    BLOCKED = auto()  # the client does not keep up
    SHUT = auto()  # everything is written
    GONE = auto()


class Channel:
    """An asyncio transport with the state of both halves."""

    __slots__ = ("_drained", "_loop", "_taken", "_transport", "peer", "reading", "secure", "send", "writing")

    def __init__(self, transport: asyncio.BaseTransport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._loop = loop
        self._drained: list[asyncio.Future[None]] = []  # done when the client keeps up again
        self._taken: int | None = None  # by the client, at the last `watch`
        self.reading = Reading.FLOWING
        self.writing = Writing.FLOWING
        self.send = self._transport.write
        """Writes without asking whether anybody reads: for the hot path."""
        address = transport.get_extra_info("peername")
        self.peer: str = address[0] if isinstance(address, tuple) else UNIX_PEER
        self.secure = transport.get_extra_info("sslcontext") is not None

    # Writing.

    @property
    def blocked(self) -> bool:
        return self.writing is Writing.BLOCKED

    def write(self, data: bytes) -> "asyncio.Future[None]":
        """Write, and return a future: done at once while the client keeps up, else when it has read.

        The future raises StreamClosedError when there is nobody to write to.
        """
        if self.writing in (Writing.SHUT, Writing.GONE) or self._transport.is_closing():
            return not_written()
        future = self._loop.create_future()
        self._transport.write(data)
        if self.blocked:
            self._drained.append(future)
        else:
            future.set_result(None)
        return future

    def block(self) -> None:
        """Note that the client does not keep up (asyncio.Protocol.pause_writing)."""
        if self.writing is Writing.FLOWING:
            self.writing = Writing.BLOCKED

    def unblock(self) -> None:
        if self.writing is Writing.BLOCKED:
            self.writing = Writing.FLOWING
        self._taken = None
        self._release(None)

    def _release(self, error: Exception | None) -> None:
        futures, self._drained = self._drained, []
        for future in futures:
            _settle(future, error)

    # Reading.

    def stop_reading(self) -> None:
        if self.reading is Reading.FLOWING:
            self.reading = Reading.WAITING
            self._transport.pause_reading()

    def read_on(self) -> None:
        if self.reading is Reading.WAITING:
            self.reading = Reading.FLOWING
            self._transport.resume_reading()

    # The end.

    def linger(self) -> None:
        """Close once everything is sent; give the client a moment to close first."""
        self._taken = None
        self.writing = Writing.SHUT
        if self.reading is Reading.ENDED or not self._transport.can_write_eof():  # TLS cannot
            self._transport.close()
        else:
            self.read_on()
            self._transport.write_eof()

    def abort(self) -> None:
        """Close now, and drop everything that is not sent yet."""
        self._transport.abort()

    def lost(self, error: Exception | None) -> None:
        """Note that the connection is gone: nobody waits for the client any more."""
        self.writing = Writing.GONE
        self._release(StreamClosedError(error))

    @property
    def closed(self) -> bool:
        """The loop has closed the socket, and will report it soon."""
        return self._transport.get_extra_info("socket") is None

    # Bytes under way.

    @property
    def unsent(self) -> bool:
        """Closing now could lose an answer: if more bytes came from the client, the kernel would reset the
        connection."""
        end = 1 if self.writing is Writing.SHUT else 0  # TCP's own
        return self._transport.get_write_buffer_size() > 0 or _queued(self._descriptor) > end

    @property
    def quiet(self) -> bool:
        """Nothing is on its way to us, and nothing of ours waits in this process."""
        buffered = self.closed or self._transport.get_write_buffer_size() > 0
        return not buffered and not unread(self._descriptor)

    @property
    def delivered(self) -> bool:
        """The kernel holds nothing for the client."""
        return not _queued(self._descriptor)

    @property
    def _descriptor(self) -> int:
        descriptor: int = self._transport.get_extra_info("socket").fileno()
        return descriptor

    # A client that reads slowly.

    def watch(self) -> None:
        """Note how much the client has taken."""
        self._taken = self._taken_now()

    @property
    def progressed(self) -> bool:
        """The client has taken enough since `watch`, or nobody watches it."""
        return self._taken is None or self._taken_now() >= self._taken + PROGRESS_BYTES

    def _taken_now(self) -> int:
        """Return a number that grows by the bytes that the client takes."""
        sock = self._transport.get_extra_info("socket")
        if sock.family == socket.AF_UNIX:  # nothing more is written while the client has to read
            return -self._transport.get_write_buffer_size() - _queued(sock.fileno())
        acknowledged = slice(_BYTES_ACKED, _BYTES_ACKED + 8)
        return int.from_bytes(
            sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, acknowledged.stop)[acknowledged],
            sys.byteorder,
        )


def not_written() -> "asyncio.Future[None]":
    """Return the future of a write that reaches nobody."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    _settle(future, StreamClosedError())
    return future


def _settle(future: "asyncio.Future[None]", error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()  # asyncio would log it if nobody looked at it


def _queued(descriptor: int) -> int:
    """Return the bytes that the kernel holds for the client (SIOCOUTQ: tcp(7), unix(7))."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def unread(descriptor: int) -> int:
    """Return the bytes that the kernel holds from the client (SIOCINQ: tcp(7), unix(7))."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
