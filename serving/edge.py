"""Tornado's HTTP server, taught to refuse in the common shape.

Tornado answers a request that it cannot parse with a bare status line, and one whose headers are too long
with a closed connection. Both happen below any handler, in the stream: so the stream is where they are
given a body.
"""

import contextlib
from http import HTTPStatus
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, UnsatisfiableReadError
from tornado.web import Application

from handlers.reply import failure
from serving.rendering import rendered

# What tornado.http1connection writes for a malformed request; a test notices when a release changes it.
_BARE_REFUSAL = b"HTTP/1.1 400 Bad Request\r\n\r\n"
_DRAIN_BYTES = 1 << 20
_UNLIMITED = 1 << 62  # the application has its own limit, and words for it


def _refusal(status: int, text: str) -> bytes:
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n"
    return line.encode() + rendered(failure(status, text))


def _malformed() -> bytes:
    return _refusal(400, "The HTTP request is malformed.")


def _headers_too_large() -> bytes:
    return _refusal(431, "The request's headers are too large.")


class _Stream(IOStream):
    _in_headers = False

    def read_until_regex(self, regex: bytes, max_bytes: int | None = None) -> Any:
        self._in_headers = True
        return super().read_until_regex(regex, max_bytes)

    def read_until(self, delimiter: bytes, max_bytes: int | None = None) -> Any:
        self._in_headers = False
        return super().read_until(delimiter, max_bytes)

    def write(self, data: bytes | memoryview) -> Any:
        return super().write(_malformed() if data == _BARE_REFUSAL else data)

    def close(self, exc_info: Any = False) -> None:
        if isinstance(exc_info, UnsatisfiableReadError) and not self.closed():
            # Best effort: the client may be gone, or not reading.
            with contextlib.suppress(OSError):
                self.socket.send(_headers_too_large() if self._in_headers else _malformed())
                # Closing with unread bytes would reset the connection and take the answer with it.
                left = _DRAIN_BYTES
                while left > 0 and (read := self.socket.recv(65_536)):
                    left -= len(read)
        super().close(exc_info)


class EdgeServer(HTTPServer):
    """Tornado's server with a bound on its connections: one more is closed as it comes."""

    _room = 1
    _open = _refused = 0

    def limit_connections(self, connections: int) -> None:
        """How many there may be at once; to be called before it listens."""
        self._room = connections

    def tally(self) -> dict[str, int]:
        """Connections that are open, and that there was no room for; none is closed for others."""
        return {"open": self._open, "refused": self._refused, "closed_for_others": 0}

    async def finished(self) -> None:
        """No connection ends by itself."""

    def on_close(self, server_conn: object) -> None:
        super().on_close(server_conn)
        self._open -= 1

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Serves on a `_Stream` in place of the one that was just made around the same socket."""
        if self._open >= self._room:
            self._refused += 1
            stream.close()
            return
        self._open += 1
        speaking = _Stream(
            stream.socket, max_buffer_size=stream.max_buffer_size, read_chunk_size=stream.read_chunk_size
        )
        super().handle_stream(speaking, address)


def edge_server(
    application: Application,
    *,
    connections: int,
    max_header_bytes: int,
    idle_seconds: float,
    body_seconds: float,
) -> EdgeServer:
    server = EdgeServer(
        application,
        max_header_size=max_header_bytes,
        max_body_size=_UNLIMITED,
        max_buffer_size=1 << 20,
        idle_connection_timeout=idle_seconds,
        body_timeout=body_seconds,
    )
    server.limit_connections(connections)
    return server
