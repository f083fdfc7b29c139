"""The parser of requests: bytes in, events out, within the limits of a connection.

Invariants. A request that two readers could read in two ways is refused. The same bytes in the same slices
give the same events. The parser holds a bounded number of bytes.

llhttp (httptools) reads the bytes, without its lenient modes: it refuses bare CR and LF, spaces before
colons, folded lines, two lengths, and a length beside chunks. This file adds the grammar and the limits of a
head, a limit of a body's framing, the refusal of offers to upgrade, and the end of a connection's requests.
It also refuses what llhttp allows and an origin server need not read (RFC 9112): other versions, authorities
as targets, codings other than chunked. Clients of a proxy send targets in absolute form. Such a target
becomes a path, and its host becomes the Host (RFC 9112, 3.2.2): so all later code sees one form.

The events of one message, in their order:

    HeadPart?    a head has begun, and its end is not among the bytes
    RequestHead  the head is complete, and this server reads it
    BodyPart*    bytes of its body: all that were in one slice, in one event
    RequestEnd   the message is complete

`Malformed` takes the place of any of them. It is the last event of a parser, as is the `RequestEnd` of a
message that no other may follow. `Unread` ends a slice early.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Literal, Protocol

import httptools
import msgspec

SLICE_BYTES = 4_096
"""The most bytes that are parsed at once. A slice ends behind the first head, so it holds one or two
requests."""
FRAMING = 16
"""The most bytes of a body in chunks for each byte of its content."""


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits that the settings set, for one connection and for all together."""

    connections: int
    header_bytes: int
    """The longest head with its request line; at least `SLICE_BYTES`, so a head of one slice always fits."""
    headers: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float
    write_seconds: float
    connections_per_address: int


Fields = list[tuple[bytes, bytes]]
"""Names and values as the client sent them, in their order."""

UnreadCode = Literal["malformed_request", "headers_too_large", "unknown_method", "too_slow"]
"""The reason why a request is not read on. The table of refusals has its text."""
Unreadable = tuple[int, UnreadCode]
"""The status of the answer, and its code."""
MALFORMED: Unreadable = (400, "malformed_request")
HEADERS_TOO_LARGE: Unreadable = (431, "headers_too_large")
NOT_IMPLEMENTED: Unreadable = (501, "unknown_method")

HEAD_END = b"\r\n\r\n"
QUERY_FIELDS = 100
"""The most fields of a query. Tornado reads them all before others have their turn, about 2 us each."""
_LINE_BYTES = len("METHOD  HTTP/1.1\r\n\r\n")
_REQUEST_LINE = re.compile(
    rb"(?:\r\n)*[!#$%&'*+\-.^_`|~0-9A-Za-z]+ ((?:/|(?i:https?)://)[\x21-\x7e]*) HTTP/1\.[01]\r\n"
)
_HOST = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+;=\[\]:]+")  # as strict as Tornado, or stricter
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)(.*)")
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9\-._~!$&'()*+;=]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")  # no user in it
_FRAMING = {b"content-length", b"transfer-encoding"}
NOT_IN_TRAILERS = {*_FRAMING, b"connection", b"upgrade"}
_SPECIAL = {*_FRAMING, b"expect", b"upgrade"}
_NOT_IN_POSTS = _SPECIAL - {b"content-length"}


class HeadRefused(Exception):
    """A request that gets no further."""

    def __init__(self, status: int, code: UnreadCode) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


def checked_head(
    method: str, target: bytes, version: str, fields: Fields, limits: ConnectionLimits
) -> tuple[bytes, Fields]:
    """Return the target in origin form, and the fields with its host. Raises HeadRefused."""
    size = _LINE_BYTES + len(target) + sum(len(name) + len(value) + 4 for name, value in fields)
    if size > limits.header_bytes or len(fields) > limits.headers:
        raise HeadRefused(*HEADERS_TOO_LARGE)
    if version not in {"1.0", "1.1"} or _has_many_fields(target):
        raise HeadRefused(*MALFORMED)
    if target[:1] != b"/" and (method, target) != ("OPTIONS", b"*"):
        target, fields = _from_absolute(method, target, version, fields)
    codings = [value for name, value in fields if name.lower() == b"transfer-encoding"]
    if codings and (version == "1.0" or codings[0].strip().lower() != b"chunked"):
        raise HeadRefused(*MALFORMED)
    return target, fields


