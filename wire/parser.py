"""Requests out of bytes: bytes in, events out.

Invariant: no I/O, no clock, no loop; the same bytes in the same slices give the same events.

llhttp (httptools) reads the bytes, without its leniencies. This file adds what llhttp lacks: the grammar and
the limits of a head, a limit of a body's framing, an answer to offers to upgrade, which are declined, and the
end of a connection's requests.

The events of one message, in their order:

    HeadPart?    a head has begun, and its end is not among the bytes
    RequestHead  the head is complete, and is one that this server reads
    BodyPart*    bytes of its body: all that were in one slice, in one event
    RequestEnd   the message is complete

`Malformed` takes the place of any of them. It is the last event that a parser ever gives, as is the
`RequestEnd` of a message that no other may follow. `Unread` ends a slice early.
"""

from enum import Enum, auto

import httptools
import msgspec

from wire.head import (
    HEADERS_TOO_LARGE,
    MALFORMED,
    NOT_IMPLEMENTED,
    NOT_IN_TRAILERS,
    Fields,
    HeadRefused,
    body_fields,
    checked_head,
    plain_fields,
    target_of_line,
)
from wire.limits import FRAMING, SLICE_BYTES, ConnectionLimits


class RequestHead(msgspec.Struct, frozen=True, gc=False):
    """The head of a request, with a target in origin form (or the asterisk of OPTIONS)."""

    method: str
    target: bytes
    version: str
    fields: Fields
    keep_alive: bool
    """Another request may follow on the connection."""
    plain: dict[bytes, bytes] | None
    """The fields by name, of a head that the direct route may look at: see `head.plain_fields`."""


class HeadPart(msgspec.Struct, frozen=True):
    pass


class BodyPart(msgspec.Struct, frozen=True):
    content: bytes


class RequestEnd(msgspec.Struct, frozen=True):
    pass


class Unread(msgspec.Struct, frozen=True):
    """The rest of the slice, to be fed again: llhttp stops behind a head that offers an upgrade."""

    rest: bytes


class Malformed(msgspec.Struct, frozen=True):
    """A request that cannot be read: its answer, and what is known of its target."""

    status: int
    text: str
    target: bytes


Event = RequestHead | HeadPart | BodyPart | RequestEnd | Unread | Malformed
HEAD_PART = HeadPart()
REQUEST_END = RequestEnd()


class Stage(Enum):
    """The part of a message to which the next byte belongs."""

    BETWEEN = auto()  # to no message yet; empty lines may come
    HEAD = auto()
    BODY = auto()  # or to the framing of one, or to the trailers behind it
    DECLINING = auto()  # to a head of ours, which tells a new llhttp of the body that was announced
    OVER = auto()  # to nothing that is read


# Names of their own: Python 3.11 calls two functions to look a member up in its enum.
BETWEEN, HEAD, BODY, DECLINING, OVER = Stage


