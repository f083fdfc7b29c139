"""Responses as bytes, without Tornado. Invariant: they equal the bytes of a Tornado handler.

The server writes the status line and the Date.
"""

from handlers.reply import Reply
from ratelimit.headers import LINES, headers, numbers
from serving.request_ids import WORD

SERVER = "votegate"
_START = (
    f"Server: {SERVER}\r\n".encode()
    + b"Content-Type: application/json\r\nX-Request-Id: "
    + WORD
    + b"%d\r\nCache-Control: no-store\r\n"
)
_END = b"Content-Length: %d\r\n\r\n%b"
_ANSWER, _LIMITED = _START + b"%b" + _END, _START + LINES + _END


def rendered(reply: Reply, number: int) -> bytes:
    """Return the header lines and the body of a JSON reply. `number` is that of the request's id."""
    body, limits = reply.body, reply.limits
    if limits is not None and limits.allowed and not reply.headers:  # the usual reply: formatted in one step
        return _LIMITED % (number, *numbers(limits), len(body), body)
    named = {**reply.headers, **(headers(limits) if limits is not None else {})}
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in named.items()).encode("latin-1")
    return _ANSWER % (number, lines, len(body), body)
