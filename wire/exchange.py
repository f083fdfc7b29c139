"""One request and its answer, as Tornado's applications know them. Invariant: the application sees exactly
the same as on Tornado's own server: headers, the body in pieces at the pace that it takes them, then one end.

The route of posts (`PostRoute`) is asked before the application. What it takes, it answers in one piece.

Tornado's server ends a connection when the client sends no more. Here such a client still gets its answer,
unless that is a stream of events, which never ends: then the client counts as gone.

The connection feeds an exchange with the parsed pieces, and begins it when the exchanges before it are over.

Interfaces: tornado.httputil.HTTPConnection, HTTPMessageDelegate and HTTPServerConnectionDelegate. Framing of
answers: RFC 9112, 6 and 7.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Protocol, cast

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPOutputError,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)

from wire.channel import not_written
from wire.parser import RequestHead, post_fields

log = logging.getLogger(__name__)

CLOSES = b"Connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
JOINED_BYTES = 16 * 1024
"""The longest body that is written as one piece with its head. A longer one is not copied: many clients may
be reading the same bytes, and each copy would take memory until its client has read it."""
EVENTS = "text/event-stream"
BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


class PostRoute(Protocol):
    """A route that gives the same answers to some posts as the application, without it."""

    def take(
        self, target: bytes, named: Mapping[bytes, bytes], exchange: "Exchange"
    ) -> HTTPMessageDelegate | None:
        """Return the delegate that gets the body, and answers by `Exchange.answer`.

        None: the application is to answer.

        Args:
            named: the fields by their names in lower case (`parser.post_fields`).
        """


class Speaker(Protocol):
    """The connection, as its exchanges need it."""

    remote_ip: str  # Tornado reads this and the next one
    protocol: str

    @property
    def application(self) -> HTTPServerConnectionDelegate: ...

    @property
    def posts(self) -> PostRoute | None: ...
    @property
    def status_lines(self) -> Mapping[int, bytes]:
        """Status line and Date by status."""

    @property
    def closing(self) -> bool:
        """No request will be answered after the one whose turn it is."""

    @property
    def at_eof(self) -> bool:
        """The client sends no more."""

    @property
    def holds_bytes(self) -> bool:
        """More bytes of the client have come and are not parsed yet."""

    def write(self, data: bytes) -> "asyncio.Future[None]": ...
    def go_on(self) -> None:
        """Take more of the client's bytes."""

    def exchange_over(self, *, keep_alive: bool, at_once: bool = False) -> None:
        """Go on after the exchange whose turn it is: its whole answer is written.

        Args:
            at_once: true if no call of the connection is under way.
        """

    def learn_post(self, data: bytes, target: bytes, named: Mapping[bytes, bytes]) -> None:
        """Keep the head of a post that succeeded."""

    def abort(self) -> None: ...


