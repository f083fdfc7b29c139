"""A client that speaks HTTP byte by byte, and reads answers strictly by RFC 9112.

It reads an answer to the announced end and no further. So a byte too many or too few breaks the next answer.
A reset is an error, not an end.
"""

import contextlib
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.support.gateways import BOT, OPERATOR_TOKEN, WAIT_SECONDS

MALFORMED = "The HTTP request is malformed."
TOO_SLOW = "The request took too long to arrive."
TOO_LARGE = "The request's headers are too large."
OPERATOR = f"Authorization: Bearer {OPERATOR_TOKEN}"
BODILESS = {204, 304}


class Answer(NamedTuple):
    version: str
    status: int
    names: list[str]
    """The headers in their order and spelling."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def closes(self) -> bool:
        return self.headers.get("connection") == "close"

    @property
    def refusal(self) -> tuple[int, str]:
        """Status and text of an error in the common shape."""
        error: dict[str, Any] = json.loads(self.body)
        assert error == {**error, "success": False, "status": self.status}
        assert error.keys() - {"code"} == {"success", "error", "status"}
        return self.status, error["error"]


class Caller:
    """One connection to a gateway."""

    def __init__(
        self,
        url: str,
        *,
        receive_bytes: int | None = None,
        tls: ssl.SSLContext | None = None,
        name: str = "",
        source: str | None = None,
    ) -> None:
        """`receive_bytes`: about the size of the kernel's buffer for a caller that does not read.

        `name`: the name that the certificate must have. `source`: the address to call from.
        """
        unix = url.startswith("unix:")
        self.socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self.socket.settimeout(WAIT_SECONDS)
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if source is not None:
            self.socket.bind((source, 0))
        host, _, port = url.rpartition("//")[2].rpartition(":")
        self.socket.connect(url.removeprefix("unix:") if unix else (host, int(port)))
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=name)
        self.pace_seconds = 0.0
        """The seconds between two small reads; 0 reads as fast as it can."""
        self._received = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_slowly(self, data: bytes, piece: int = 1) -> None:
        """Send in pieces, which nearly always arrive as such. Stop when the other side has closed."""
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(data), piece):
                self.send(data[start : start + piece])
                if select.select([self.socket], [], [], 0.0005)[0]:
                    return

    def sends_no_more(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close with a TCP reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def close(self) -> None:
        self.socket.close()

    def ask(self, data: bytes) -> Answer:
        self.send(data)
        return self.answer(head=data.startswith(b"HEAD "))

    def answer(self, *, head: bool = False) -> Answer:
        """Read the next answer; `head` if it is to a HEAD."""
        lines = self._until(b"\r\n\r\n")[:-4].decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        fields = [line.split(": ", 1) for line in lines[1:]]
        headers = {name.lower(): value for name, value in fields}
        assert len(headers) == len(fields), "a header came twice"
        bodiless = head or status.startswith("1") or int(status) in BODILESS
        body = b"" if bodiless else self._body(headers)
        return Answer(version, int(status), [name for name, _ in fields], headers, body)

    def answers(self) -> list[Answer]:
        """Read all answers until the gateway closes."""
        found = []
        while not self.at_end():
            found.append(self.answer())
        return found

    def at_end(self) -> bool:
        """Wait for bytes or the end. Return true if the gateway has closed, and nothing is left to read."""
        if not self._received:
            self._received = self.socket.recv(65_536)
        return not self._received

    def _body(self, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            assert "transfer-encoding" not in headers
            return self._exactly(int(headers["content-length"]))
        if "transfer-encoding" not in headers:
            rest = [self._received, *iter(lambda: self.socket.recv(65_536), b"")]
            self._received = b""
            return b"".join(rest)
        assert headers["transfer-encoding"] == "chunked"
        pieces = []
        while size := int(self._until(b"\r\n"), 16):
            pieces.append(self._exactly(size))
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return b"".join(pieces)

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._receive()
        found, end, self._received = self._received.partition(end)
        return found + end

    def _exactly(self, size: int) -> bytes:
        pieces, missing = [self._received], size - len(self._received)
        self._received = b""
        while missing > 0:
            self._receive()
            pieces.append(self._received)
            missing -= len(self._received)
            self._received = b""
        whole = b"".join(pieces)
        self._received = whole[size:]
        return whole[:size]

    def _receive(self) -> None:
        if self.pace_seconds:
            time.sleep(self.pace_seconds)  # the test is about a slow reader; it waits for no condition
        piece = self.socket.recv(8_192 if self.pace_seconds else 65_536)
        assert piece, f"the gateway closed in the middle of an answer, after {self._received[:1_000]!r}"
        self._received += piece


@contextlib.contextmanager
def calling(url: str, **options: Any) -> Iterator[Caller]:
    caller = Caller(url, **options)
    try:
        yield caller
    finally:
        caller.close()


def request(
    method: str,
    target: str,
    *lines: str,
    body: bytes | None = None,
    version: str = "1.1",
    host: str = "gateway",
) -> bytes:
    """Return a request with a Host, and a Content-Length if there is a body."""
    length = [f"Content-Length: {len(body)}"] if body is not None else []
    head = [f"{method} {target} HTTP/{version}", f"Host: {host}", *lines, *length]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")


def chunked(pieces: Iterable[bytes], trailers: bytes = b"") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailers + b"\r\n"


HEALTH = request("GET", "/healthz")
STATE = request("GET", "/debug/overview.json", OPERATOR)
TEST = request("POST", f"/manage/bots/{BOT}/webhook/test", OPERATOR, body=b'{"user": "777777777777777777"}')
BODY_BEGUN = {
    "no body": request("POST", "/healthz", "Content-Length: 10"),
    "half a body": request("POST", "/healthz", "Content-Length: 10") + b"12345",
    "no chunk": request("POST", "/healthz", "Transfer-Encoding: chunked"),
    "half a chunk": request("POST", "/healthz", "Transfer-Encoding: chunked") + b"5\r\nab",
    "no last chunk": request("POST", "/healthz", "Transfer-Encoding: chunked") + b"1\r\na\r\n",
    "no end of trailers": request("POST", "/healthz", "Transfer-Encoding: chunked") + b"0\r\nA: b\r\n",
}
"""Requests with a whole head, and a body that is not whole."""


class Asking:
    """A thread that connects and asks again and again, and keeps all errors."""

    def __init__(self, url: str) -> None:
        self.answered = 0
        self.wrong: list[object] = []
        self._enough = threading.Event()
        self._url = url
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._enough.is_set():
            try:
                with calling(self._url) as caller:
                    status = caller.ask(HEALTH).status
            except (OSError, AssertionError) as error:
                self.wrong.append(error)
            else:
                self.wrong += [status] if status != 200 else []
                self.answered += 1

    def end(self) -> None:
        self._enough.set()
        self._thread.join()
