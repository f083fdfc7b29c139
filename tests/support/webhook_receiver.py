"""A real HTTP server that keeps all requests. A test chooses the answers."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from settings.model import WebhooksSettings


class Received(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    """Answers with a status, a body and headers (underscores become hyphens)."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Closes the connection without an answer."""
    handler.close_connection = True


class Receiver:
    """`answers` are used up one a request; when none is left, `default` answers."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.answers: list[Answer] = []
        self.default: Answer = status(204)
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _receive(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(self.command, self.path, headers, body))
                answer = receiver.answers.pop(0) if receiver.answers else receiver.default
                with contextlib.suppress(OSError):
                    answer(self)

            do_GET = do_POST = _receive  # noqa: N815 (the base class's names)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = _listening(Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"{'https' if tls is not None else 'http'}://127.0.0.1:{self.port}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def hang(self, _: BaseHTTPRequestHandler) -> None:
        """Answers nothing until the test ends."""
        self.released.wait()

    def holding(self, answer: Answer) -> Answer:
        """Keeps the answer back until the test releases it."""

        def answer_late(handler: BaseHTTPRequestHandler) -> None:
            self.released.wait()
            answer(handler)

        return answer_late

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextlib.contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver(tls)
    try:
        yield receiver
    finally:
        receiver.close()


def accept_when_released(receiver: Receiver) -> None:
    """The receiver accepts everything, but only once it is released."""

    def held(handler: BaseHTTPRequestHandler) -> None:
        receiver.released.wait()
        status(204)(handler)

    receiver.default = held


def _listening(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """Return a server on a port that a webhook may have: the kernel may choose one of a database."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if server.server_port not in WebhooksSettings().refused_ports:
        return server
    other = _listening(handler)  # while this port is taken
    server.server_close()
    return other