def _from_absolute(method: str, target: bytes, version: str, fields: Fields) -> tuple[bytes, Fields]:
    """Return path and fields of a request with a target in absolute form. Raises HeadRefused.

    The host of the target replaces the Host field, which has to be valid all the same.
    """
    found = _ABSOLUTE.fullmatch(target)
    if found is None or method == "CONNECT" or not _AUTHORITY.fullmatch(found[1]):
        raise HeadRefused(*MALFORMED)
    hosts = [value.strip(b" \t") for name, value in fields if name.lower() == b"host"]
    if (
        len(hosts) > 1
        or (version == "1.1" and not hosts)
        or not all(map(_HOST.fullmatch, filter(None, hosts)))
    ):
        raise HeadRefused(*MALFORMED)
    path = found[2]
    if path.startswith(b"#"):
        raise HeadRefused(*MALFORMED)
    if not path:
        path = b"*" if method == "OPTIONS" else b"/"  # RFC 9112, 3.2.4
    elif path.startswith(b"?"):
        path = b"/" + path
    return path, [(b"Host", found[1]), *(field for field in fields if field[0].lower() != b"host")]


def path_of(target: bytes) -> bytes:
    """Return the part of a target that may be logged: its path, and never a user in it. It may be cut off."""
    found = _ABSOLUTE.match(target)
    path = found[2] if found is not None else target
    return path if path.startswith((b"/", b"*")) else b""


def plain_fields(target: bytes, fields: Fields, limits: ConnectionLimits) -> dict[bytes, bytes] | None:
    """Return the fields by their names in lower case, or None for a head that `checked_head` has to check.

    The target is a path. There is one valid Host, no name twice, no body, no expectation, no upgrade. Such a
    head passes `checked_head` too, if it came in one slice: then it is not too long.
    """
    if not target.startswith(b"/") or _has_many_fields(target):
        return None
    named = {name.lower(): value.strip(b" \t") for name, value in fields}
    if len(named) != len(fields) or len(fields) > limits.headers or not named.keys().isdisjoint(_SPECIAL):
        return None
    return named if _HOST.fullmatch(named.get(b"host", b"")) else None


def post_fields(head: "RequestHead") -> dict[bytes, bytes] | None:
    """Return the fields of a post by their names in lower case, or None for a head that Tornado has to read.

    It is of HTTP/1.1. There is one valid Host, no name twice, no expectation, no upgrade, and no body but one
    of a known length.
    """
    if head.version != "1.1":
        return None
    named = {name.lower(): value.strip(b" \t") for name, value in head.fields}
    if len(named) != len(head.fields) or not named.keys().isdisjoint(_NOT_IN_POSTS):
        return None
    return named if _HOST.fullmatch(named.get(b"host", b"")) else None


def _has_many_fields(target: bytes) -> bool:
    return target.count(b"&") >= QUERY_FIELDS


def body_fields(fields: Fields) -> bytes:
    """Return the lines that announce a body and its length; nothing without a body."""
    return b"".join(b"%b: %b\r\n" % field for field in fields if field[0].lower() in _FRAMING)


def target_of_line(data: bytes) -> bytes | None:
    """Return the target if the bytes begin with a request line, of a method that llhttp does not know."""
    line = _REQUEST_LINE.match(data)
    return line[1] if line is not None else None


HEADS = 16_384
"""The most heads that are kept; the oldest is forgotten first."""
HEAD_BYTES = 1_024
"""The longest request whose head is kept."""
START = b"GET "
TARGET_AT = len(START)
POST, POSTS_TARGET_AT = b"POST ", len(b"POST ")
POST_HEADS = 256
"""The most heads of posts that are kept: those of programs, of which a platform has a few."""
_END = b" HTTP/1.1\r\n"


class DirectRoute(Protocol):
    """A route that gives the same answers as the application, without it."""

    def caller(self, named: dict[bytes, bytes], peer: str) -> Any:
        """Return the caller by the fields of a GET, names in lower case. None: the application is to answer.

        The caller is used again for later requests of the same peer with the same fields."""

    def answer(self, target: bytes, caller: Any) -> tuple[int, bytes] | None:
        """Return the status, and the rest of the answer from its header lines on.

        None: the application is to answer. It must, if the target has characters that no target may have."""


class PageRoute(Protocol):
    """A route that answers requests by their bytes, with answers that are kept."""

    def answer(self, data: bytes, peer: str) -> tuple[int, bytes, bytes] | None:
        """Return the status, the rest of the head, and the body of the answer to a GET.

        The bytes begin with `START`. None if the application is to answer. It must, unless the bytes are one
        usual request and no more."""


