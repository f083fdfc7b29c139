"""Tornado's own HTTP server in front of the same handlers: the oracle of the differential tests.

Tornado answers a request that it cannot parse with a bare status line. If the headers are too long, it closes
the connection without an answer. Both happen in the stream, below all handlers, so `_Stream` adds the bodies.
"""

import contextlib
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, UnsatisfiableReadError
from tornado.web import Application

from gateway.api import Api
from gateway.front import Front
from gateway.store import Runtime
from handlers.reply import refused
from languages.said import Code
from serving.direct import next_number, rendered
from serving.direct_posts import DirectPosts
from serving.kept_pages import KeptPages
from tests.support.gateways import ThreadGateway, running

# tornado.http1connection writes this for a malformed request. A test fails if a release changes it.
_BARE_REFUSAL = b"HTTP/1.1 400 Bad Request\r\n\r\n"
_DRAIN_BYTES = 1 << 20
_UNLIMITED = 1 << 62  # the application has its own limit and refusal


@contextlib.contextmanager
def running_on_tornado(folder: Path, **settings: object) -> Iterator[ThreadGateway]:
    """Run a gateway on Tornado's server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.serve.http_server", _http_server)
        with running(folder, **settings) as gateway:
            yield gateway


def _http_server(
    runtime: Runtime, front: Front, application: Application, api: Api, posts: DirectPosts, kept: KeptPages
) -> "_Server":
    """Replaces `gateway.front.http_server`."""
    del front, api, posts, kept
    server = runtime.settings.server
    return _Server(
        application,
        max_header_size=server.max_header_bytes,
        max_body_size=_UNLIMITED,
        max_buffer_size=1 << 20,
        idle_connection_timeout=server.idle_seconds,
        body_timeout=server.body_seconds,
    )


class _Server(HTTPServer):
    """Tornado's server with the methods that a gateway calls on its own."""

    def end_soon(self) -> None:
        """Do nothing: these answers do not announce a stop."""

    async def finished(self) -> None:
        """Return at once: there is no connection to wait for."""

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Serve on a `_Stream` around the socket of the given stream."""
        speaking = _Stream(
            stream.socket, max_buffer_size=stream.max_buffer_size, read_chunk_size=stream.read_chunk_size
        )
        super().handle_stream(speaking, address)


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


def _malformed() -> bytes:
    return _refusal("malformed_request")


def _headers_too_large() -> bytes:
    return _refusal("headers_too_large")


def _refusal(code: Code) -> bytes:
    reply = refused(code)
    line = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\nConnection: close\r\n"
    return line.encode() + rendered(reply, next_number())