class Exchange(HTTPConnection):
    def __init__(self, connection: Speaker, head: RequestHead, data: bytes = b"") -> None:
        """`data` is the slice with the end of the head."""
        self.context = connection  # Tornado looks for the peer here
        self._connection = connection
        self._head = head
        self._data = data
        self._named: Mapping[bytes, bytes] | None = None  # the fields of a post that its route has taken
        self.keep_alive = head.keep_alive
        self._delegate: HTTPMessageDelegate
        self._begun = False
        self._gone = False
        self._inbox: deque[bytes] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._expects_continue = False
        self.whole = False  # the request has come to its end
        self._delegate_ended = False
        self._close_callback: Callable[[], None] | None = None
        self.head_written = False
        self.answered = False
        self._chunked = False
        self._endless = False
        self._bytes_left: int | None = None

    @property
    def target(self) -> bytes:
        return self._head.target

    @property
    def blocked(self) -> bool:
        """The application has to go on before it can take more of the connection's bytes."""
        return self._waiting is not None or self.whole

    # From the connection.

    def begin(self) -> None:
        """Hand the head to the route of posts or to the application. Raises HTTPInputError when Tornado finds
        fault with it."""
        delegate = self._taken()
        if delegate is not None:
            self._delegate = delegate
        else:
            self._begin_application()
        self._begun = True
        self._deliver()

    def _taken(self) -> HTTPMessageDelegate | None:
        """Return the delegate of the route of posts, if it takes the request."""
        posts = self._connection.posts
        if posts is None or self._head.method != "POST":
            return None
        named = post_fields(self._head)
        delegate = posts.take(self._head.target, named, self) if named is not None else None
        self._named = named if delegate is not None else None
        return delegate

    def begin_whole(self, delegate: HTTPMessageDelegate, body: bytes) -> None:
        """Hand a complete request to the delegate that the route of posts has for it."""
        self._delegate = delegate
        self._begun = self.whole = self._delegate_ended = True
        if body:
            delegate.data_received(body)
        delegate.finish()

    def _begin_application(self) -> None:
        head, headers = self._head, HTTPHeaders()
        for name, value in head.fields:
            headers.add(name.decode("latin-1"), value.decode("latin-1").strip(" \t"))
        self._expects_continue = headers.get("Expect", "").lower() == "100-continue" and head.version != "1.0"
        start_line = RequestStartLine(head.method, head.target.decode("latin-1"), f"HTTP/{head.version}")
        self._delegate = self._connection.application.start_request(self._connection, self)
        self._wait_for(self._delegate.headers_received(start_line, headers))

    def body(self, piece: bytes) -> None:
        self._inbox.append(piece)
        if self._begun:
            self._deliver()

    def complete(self) -> None:
        self.whole = True
        if self._begun:
            self._deliver()

    def lost(self) -> None:
        """End it early: the connection is gone, or the request will never be complete."""
        self._gone = True
        if not self._begun:
            return
        if not self._delegate_ended:
            self._end_early()
        else:
            self._tell_closed()

    def no_more(self) -> None:
        """Note that the client sends no more."""
        if self._endless:
            self._tell_closed()

    def _tell_closed(self) -> None:
        callback, self._close_callback = self._close_callback, None
        if callback is not None:
            callback()

    def _deliver(self) -> None:
        """Give the application the next pieces, as long as it takes them."""
        while self._inbox and self._waiting is None:
            piece = self._inbox.popleft()
            if not self.answered:
                self._wait_for(self._delegate.data_received(piece))
        if self._waiting is not None or self._delegate_ended:
            return
        if self.whole and not self._inbox:
            self._delegate_ended = True
            self._delegate.finish()
        elif self._expects_continue:
            self._expects_continue = False
            if not self.head_written and not self._connection.holds_bytes:  # else its body has begun to come
                self._connection.write(CONTINUE)

    def _wait_for(self, doing: Awaitable[None] | None) -> None:
        if doing is None:
            return
        future = asyncio.ensure_future(doing)
        if future.done():
            future.result()
            return
        self._waiting = future
        future.add_done_callback(self._go_on)

    def _go_on(self, future: "asyncio.Future[None]") -> None:
        self._waiting = None
        try:
            future.result()
            if not self.answered and not self._gone:
                self._deliver()
                self._connection.go_on()
        except asyncio.CancelledError:  # the loop ends
            self._connection.abort()
        except Exception:
            # A bug outside of the application's own error handling. Some of an answer may be written.
            log.exception("an application failed")
            self._connection.abort()

    def _end_early(self) -> None:
        self._delegate_ended = True
        self._delegate.on_connection_close()

    # From the route of posts.

    @property
    def peer(self) -> str:
        return self._connection.remote_ip

    def answer(self, status: int, rest: bytes) -> None:
        """Write the whole answer to a complete request, in a call of the loop's own.

        Args:
            rest: the answer from the header lines behind the Date on.
        """
        if self._gone:
            return
        self.head_written = self.answered = True
        if status < HTTPStatus.MULTIPLE_CHOICES and self._named is not None and self.keep_alive:
            self._connection.learn_post(self._data, self._head.target, self._named)
        self.keep_alive = self.keep_alive and not self._connection.closing
        start = self._connection.status_lines[status]
        self._connection.write(start + rest if self.keep_alive else start + CLOSES + rest)
        self._connection.exchange_over(keep_alive=self.keep_alive, at_once=True)

    # From the application: tornado.httputil.HTTPConnection.

    def set_close_callback(self, callback: Callable[[], None] | None) -> None:
        """Set the callback for a client that goes away before it has its answer. It is called once."""
        self._close_callback = callback

    def write_headers(
        self,
        start_line: "RequestStartLine | ResponseStartLine",
        headers: HTTPHeaders,
        chunk: bytes | None = None,
    ) -> "asyncio.Future[None]":
        start_line = cast(ResponseStartLine, start_line)
        self.head_written = True
        self._frame(start_line.code, headers)
        lines = [f"HTTP/1.1 {start_line.code} {start_line.reason}"]
        lines += [f"{name}: {value}" for name, value in headers.get_all()]
        head = "\r\n".join([*lines, "\r\n"]).encode("latin-1")
        body = self._framed(chunk or b"")
        if len(body) <= JOINED_BYTES:
            written = self._write(head + body)
        else:
            self._write(head)
            written = self._write(body)
        if self._connection.at_eof:
            self.no_more()
        return written

    def _frame(self, status: int, headers: HTTPHeaders) -> None:
        """Set the headers that say where the answer ends, and whether another may follow it."""
        version = self._head.version
        if self._head.method == "HEAD" or status in BODILESS:
            self._bytes_left = 0
        elif "Content-Length" in headers:
            self._bytes_left = int(headers["Content-Length"])
        else:
            self._endless = headers.get("Content-Type", "").startswith(EVENTS)
            self._chunked = version == "1.1"
            if self._chunked:
                headers["Transfer-Encoding"] = "chunked"
            else:
                self.keep_alive = False
        # Once the answer leaves, nothing waits for the rest of its request.
        self.keep_alive = self.keep_alive and self.whole and not self._connection.closing
        if not self.keep_alive:
            headers["Connection"] = "close"
        elif version == "1.0":
            headers["Connection"] = "keep-alive"

    def _framed(self, chunk: bytes) -> bytes:
        if self._bytes_left is not None:
            self._bytes_left -= len(chunk)
            if self._bytes_left < 0:
                self._connection.abort()
                raise HTTPOutputError("the body is longer than its Content-Length")
        return b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked and chunk else chunk

    def write(self, chunk: bytes) -> "asyncio.Future[None]":
        """Return a future: done when the client keeps up; raises StreamClosedError when it is gone."""
        return self._write(self._framed(chunk))

    def _write(self, data: bytes) -> "asyncio.Future[None]":
        return not_written() if self._gone else self._connection.write(data)

    def finish(self) -> None:
        if self._gone:
            return
        if self._bytes_left:
            self._connection.abort()
            raise HTTPOutputError("the body is shorter than its Content-Length")
        self.answered = True
        if self._chunked:
            self._connection.write(b"0\r\n\r\n")
        if not self._delegate_ended:
            self._end_early()
        self._connection.exchange_over(keep_alive=self.keep_alive)

    def close(self) -> None:
        """Break off the answer, so that the client sees that it is incomplete."""
        self._connection.abort()