class RequestParser:
    """The requests of one connection. `feed` is its only input."""

    __slots__ = (
        "_announced",
        "_body_bytes",
        "_events",
        "_fields",
        "_head_bytes",
        "_keep_alive",
        "_limits",
        "_llhttp",
        "_pieces",
        "_wire_bytes",
        "stage",
        "target",
    )

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._llhttp = httptools.HttpRequestParser(self)
        self._events: list[Event] = []
        self.stage = BETWEEN
        # The message that is being parsed.
        self.target = b""  # as far as it has come
        self._fields: Fields = []
        self._head_bytes = 0  # of the slices before, with the empty lines before the head
        self._keep_alive = False
        self._announced = b""  # the fields that announce the body behind an offer to upgrade
        self._wire_bytes = self._body_bytes = 0  # of its body: as sent, and as meant
        self._pieces: list[bytes] = []  # of its body, in no event yet

    @property
    def midway(self) -> bool:
        """A message has begun and is not complete."""
        return self.stage is HEAD or self.stage is BODY

    def feed(self, data: bytes) -> list[Event]:
        """Return the events of the next bytes: one slice, at most `SLICE_BYTES`."""
        events = self._events = []
        try:
            self._llhttp.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._fail(error, data)
        else:
            self._measure(len(data))
        return events

    def close(self) -> None:
        """Give up llhttp, which holds this parser as this parser holds it."""
        del self._llhttp

    def _decline_upgrade(self, rest: bytes) -> None:
        """Go on as if nothing had been offered.

        llhttp stops behind the head, whatever body that announces. A new one learns of the body by a head of
        ours.
        """
        if self.stage is OVER:
            return
        self._llhttp = httptools.HttpRequestParser(self)
        announced, self._announced = self._announced, b""
        if announced:
            self.stage = DECLINING
            self._llhttp.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % announced)
            if self.stage is DECLINING:
                self.stage = BODY
        if rest and self.stage is not OVER:
            self._events.append(Unread(rest))

    def _fail(self, error: httptools.HttpParserError, data: bytes) -> None:
        """Turn an error into an event. Raises what a callback of ours has raised by mistake."""
        cause = error.__context__
        if isinstance(cause, HeadRefused):
            self._refuse(cause.status, cause.text)
        elif isinstance(error, httptools.HttpParserCallbackError) and cause is not None:
            raise cause
        elif isinstance(error, httptools.HttpParserInvalidMethodError) and (target := target_of_line(data)):
            self.target = target
            self._refuse(*NOT_IMPLEMENTED)
        else:
            self._refuse(*MALFORMED)

    def _refuse(self, status: int, text: str) -> None:
        if self.stage is not OVER:
            self.stage = OVER
            self._events.append(Malformed(status, text, self.target))

    def _measure(self, size: int) -> None:
        """Count a slice to what it belongs to. What is never complete has limits too."""
        if self.stage is BETWEEN:
            if not self._events:  # empty lines, which begin no request
                self._count_head(size)
        elif self.stage is BODY:
            if self._pieces:
                self._collect()
            self._wire_bytes += size
            # A body in chunks may not be all extensions and trailers.
            if self._wire_bytes > FRAMING * self._body_bytes + self._limits.header_bytes + SLICE_BYTES:
                self._refuse(*MALFORMED)
        elif self.stage is HEAD:
            # Its exact size is checked once it is complete. Bytes of the message before it are not its own.
            first = not self._head_bytes
            self._count_head(1 if self._events else size)
            if first and self.stage is HEAD:
                self._events.append(HEAD_PART)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.header_bytes:
            self._refuse(*HEADERS_TOO_LARGE)

    def _collect(self) -> None:
        """Make one event of the pieces of a body: chunks may be of one byte each."""
        content, self._pieces = b"".join(self._pieces), []
        self._body_bytes += len(content)
        self._events.append(BodyPart(content))

    # llhttp's callbacks (httptools.HTTPProtocol).

    def on_message_begin(self) -> None:
        if self.stage is BETWEEN:
            self.stage, self._head_bytes = HEAD, 0

    def on_url(self, piece: bytes) -> None:
        if self.stage is HEAD:
            self.target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.stage is HEAD:
            self._fields.append((name, value))
        elif self.stage is BODY and name.lower() in NOT_IN_TRAILERS:
            raise HeadRefused(*MALFORMED)  # llhttp would heed it

    def on_headers_complete(self) -> None:
        if self.stage is not HEAD:
            return
        llhttp, target, fields = self._llhttp, self.target, self._fields
        method, version = llhttp.get_method(), llhttp.get_http_version()
        keep_alive: bool = llhttp.should_keep_alive()
        plain = None
        if method == b"GET" and version == "1.1" and keep_alive and not self._head_bytes:
            plain = plain_fields(target, fields, self._limits)
        if plain is None:
            target, fields = checked_head(method.decode(), target, version, fields, self._limits)
            if method == b"CONNECT":
                keep_alive = False  # no request follows one that asks for a tunnel (RFC 9110, 9.3.6)
            elif llhttp.should_upgrade():
                self._announced = body_fields(fields)
            self.target = target
        self._fields, self._head_bytes = [], 0
        self._wire_bytes = self._body_bytes = 0
        self._keep_alive = keep_alive
        self.stage = BODY
        self._events.append(RequestHead(method.decode(), target, version, fields, keep_alive, plain))

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        if self._announced or self.stage is OVER:  # llhttp takes what offers an upgrade for complete
            return
        if self._pieces:
            self._collect()
        self.target = b""
        self.stage = BETWEEN if self._keep_alive else OVER
        self._events.append(REQUEST_END)
