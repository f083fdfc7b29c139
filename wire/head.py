"""The grammar of a request's head. Invariant: what two readers could read in two ways is refused.

llhttp has already refused what is no HTTP: bare CR and LF, spaces before colons, folded lines, two lengths or
a length beside chunks. What it lets through and RFC 9112 does not ask of an origin server is refused here:
other versions, authorities as targets, codings other than chunked. A target in absolute form, as clients of a
proxy send it, becomes a path, and what it names becomes the Host (RFC 9112, 3.2.2): behind here there is one
form, and one place that names the host.
"""

import re

from wire.limits import ConnectionLimits

Fields = list[tuple[bytes, bytes]]
"""Names and values as they came, in their order."""

MALFORMED = (400, "The HTTP request is malformed.")
TOO_SLOW = (408, "The request took too long to arrive.")
HEADERS_TOO_LARGE = (431, "The request's headers are too large.")
NOT_IMPLEMENTED = (501, "This method is not implemented.")

HEAD_END = b"\r\n\r\n"
CLOSES = b"Connection: close\r\n"
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


class HeadRefused(Exception):
    """A request that gets no further."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def checked_head(
    method: str, target: bytes, version: str, fields: Fields, limits: ConnectionLimits
) -> tuple[bytes, Fields]:
    """Return the target in origin form, and the fields that go with it. Raises HeadRefused."""
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

    The Host that came is replaced, but it has to be valid all the same.
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
    """Return what may be told of a target, read to its end or not: its path, and never a user in it."""
    found = _ABSOLUTE.match(target)
    path = found[2] if found is not None else target
    return path if path.startswith((b"/", b"*")) else b""


def plain_fields(target: bytes, fields: Fields, limits: ConnectionLimits) -> dict[bytes, bytes] | None:
    """Return the fields by their names in lower case, if nothing in the head needs a second look.

    That is a path as target, one valid Host, no name twice, no body, no expectation, no upgrade. Such a head
    passes `checked_head` too, if it came in one slice: that is never too long.
    """
    if not target.startswith(b"/") or _has_many_fields(target):
        return None
    named = {name.lower(): value.strip(b" \t") for name, value in fields}
    if len(named) != len(fields) or len(fields) > limits.headers or not named.keys().isdisjoint(_SPECIAL):
        return None
    return named if _HOST.fullmatch(named.get(b"host", b"")) else None


def _has_many_fields(target: bytes) -> bool:
    return target.count(b"&") >= QUERY_FIELDS


def body_fields(fields: Fields) -> bytes:
    """Return the lines that tell of a body and its length; nothing without one."""
    return b"".join(b"%b: %b\r\n" % field for field in fields if field[0].lower() in _FRAMING)


def target_of_line(data: bytes) -> bytes | None:
    """Return the target, if bytes in which llhttp finds no method begin with a request line all the same."""
    line = _REQUEST_LINE.match(data)
    return line[1] if line is not None else None
