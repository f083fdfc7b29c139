"""HTTP as bytes on a socket: requests sent in pieces, and answers read strictly.

Bytes that are not a sequence of whole answers fail the test that reads them.
"""

import contextlib
import json
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.support.gateways import WAIT_SECONDS

END = b"GET /healthz HTTP/1.1\r\nHost: end\r\nConnection: close\r\n\r\n"
"""The last request of a conversation. The server closes after it, so no test waits for silence."""

_HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]+\r\n((?:[!-9;-~]+: ?[^\r\n]*\r\n)*)\r\n")
_CHUNK = re.compile(rb"([0-9a-f]+)\r\n")


class Answer(NamedTuple):
    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def named(self, name: str) -> str | None:
        """Return the value of a field. Fails if the answer has the field twice."""
        values = [value for each, value in self.fields if each == name]
        assert len(values) < 2, f"{name} comes twice"
        return values[0] if values else None


def connect(base_url: str) -> socket.socket:
    host, port = base_url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=WAIT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def heard(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes. Fails if it does not."""
    received = b""
    # On Linux, bytes that came before a reset can be read before the reset is seen.
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            received += part
    return received


def converse(base_url: str, pieces: Iterable[bytes], *, ends: bool = False) -> bytes:
    """Send the pieces one by one.

    Return all bytes until the server closes. With `ends`, the client closes its side after the last piece.
    """
    with connect(base_url) as connection:
        with contextlib.suppress(ConnectionError):  # it was closed before all was sent
            for piece in pieces:
                connection.sendall(piece)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        return heard(connection)


def cut(content: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """Yield the content in pieces, none of them empty."""
    begin = 0
    for place in [*sorted({place for place in places if 0 < place < len(content)}), len(content)]:
        yield content[begin:place]
        begin = place


def answers_in(received: bytes, methods: Sequence[str] = ()) -> list[Answer]:
    """Return the answers to requests of these methods, without interim answers.

    An answer may lack a length if the server closes the connection after it.
    """
    answers: list[Answer] = []
    asked = iter(methods)
    while received:
        head = _HEAD.match(received)
        assert head is not None, f"no answer: {received[:200]!r}"
        received, status = received[head.end() :], int(head[1])
        if status < 200:
            assert not head[2], "an interim answer has no fields here"
            continue
        lines = head[2].decode("latin-1").split("\r\n")[:-1]
        pairs = (line.split(":", 1) for line in lines)
        answer = Answer(status, tuple((name.lower(), value.strip(" ")) for name, value in pairs), b"")
        method = next(asked, "GET")
        # A request of any method may be refused before its method is known.
        head_alone = method == "HEAD" and (not received or received.startswith(b"HTTP/1."))
        bodiless = head_alone or status in {204, 304}
        body, received = (b"", received) if bodiless else _body(answer, received)
        answers.append(answer._replace(body=body))
    return answers


def _body(answer: Answer, rest: bytes) -> tuple[bytes, bytes]:
    """Return the body at the beginning of the bytes, and the rest."""
    length = answer.named("content-length")
    if answer.named("transfer-encoding") == "chunked":
        assert length is None, "two framings"
        return _chunks(rest)
    if length is None:
        assert answer.named("connection") == "close", "an answer without an end"
        return rest, b""
    assert len(rest) >= int(length), "a body is cut off"
    return rest[: int(length)], rest[int(length) :]


def _chunks(rest: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        line = _CHUNK.match(rest)
        assert line is not None, f"no chunk: {rest[:80]!r}"
        end = line.end() + int(line[1], 16)
        assert rest[end : end + 2] == b"\r\n", "a chunk is cut off"
        body, rest = body + rest[line.end() : end], rest[end + 2 :]
        if end == line.end():
            return body, rest


def error_text(answer: Answer) -> str:
    """Return the text of an error in the common shape."""
    error = json.loads(answer.body)
    assert answer.named("content-type") == "application/json"
    assert error == {**error, "success": False, "status": answer.status}
    assert isinstance(error["error"], str)
    assert error["error"]
    text: str = error["error"]
    return text
