"""One connection, one HTTP/1.1 exchange at a time. Law: whatever the peer sends, few of its bytes are looked
at, and none once the verdict is known.

Responses as RFC 9112 has them, parsed by llhttp (httptools) without its leniencies. A status counts as soon
as its head is complete: how its body ends decides only whether the connection can be used again. Nothing is
decompressed, followed or upgraded.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

import httptools

from outbound.failures import ExchangeFailed
from outbound.result import READ_BYTES, HttpResult

HEAD_BYTES = 32 * 1024
"""Of everything before the body: informational responses too."""
FRAMED_BYTES = 4 * READ_BYTES
"""Of a body with its chunk sizes, extensions and trailers."""
MAX_INFORMATIONAL = 8
_SLICE = 4 * 1024  # of what the loop hands over, which may be 256 KiB at once


class StaleConnection(Exception):
    """The peer closed a connection, idle before, without a word: it may or may not have read the request."""


class _Enough(Exception):
    """Stops the parser."""


class ResponseReader:
    """Reads one response. `reusable`: it has ended where the peer said, and nothing came after it."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.reusable = False
        self.began = False
        self._is_http = False
        self._over = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._informational = 0
        self._seen_bytes = 0  # of the head, then of the body
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> bool:
        """Whether all is known that will be. Raises ExchangeFailed."""
        self.began = True
        if not self._is_http:
            start = data.lstrip(b"\r\n")
            if not start.startswith(b"HTTP/"[: len(start)]):
                raise ExchangeFailed("protocol")  # llhttp reads other protocols' answers too
            self._is_http = bool(start)
        view, at = memoryview(data), 0
        while at < len(data) and not self._over:
            limit = HEAD_BYTES if self.status is None else FRAMED_BYTES
            piece = view[at : at + min(_SLICE, limit - self._seen_bytes)]
            at += len(piece)
            self._parse(piece)
        if at < len(data):
            self.reusable = False
        return self._over

    def answer(self) -> HttpResult:
        """What a final response, complete to the end of its head, amounts to."""
        headers: dict[str, str] = {}
        for raw_name, raw_value in self._headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        status = self.status or 0
        error = None if 200 <= status <= 299 else f"http_{status}"
        return HttpResult(status, error, headers=headers, body=b"".join(self._body)[:READ_BYTES])

    def _parse(self, piece: memoryview) -> None:
        in_head = self.status is None
        try:
            self._parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self.status is None:
                raise ExchangeFailed("protocol") from None
            self._over, self.reusable = True, False
        if in_head and self.status is not None:
            self._seen_bytes = 0
            return
        self._seen_bytes += len(piece)
        if in_head and self._seen_bytes >= HEAD_BYTES:
            raise ExchangeFailed("too_large")
        if self._seen_bytes >= FRAMED_BYTES:
            self._over = True
            self._body.clear()  # mostly frames: what it says is nothing to show

    def on_message_begin(self) -> None:
        if self.status is not None:
            raise _Enough  # a second response, to nothing

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status is None:  # not a trailer
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 or status == 101 or not self._parser.get_http_version().startswith("1."):
            raise _Enough
        if status >= 200:
            self.status = status
            return
        self._headers.clear()
        self._informational += 1
        if self._informational > MAX_INFORMATIONAL:
            raise _Enough

    def on_body(self, piece: bytes) -> None:
        self._body.append(piece)
        self._body_bytes += len(piece)
        if self._body_bytes >= READ_BYTES:
            raise _Enough

    def on_message_complete(self) -> None:
        if self.status is not None:
            self._over, self.reusable = True, self._parser.should_keep_alive()


class ClientConnection(asyncio.Protocol):
    """A connection to an endpoint. An exchange may begin while it is `idle`."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.idle = False
        self.on_close: Callable[[ClientConnection], None] = _nobody
        """Called when the peer closes it, or speaks unasked, while it is idle."""
        self._used = False
        self._spoke_unasked = False
        self._response: ResponseReader | None = None
        self._waiter: asyncio.Future[HttpResult] | None = None

    def exchange(self, request: bytes) -> "asyncio.Future[HttpResult]":
        """Sends the request; the connection is idle or aborted once the answer is there.

        The future raises ExchangeFailed or StaleConnection. Who cancels it calls `abort` next.
        """
        self.idle = False
        self._response = ResponseReader()
        self._waiter = waiter = self._loop.create_future()
        if self._spoke_unasked:
            self._fail(ExchangeFailed("protocol"))
        elif self.transport.is_closing():
            self._ended(None)
        else:
            self.transport.write(request)
        return waiter

    def abort(self) -> None:
        """Closes now."""
        self.idle = False
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.idle = True

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None:
            self._spoke_unasked = True
            self._ended(None)
            return
        try:
            if response.feed(data):
                self._settle(response.answer(), reusable=response.reusable)
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
                self.on_close(self)
        elif response.status is not None:
            self._settle(response.answer(), reusable=False)
        elif self._used and not response.began:
            self._fail(StaleConnection())
        elif isinstance(error, ssl.SSLError):  # TLS 1.3: a server may refuse a client after the handshake
            self._fail(ExchangeFailed("tls"))
        else:
            self._fail(ExchangeFailed("reset"))

    def _settle(self, answer: HttpResult, *, reusable: bool) -> None:
        waiter, self._waiter, self._response = self._waiter, None, None
        self.idle = self._used = reusable
        if not reusable:
            self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter, self._response = self._waiter, None, None
        self.abort()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)


def _nobody(_: ClientConnection) -> None:
    pass
