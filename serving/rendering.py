"""Responses as bytes, without Tornado. Law: they equal the bytes of a Tornado handler.

The server writes the status line and the Date.
"""

import itertools
import secrets

from handlers.reply import Reply
from ratelimit.headers import LINES, headers, numbers

SERVER = "votegate"
_ids, _process = itertools.count(10_000_000), secrets.token_hex(4)
_process_bytes = _process.encode()
_START = (
    f"Server: {SERVER}\r\n".encode()
    + b"Content-Type: application/json\r\nX-Request-Id: %b%d\r\nCache-Control: no-store\r\n"
)
_END = b"Content-Length: %d\r\n\r\n%b"
_ANSWER, _LIMITED = _START + b"%b" + _END, _START + LINES + _END


def request_id() -> str:
    """Return an id that no other request has, in this process or another. It is no secret."""
    return f"{_process}{next(_ids)}"


def rendered(reply: Reply) -> bytes:
    """Return the header lines and the body of a JSON reply."""
    body, limits = reply.body, reply.limits
    if limits is not None and limits.allowed and not reply.headers:  # the usual reply: formatted in one step
        return _LIMITED % (_process_bytes, next(_ids), *numbers(limits), len(body), body)
    named = {**reply.headers, **(headers(limits) if limits is not None else {})}
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in named.items()).encode("latin-1")
    return _ANSWER % (_process_bytes, next(_ids), lines, len(body), body)
