"""Answers as bytes, for those that no Tornado handler makes. Law: they say what a handler's would say.

The first line, with the Date, is the server's to write.
"""

import itertools
import secrets

from handlers.reply import Reply, failure
from ratelimit.headers import header_lines

SERVER = "votegate"
_ids, _process = itertools.count(1), secrets.token_hex(4)


def request_id() -> str:
    """Tells a request from every other, of other processes too; it is no secret."""
    return f"{_process}{next(_ids):08x}"


def rendered(reply: Reply) -> bytes:
    """Header lines and body of a reply that is no stream."""
    lines = header_lines(reply.limits) if reply.limits is not None else ""
    for name, value in reply.headers.items():
        lines += f"{name}: {value}\r\n"
    return (
        f"Server: {SERVER}\r\nContent-Type: {reply.content_type}\r\nX-Request-Id: {request_id()}\r\n"
        f"Cache-Control: no-store\r\n{lines}Content-Length: {len(reply.body)}\r\n\r\n"
    ).encode("latin-1") + reply.body


def refusal(status: int, text: str) -> bytes:
    """An error in the common shape, of what could not be read as a request."""
    return rendered(failure(status, text))
