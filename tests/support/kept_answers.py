"""Requests for answers that may be kept, as bytes on one connection: it is seen which way has answered."""

import gzip
import socket
from collections.abc import Mapping
from typing import NamedTuple

from tests.support.gateways import Client
from tests.support.people_scene import SESSION
from tests.support.raw_http import Answer, answers_in, connect

CHANGES = {"date", "x-request-id"}
"""The fields that differ between two equal answers."""
NO_SESSION = {"Cookie": f"{SESSION}={'x' * 43}"}
"""A session that does not exist. With it a page is the same, and is made for its visitor."""
BROWSER = {"Host": "localhost", "Accept-Encoding": "gzip, br", "Accept-Language": "en"}


class HeardAnswer(NamedTuple):
    """An answer, and true if it came on the direct route. There, the Date is the first field."""

    answer: Answer
    is_direct: bool

    @property
    def content(self) -> bytes:
        """The body, unpacked."""
        body = self.answer.body
        return gzip.decompress(body) if self.answer.named("content-encoding") == "gzip" else body

    @property
    def same(self) -> tuple[int, list[tuple[str, str]], bytes]:
        """Everything that is the same in each equal answer."""
        status, fields, body = self.answer
        return status, sorted(field for field in fields if field[0] not in CHANGES), body


class Asker:
    """A browser that keeps its connection."""

    def __init__(self, client: Client) -> None:
        self._socket: socket.socket = connect(client.base_url)

    def close(self) -> None:
        self._socket.close()

    def get(self, path: str, headers: Mapping[str, str] = BROWSER, *, slowly: bool = False) -> HeardAnswer:
        """Ask for a path. `slowly` leaves the request to the slow way, by a field that is unusual."""
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if slowly:
            lines.append("X-Unusual: \xff")
        return self.send("\r\n".join([*lines, "\r\n"]).encode("latin-1"))

    def send(self, request: bytes) -> HeardAnswer:
        """Send the bytes of one request, and return its answer."""
        self._socket.sendall(request)
        received = b""
        while True:
            part = self._socket.recv(1 << 20)
            assert part, f"the connection was closed after {received[:200]!r}"
            received += part
            head, end, body = received.partition(b"\r\n\r\n")
            if not end:
                continue
            lines = head.lower().split(b"\r\n")
            sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
            if b" 304 " in lines[0] or (sizes and len(body) >= sizes[0]) or body.endswith(b"\r\n0\r\n\r\n"):
                (answer,) = answers_in(received)
                return HeardAnswer(answer, answer.fields[0][0] == "date")
