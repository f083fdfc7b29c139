"""HTTP/1.1 over one connection, one exchange at a time. Invariant: the client reads a bounded part of a
response, and nothing after its result is known.

Responses follow RFC 9112, parsed by llhttp (httptools) without its lenient modes. The status counts as soon
as the head is complete. The way in which the body ends only decides if the connection can be used again. The
client decompresses nothing, follows no redirect and upgrades no connection.

A response is read in these stages:

    AWAITED -> BLANK      bytes have come, so far only line breaks
    BLANK   -> HEAD       the bytes begin as HTTP does
    HEAD    -> BODY       the head of a final response is complete; 1xx responses before it are skipped
    BODY    -> COMPLETE   the response has ended where its head says
    BODY, COMPLETE -> CUT    the response is too long, is malformed, or has bytes behind it

A connection goes through these uses:

    OPENING -> FRESH      the connection is made
    FRESH   -> FIRST      the first exchange begins
    IDLE    -> LATER      another exchange begins
    FIRST, LATER -> IDLE  the response is COMPLETE, and both sides keep the connection
    FRESH, IDLE -> SPOKE  the peer has sent bytes before any request
    every use -> CLOSED   the connection is aborted, closed by the peer, or lost
"""

import asyncio
import ssl
from collections.abc import Callable
from enum import Enum, auto
from typing import cast

import httptools

from outbound.result import BYTES_EACH, READ_BYTES, ExchangeFailed, HttpResult

HEAD_BYTES = 32 * 1024
"""The longest head, 1xx responses included."""
FRAMED = 4
"""The longest body with its chunk sizes, extensions and trailers, in bodies without them."""
MAX_INFORMATIONAL = 8
MAX_HEADERS = 100
"""The most header lines, with those of 1xx responses and the trailers. However short, each costs a call."""
MAX_CHUNKS = 100
"""The most chunks, the empty last one included."""
MAX_PIECES = 24
"""The most reads from the socket for one response: each costs about as much as 20 header lines. A server that
writes each header in a packet of its own stays below. The rest of a body in more pieces is not read."""
_SLICE = 4 * 1024
"""The most bytes that the parser gets at once. The event loop may deliver 256 KiB at once."""


class StaleConnection(Exception):
    """The peer closed an idle connection without a response. It may or may not have read the request."""


class _Enough(Exception):
    """Stops the parser."""


class _Stage(Enum):
    """The stages of a response, see above."""

    AWAITED = auto()
    BLANK = auto()
    HEAD = auto()
    BODY = auto()
    COMPLETE = auto()
    CUT = auto()


_OVER = (_Stage.COMPLETE, _Stage.CUT)


class ResponseReader:
    """Reads one response. `status` is None until the head of the final response is complete.

    A reader of more than READ_BYTES, for services that the operator chooses, allows more chunks and reads in
    proportion to the bytes that have come.
    """

    def __init__(self, read_bytes: int = READ_BYTES) -> None:
        self.status: int | None = None
        self._read_bytes = read_bytes
        self._more_parts = 0
        self._all_bytes = 0
        self._stage = _Stage.AWAITED
        self._keeps_alive = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._informational = 0
        self._lines = self._chunks = self._pieces = 0
        self._too_many = False  # header lines before the final response was known
        self._seen_bytes = 0  # of the head, then of the body
        self._parser = httptools.HttpResponseParser(self)

    @property
    def began(self) -> bool:
        """True once a byte has come."""
        return self._stage is not _Stage.AWAITED

    @property
    def reusable(self) -> bool:
        """True if the response has ended where its head says, with nothing behind it, and may have a
        successor."""
        return self._stage is _Stage.COMPLETE and self._keeps_alive

    def feed(self, data: bytes) -> bool:
        """Read the next bytes. Returns True once the result is known. Raises ExchangeFailed."""
        if self._stage in (_Stage.AWAITED, _Stage.BLANK):
            self._recognise(data)
        self._all_bytes += len(data)
        if self._read_bytes > READ_BYTES:
            self._more_parts = self._all_bytes // BYTES_EACH
        self._count_piece()
        view, at = memoryview(data), 0
        while at < len(data) and self._stage not in _OVER:
            limit = HEAD_BYTES if self.status is None else FRAMED * self._read_bytes
            piece = view[at : at + min(_SLICE, limit - self._seen_bytes)]
            at += len(piece)
            self._parse(piece)
        if at < len(data):
            self._stage = _Stage.CUT
        return self._stage in _OVER

    def result(self, *, ended: bool = False) -> HttpResult:
        """Return the result of a final response whose head is complete.

        `ended`: the peer has closed the connection, which ends a body without a length.
        """
        values: dict[str, list[str]] = {}
        for raw_name, raw_value in self._headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip(" \t")
            values.setdefault(name, []).append(value)
        headers = {name: ", ".join(each) for name, each in values.items()}
        status = self.status or 0
        error = None if 200 <= status <= 299 else f"http_{status}"
        has_length = "content-length" in headers or "transfer-encoding" in headers
        is_whole = self._stage is _Stage.COMPLETE or (ended and self._stage is _Stage.BODY and not has_length)
        body = b"".join(self._body)[: self._read_bytes]
        return HttpResult(status, error, headers=headers, body=body, is_whole=is_whole)

    def _recognise(self, data: bytes) -> None:
        """Refuse other protocols by their first bytes, because llhttp would read some of them."""
        start = data.lstrip(b"\r\n")
        if not start.startswith(b"HTTP/"[: len(start)]):
            self._stage = _Stage.BLANK
            raise ExchangeFailed("protocol")
        self._stage = _Stage.HEAD if start else _Stage.BLANK

    def _count_piece(self) -> None:
        """Stop reading a response that comes in too many pieces."""
        self._pieces += 1
        if self._pieces <= MAX_PIECES + self._more_parts:
            return
        if self.status is None:
            raise ExchangeFailed("too_large")
        self._stage = _Stage.CUT

    def _parse(self, piece: memoryview) -> None:
        in_head = self.status is None
        try:
            self._parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self.status is None:
                raise ExchangeFailed("too_large" if self._too_many else "protocol") from None
            self._stage = _Stage.CUT
        if in_head and self.status is not None:
            self._seen_bytes = 0
            return
        self._seen_bytes += len(piece)
        if in_head and self._seen_bytes >= HEAD_BYTES:
            raise ExchangeFailed("too_large")
        if self._seen_bytes >= FRAMED * self._read_bytes:
            if self._stage is _Stage.BODY:
                self._stage = _Stage.CUT
            self._body.clear()  # most of it is framing, so the content is not worth showing

    # -- called by the parser --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.status is not None:
            raise _Enough  # a second response, without a request

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += 1
        if self._lines > MAX_HEADERS:
            self._too_many = True
            raise _Enough
        if self.status is None:  # else it is a trailer
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 or status == 101 or not self._parser.get_http_version().startswith("1."):
            raise _Enough
        if status >= 200:
            self.status = status
            self._stage = _Stage.BODY
            return
        self._headers.clear()
        self._informational += 1
        if self._informational > MAX_INFORMATIONAL:
            raise _Enough

    def on_chunk_header(self) -> None:
        self._chunks += 1
        if self._chunks > MAX_CHUNKS + self._more_parts:
            raise _Enough

    def on_body(self, piece: bytes) -> None:
        self._body.append(piece)
        self._body_bytes += len(piece)
        if self._body_bytes >= self._read_bytes:
            raise _Enough

    def on_message_complete(self) -> None:
        if self.status is not None:
            self._stage, self._keeps_alive = _Stage.COMPLETE, self._parser.should_keep_alive()


