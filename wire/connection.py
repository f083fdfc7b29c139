"""One client's connection: bytes to requests, and requests to answers in their order. Law: whatever a client
does or omits, what it can make this process hold is bounded: bytes, requests and seconds.

HTTP/1.1 as RFC 9112 has it, parsed by llhttp (httptools) without its leniencies. A request that the `Direct`
route answers takes one call from its last byte to `transport.write`: no task, no future, no Tornado object.
Every other becomes an Exchange with the application, one at a time; what comes before its turn stays
unparsed, and what is more than one read of it stays in the socket.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import httptools

from wire.direct import START, Direct
from wire.exchange import Exchange
from wire.head import (
    HEADERS_TOO_LARGE,
    MALFORMED,
    NOT_IMPLEMENTED,
    NOT_IN_TRAILERS,
    TOO_MANY_AT_ONCE,
    Fields,
    Refused,
    body_fields,
    plain_fields,
    read_head,
    target_of_line,
)
from wire.turns import Turns

if TYPE_CHECKING:
    from wire.server import WireServer

log = logging.getLogger(__name__)

SLICE_BYTES = 4_096
"""How much is parsed at once, and so how far requests are parsed ahead of their turn."""
SLICES_AT_ONCE = 8  # then other connections have their turn
FRAMING = 16
"""How many bytes a body in chunks may take for each byte of its own."""


class Connection(Turns):
    """The protocol of one accepted socket, TLS or not."""

    __slots__ = (
        "_body_bytes",
        "_completed",
        "_feeding",
        "_fields",
        "_head_bytes",
        "_offered_body",
        "_parser",
        "_pieces",
        "_to_learn",
        "_wire_bytes",
    )

    def __init__(self, server: "WireServer") -> None:
        super().__init__(server)
        self._parser = httptools.HttpRequestParser(self)
        # The message that is being parsed.
        self._fields: Fields = []
        self._head_bytes = 0  # of a head that came in more than one read
        self._wire_bytes = self._body_bytes = 0  # of its body: as sent, and as meant
        self._completed = False  # whether a message ended among the bytes that are being parsed
        self._offered_body = b""  # the fields that announce the body of a request that offers an upgrade
        self._feeding = False  # a head of ours
        self._pieces: list[bytes] = []  # of its body, not handed over yet
        # Target, peer and caller of a direct success among the bytes that are being parsed.
        self._to_learn: tuple[bytes, str, Any] | None = None

    # Bytes.

    def data_received(self, data: bytes) -> None:
        if self._plain and len(data) <= SLICE_BYTES:
            if not self._recognised(data):
                self._parse(data)
        elif not self._reading_done:
            self._held += data
            self.go_on()

    def _recognised(self, data: bytes) -> bool:
        """Whether it was one request whose head is known, and is answered."""
        server = self._server
        if self._midway or server.direct is None or not data.startswith(START):
            return False
        end = data.find(b" ", len(START))
        head = data[end:], self.remote_ip
        caller = server.known.get(head)
        if caller is None:
            return False
        status = self._answer(server.direct, data[len(START) : end], caller)
        if status == 401:  # the key is no good any more, and what holds it goes
            server.known.pop(head)
        return status is not None

    def _answer(self, direct: Direct, target: bytes, caller: Any) -> int | None:
        """The status, if the direct route has an answer."""
        answer = direct.answer(target, caller)
        if answer is None:
            return None
        status, rest = answer
        if self.fresh:
            self._asks()
        self.deadline = self._server.idle_deadline
        self._transport.write(self._server.status_lines[status] + rest)  # may set another deadline
        return status

    def eof_received(self) -> bool:
        """The client sends no more; what it has sent as a whole is answered."""
        self._at_eof = True
        if self._lingering or self.protocol == "https":
            return False  # uvloop's TLS ends both ways at once
        answering = self._turn is not None and self._turn is not self._receiving
        return bool(answering or self._held or self._queue or self._refusal)

    def go_on(self) -> None:
        """Parses what is held, as far as it is its turn; reads on when nothing is left."""
        if not self._open or self._lingering:
            return
        for _ in range(SLICES_AT_ONCE):
            if not self._held or self._reading_done or self._blocked():
                break
            piece, self._held = self._held[:SLICE_BYTES], self._held[SLICE_BYTES:]
            self._parse(piece)
        else:
            self._server.loop.call_soon(self.go_on)  # others first
        if self._reading_done:
            self._held = b""
        self._plain = self._turn is None and not self._held and not self._reading_done and not self._paused
        if self._held:
            self._transport.pause_reading()
        elif not self._at_eof:
            self._transport.resume_reading()
        if self._plain and not self._midway and self.closing:
            self.linger()
        elif (
            self._at_eof
            and self._turn is self._receiving
            and not (self._held or self._queue or self._refusal)
        ):
            self.linger()  # what is missing will never come

    def _blocked(self) -> bool:
        turn = self._turn
        return self._paused or (turn is not None and (turn is not self._receiving or turn.blocked))

    def _parse(self, data: bytes) -> None:
        self._completed = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._held = data[upgrade.args[0] :] + self._held
            self._decline_upgrade()
        except httptools.HttpParserError as error:
            if not self._reading_done or isinstance(error, httptools.HttpParserCallbackError):
                self._parse_failed(error, data)
        else:
            if self._to_learn is not None:
                self._server.known.learn(data, *self._to_learn)
                self._to_learn = None
            if self._receiving is not None:
                self._hand_over(self._receiving)
                self._body_continues(len(data))
            elif self._midway:
                self._head_continues(len(data))
            elif not self._completed:  # empty lines, which begin no request and put no deadline off
                self._count_head(len(data))

    def _decline_upgrade(self) -> None:
        """Goes on as if nothing had been offered. The parser has stopped behind the head, whatever body it
        announces; a new one is told of that body by a head of ours."""
        self._parser = httptools.HttpRequestParser(self)
        framing, self._offered_body = self._offered_body, b""
        if framing:
            self._feeding = True
            self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % framing)
            self._feeding = False
        self._server.loop.call_soon(self.go_on)

    def _parse_failed(self, error: httptools.HttpParserError, data: bytes) -> None:
        cause = error.__context__
        if isinstance(cause, Refused):
            self._refuse(cause.status, cause.text)
        elif isinstance(error, httptools.HttpParserCallbackError):
            log.error("a request could not be handed over", exc_info=cause)
            self._reading_done = True
            self.abort()
        elif isinstance(error, httptools.HttpParserInvalidMethodError) and (target := target_of_line(data)):
            self._refuse(*NOT_IMPLEMENTED, target)
        else:
            self._refuse(*MALFORMED)

    def _head_continues(self, size: int) -> None:
        """A head is longer than one read, or comes slowly. Its exact size is checked once it is complete, and
        then by the application's way alone."""
        if not self._head_bytes:
            self.set_deadline()
        self._count_head(size if not self._completed else 1)  # not what belongs to the message before it

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._server.limits.header_bytes:
            self._refuse(*HEADERS_TOO_LARGE)

    def _body_continues(self, size: int) -> None:
        """A body in chunks may not be all extensions and trailers."""
        self._wire_bytes += size
        if self._wire_bytes > FRAMING * self._body_bytes + self._server.limits.header_bytes + SLICE_BYTES:
            self._refuse(*MALFORMED)

    # The parser's callbacks (httptools.HTTPProtocol).

    def on_message_begin(self) -> None:
        self._midway, self._to_learn, self._head_bytes = True, None, 0

    def on_url(self, piece: bytes) -> None:
        if not self._feeding:
            self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._receiving is None:
            self._fields.append((name, value))
        elif name.lower() in NOT_IN_TRAILERS and not self._feeding:
            raise Refused(*MALFORMED)  # llhttp would heed it

    def on_headers_complete(self) -> None:
        if self._feeding:
            return
        target, fields = self._target, self._fields
        self._fields = []
        direct, parser = self._server.direct, self._parser
        if (
            direct is not None
            and self._plain
            and not self._head_bytes  # it began with this read
            and parser.get_method() == b"GET"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and (named := plain_fields(fields, self._server.limits)) is not None
        ):
            caller = direct.caller(named, self.remote_ip)
            status = self._answer(direct, target, caller) if caller is not None else None
            if status is not None:
                self._to_learn = (target, self.remote_ip, caller) if status < 400 else None
                self._target = b""
                return
        self._head_complete(target, fields)

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        self._midway, self._completed = False, True
        receiving = self._receiving
        if receiving is not None and not self._offered_body:
            self._hand_over(receiving)
            self._receiving = None
            self._reading_done = not receiving.keep_alive
            receiving.complete()
            self.set_deadline()

    def _hand_over(self, receiving: Exchange) -> None:
        """Chunks may be of one byte each: what came together is handed over together."""
        if self._pieces:
            body, self._pieces = b"".join(self._pieces), []
            self._body_bytes += len(body)
            receiving.body(body)

    # Turns.

    def _head_complete(self, target: bytes, fields: Fields) -> None:
        """A head is complete. Raises Refused."""
        parser = self._parser
        method, version = parser.get_method().decode(), parser.get_http_version()
        self._head_bytes = 0
        if len(self._queue) >= self._server.limits.pipelined:
            raise Refused(*TOO_MANY_AT_ONCE)
        start_line, fields = read_head(method, target, version, fields, self._server.limits)
        keep_alive = parser.should_keep_alive() and method != "CONNECT"  # behind that comes no request
        exchange = self._receiving = Exchange(self, start_line, fields, keep_alive=keep_alive)
        self._offered_body = body_fields(fields) if parser.should_upgrade() and method != "CONNECT" else b""
        self._target = b""
        self._wire_bytes = self._body_bytes = 0
        self._pieces = []
        self._plain = False
        if self.fresh:
            self._asks()
        if self._turn is None:
            self._begin(exchange)
        else:
            self._queue.append(exchange)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.set_deadline()
        if self._server.draining:
            self.drain()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        turn, self._turn, self._receiving, self._queue, self._held = self._turn, None, None, [], b""
        del self._parser  # it and this object hold each other
        if turn is not None:
            turn.lost()
        self._server.disconnected(self)