class KnownHeads(OrderedDict[tuple[bytes, str], Any]):
    """Callers, by the peer and the bytes behind the target (from the space behind it on).

    The heads of a bot's requests differ in the target alone. Once such a head was parsed and its request
    succeeded, the bytes behind the target are kept with the caller. The same bytes behind another target mean
    the same. Only heads of successful requests are kept, so clients without a key cannot crowd out others.
    The heads contain the keys of their callers, so they are never shown.
    """

    def __init__(self, start: bytes = START, most: int = HEADS) -> None:
        super().__init__()
        self._start = start
        self._most = most

    def __repr__(self) -> str:
        return f"<{len(self)} known heads>"

    def learn(self, data: bytes, target: bytes, peer: str, caller: Any) -> None:
        """Keep the head of a request, if the bytes are this one head and no more.

        The request begins with the first of the bytes.
        """
        start = self._start + target
        if len(data) > HEAD_BYTES or not data.startswith(start + _END):
            return
        if data.find(HEAD_END) != len(data) - len(HEAD_END):
            return
        self[data[len(start) :], peer] = caller
        if len(self) > self._most:
            self.popitem(last=False)


class RequestHead(msgspec.Struct, frozen=True, gc=False):
    """The head of a request, with a target in origin form (or the asterisk of OPTIONS)."""

    method: str
    target: bytes
    version: str
    fields: Fields
    keep_alive: bool
    """Another request may follow on the connection."""
    plain: dict[bytes, bytes] | None
    """The fields by name, for the direct route: see `plain_fields`."""


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
    """A request that cannot be read: its answer, and the known part of its target."""

    status: int
    code: UnreadCode
    target: bytes


Event = RequestHead | HeadPart | BodyPart | RequestEnd | Unread | Malformed
HEAD_PART = HeadPart()
REQUEST_END = RequestEnd()


class Stage(Enum):
    """The part of a message to which the next byte belongs."""

    BETWEEN = auto()  # to no message yet; empty lines may come
    HEAD = auto()
    BODY = auto()  # or to the framing of one, or to the trailers behind it
    DECLINING = auto()  # to a head of ours, which announces the body to a new llhttp
    OVER = auto()  # to nothing that is read


# Names of their own: Python 3.11 calls two functions to look up a member in its enum.
BETWEEN, HEAD, BODY, DECLINING, OVER = Stage


@dataclass(slots=True, eq=False, repr=False)
class RequestParser:
    """The requests of one connection. `feed` is its only input."""

    _limits: ConnectionLimits
    _llhttp: httptools.HttpRequestParser = field(init=False)
    _events: list[Event] = field(default_factory=list)
    stage: Stage = BETWEEN
    # The message that is being parsed.
    target: bytes = b""  # as far as it has come
    _fields: Fields = field(default_factory=list)
    _head_bytes: int = 0  # of the slices before, with the empty lines before the head
    _keep_alive: bool = False
    _announced: bytes = b""  # the fields that announce the body behind an offer to upgrade
    _wire_bytes: int = 0  # of its body, as sent
    _body_bytes: int = 0  # of its body, without framing
    _pieces: list[bytes] = field(default_factory=list)  # of its body, in no event yet

    def __post_init__(self) -> None:
        self._llhttp = httptools.HttpRequestParser(self)

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
        """Drop llhttp: it and this parser refer to each other."""
        del self._llhttp

    def _decline_upgrade(self, rest: bytes) -> None:
        """Go on as if the client had offered no upgrade.

        llhttp stops behind the head, even if that announces a body. A head of ours announces the body to a
        new llhttp.
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
        """Turn an error into an event. Raises the error of a callback that has a bug."""
        cause = error.__context__
        if isinstance(cause, HeadRefused):
            self._refuse(cause.status, cause.code)
        elif isinstance(error, httptools.HttpParserCallbackError) and cause is not None:
            raise cause
        elif isinstance(error, httptools.HttpParserInvalidMethodError) and (target := target_of_line(data)):
            self.target = target
            self._refuse(*NOT_IMPLEMENTED)
        else:
            self._refuse(*MALFORMED)

    def _refuse(self, status: int, code: UnreadCode) -> None:
        if self.stage is not OVER:
            self.stage = OVER
            self._events.append(Malformed(status, code, self.target))

    def _measure(self, size: int) -> None:
        """Count the bytes of a slice, so that a head or a body that never ends has a limit, too."""
        if self.stage is BETWEEN:
            if not self._events:  # empty lines before a request
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
        if self._announced or self.stage is OVER:  # llhttp takes a head that offers an upgrade for a message
            return
        if self._pieces:
            self._collect()
        self.target = b""
        self.stage = BETWEEN if self._keep_alive else OVER
        self._events.append(REQUEST_END)