class _Use(Enum):
    """The uses of a connection, see above."""

    OPENING = auto()
    FRESH = auto()
    FIRST = auto()
    IDLE = auto()
    LATER = auto()
    SPOKE = auto()
    CLOSED = auto()


_BEGINS = {_Use.FRESH: _Use.FIRST, _Use.IDLE: _Use.LATER}
"""The uses that may begin an exchange, and the use during it."""


class ClientConnection(asyncio.Protocol):
    """A connection to an endpoint."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, read_bytes: int = READ_BYTES) -> None:
        """Make a connection. `read_bytes`: the longest part of a body that it keeps."""
        self._loop = loop
        self._read_bytes = read_bytes
        self._use = _Use.OPENING
        self.on_lost: Callable[[ClientConnection], None] | None = None
        """Called if the peer closes the connection, or sends bytes, while the connection is idle."""
        self._response: ResponseReader | None = None
        self._waiter: asyncio.Future[HttpResult] | None = None

    @property
    def idle(self) -> bool:
        """True if an exchange may begin."""
        return self._use in _BEGINS

    def exchange(self, request: bytes) -> "asyncio.Future[HttpResult]":
        """Send the request. Once the future is done, the connection is idle or aborted.

        The future raises ExchangeFailed or StaleConnection. A caller that cancels it calls `abort` next.
        """
        before = self._use
        self._use = _BEGINS.get(before, _Use.CLOSED)
        self._response = ResponseReader(self._read_bytes)
        self._waiter = waiter = self._loop.create_future()
        if before is _Use.SPOKE:
            self._fail(ExchangeFailed("protocol"))
        elif self.transport.is_closing():
            self._ended(None)
        else:
            self.transport.write(request)
        return waiter

    def abort(self) -> None:
        """Close the connection at once."""
        self._use = _Use.CLOSED
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._use = _Use.FRESH

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None:
            self._ended(None)
            self._use = _Use.SPOKE
            return
        try:
            if response.feed(data):
                self._settle(response)
        except ExchangeFailed as failed:
            self._fail(failed)

    def eof_received(self) -> None:
        self._ended(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended(error)

    def _ended(self, error: Exception | None) -> None:
        response = self._response
        if response is None:
            if self.idle:
                self.abort()
                if self.on_lost is not None:
                    self.on_lost(self)
        elif response.status is not None:
            self._settle(response, ended=True)
        elif self._use is _Use.LATER and not response.began:
            self._fail(StaleConnection())
        elif isinstance(error, ssl.SSLError):  # TLS 1.3: a server may refuse a client after the handshake
            self._fail(ExchangeFailed("tls"))
        else:
            self._fail(ExchangeFailed("reset"))

    def _settle(self, response: ResponseReader, *, ended: bool = False) -> None:
        waiter, self._waiter, self._response = self._waiter, None, None
        if response.reusable and not ended:
            self._use = _Use.IDLE
        else:
            self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_result(response.result(ended=ended))

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter, self._response = self._waiter, None, None
        self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
