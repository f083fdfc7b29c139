"""Answers as bytes, for those that no Tornado handler makes. Law: they say what a handler's would say.

The first line, with the Date, is the server's to write.
"""

import itertools
import secrets

from handlers.reply import Reply, failure
from ratelimit.headers import header_lines

SERVER = "votegate"
_ids, _process = itertools.count(10_000_000), secrets.token_hex(4)
_ANSWER = (
    b"Server: votegate\r\nContent-Type: %b\r\nX-Request-Id: %b%d\r\nCache-Control: no-store\r\n"
    b"%bContent-Length: %d\r\n\r\n%b"
)
_process_bytes = _process.encode()


def request_id() -> str:
    """Tells a request from every other, of other processes too; it is no secret."""
    return f"{_process}{next(_ids)}"


def rendered(reply: Reply) -> bytes:
    """Header lines and body of a reply that is no stream."""
    lines = header_lines(reply.limits) if reply.limits is not None else b""
    for name, value in reply.headers.items():
        lines += f"{name}: {value}\r\n".encode("latin-1")
    body = reply.body
    content_type = reply.content_type.encode("latin-1")
    return _ANSWER % (content_type, _process_bytes, next(_ids), lines, len(body), body)


def refusal(status: int, text: str) -> bytes:
    """An error in the common shape, of what could not be read as a request."""
    return rendered(failure(status, text))
