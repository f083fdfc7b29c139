"""Tornado's HTTP server, taught to refuse in the common shape.

Tornado answers a request that it cannot parse with a bare status line, and one whose headers are too long
with a closed connection. Both happen below any handler, in the stream: so the stream is where they are
given a body.
"""

import contextlib
import socket
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, UnsatisfiableReadError
from tornado.netutil import bind_sockets

from handlers.reply import JSON, failure

# What tornado.http1connection writes for a malformed request; a test notices when a release changes it.
_BARE_REFUSAL = b"HTTP/1.1 400 Bad Request\r\n\r\n"
_DRAIN_BYTES = 1 << 20


def _refusal(status: int, reason: str, text: str) -> bytes:
    body = failure(status, text).body
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: {JSON}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_MALFORMED = _refusal(400, "Bad Request", "The HTTP request is malformed.")
_HEADERS_TOO_LARGE = _refusal(431, "Request Header Fields Too Large", "The request's headers are too large.")


class _Stream(IOStream):
    _in_headers = False

    def read_until_regex(self, regex: bytes, max_bytes: int | None = None) -> Any:
        self._in_headers = True
        return super().read_until_regex(regex, max_bytes)

    def read_until(self, delimiter: bytes, max_bytes: int | None = None) -> Any:
        self._in_headers = False
        return super().read_until(delimiter, max_bytes)

    def write(self, data: bytes | memoryview) -> Any:
        return super().write(_MALFORMED if data == _BARE_REFUSAL else data)

    def close(self, exc_info: Any = False) -> None:
        if isinstance(exc_info, UnsatisfiableReadError) and not self.closed():
            # Best effort: the client may be gone, or not reading.
            with contextlib.suppress(OSError):
                self.socket.send(_HEADERS_TOO_LARGE if self._in_headers else _MALFORMED)
                # Closing with unread bytes would reset the connection and take the answer with it.
                left = _DRAIN_BYTES
                while left > 0 and (read := self.socket.recv(65_536)):
                    left -= len(read)
        super().close(exc_info)


class EdgeServer(HTTPServer):
    """Tornado's server with a bound on its connections: one more is closed as it comes."""

    _room = 1

    def limit_connections(self, connections: int) -> None:
        """How many there may be at once; to be called before it listens."""
        self._room = connections

    def on_close(self, server_conn: object) -> None:
        super().on_close(server_conn)
        self._room += 1

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Serves on a `_Stream` in place of the one that was just made around the same socket."""
        if not self._room:
            stream.close()
            return
        self._room -= 1
        speaking = _Stream(
            stream.socket, max_buffer_size=stream.max_buffer_size, read_chunk_size=stream.read_chunk_size
        )
        super().handle_stream(speaking, address)


def listen(address: str, port: int) -> list[socket.socket]:
    """Sockets that listen there. Raises OSError, naming the place."""
    try:
        return bind_sockets(port, address)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "this is no address"
        raise OSError(getattr(error, "errno", 0), f"cannot listen on {address} port {port}: {why}") from None


def url_of(listening: socket.socket) -> str:
    """Where a client on this machine reaches a bound socket."""
    host, port, *_ = listening.getsockname()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (compared, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
