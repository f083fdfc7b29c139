"""A small application, and random actions of its clients. Each answer has the number of its request."""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Mapping
from typing import NamedTuple

from hypothesis import strategies as st
from tornado.httputil import HTTPMessageDelegate
from tornado.iostream import StreamClosedError
from tornado.web import Application, Finish, RequestHandler, stream_request_body

from tests.support.raw_http import cut
from wire.exchange import JOINED_BYTES, Exchange
from wire.parser import ConnectionLimits

SLOW_SECONDS = 3.0
LIMITS = ConnectionLimits(
    connections=1,
    header_bytes=8_192,
    headers=20,
    header_seconds=10,
    body_seconds=20,
    idle_seconds=75,
    write_seconds=30,
    connections_per_address=1,
)
BIG = b"x" * 1_000
PIECES = 30


# The server.


@stream_request_body
class Numbered(RequestHandler):
    """Answers with the number in its path, in one of the `WAYS`."""

    def initialize(self, way: str) -> None:
        self._way = way
        self._crc = 0
        self.set_header("X-Number", self.request.path.rpartition("/")[2].partition("?")[0])

    def compute_etag(self) -> None:
        """No test needs an ETag."""

    async def prepare(self) -> None:
        if self._way == "early":
            self.finish(b"early")
        elif self._way == "duplex":
            await self._flush()

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        self._crc = zlib.crc32(chunk, self._crc)
        return asyncio.sleep(SLOW_SECONDS / 10) if self._way == "slow" else None

    async def get(self, _: str) -> None:
        if self._way == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        elif self._way == "big":
            for __ in range(PIECES):
                self.write(BIG)
                await self._flush()
        self.write(b"%08x" % self._crc)

    post = get

    async def _flush(self) -> None:
        try:
            await self.flush()
        except StreamClosedError:
            raise Finish from None  # the client is gone


class DirectNumber:
    """The route that bypasses the application."""

    def caller(self, named: dict[bytes, bytes], _: str) -> str | None:
        return None if b"connection" in named else "anybody"

    def answer(self, target: bytes, _: str) -> tuple[int, bytes] | None:
        way, __, number = target[1:].partition(b"/")
        if way != b"direct" or not number.isdigit():
            return None
        return 200, b"X-Number: %b\r\nContent-Length: 8\r\n\r\n00000000" % number


class PostNumber:
    """The route of posts: it takes every second one of two ways, and answers what the application would."""

    def take(self, target: bytes, _: Mapping[bytes, bytes], exchange: Exchange) -> HTTPMessageDelegate | None:
        way, __, number = target[1:].partition(b"/")
        if way not in {b"echo", b"slow"} or not number.isdigit() or int(number) % 2:
            return None
        return _Post(exchange, number, SLOW_SECONDS if way == b"slow" else 0)


class _Post(HTTPMessageDelegate):
    def __init__(self, exchange: Exchange, number: bytes, seconds: float) -> None:
        self._exchange, self._number, self._seconds = exchange, number, seconds
        self._crc = 0

    def data_received(self, chunk: bytes) -> None:
        self._crc = zlib.crc32(chunk, self._crc)

    def finish(self) -> None:
        asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        lines = b"X-Number: %b\r\nContent-Length: 8\r\n\r\n" % self._number
        self._exchange.answer(200, lines + b"%08x" % self._crc)


class KeptNumber:
    """The route of answers that are kept, short or longer than what is joined with its head."""

    def answer(self, data: bytes, _: str) -> tuple[int, bytes, bytes] | None:
        asked = re.fullmatch(rb"GET /kept(-big)?/([0-9]+) HTTP/1\.1\r\nHost: g\r\n\r\n", data)
        if asked is None:
            return None
        body = b"0" * (2 * JOINED_BYTES if asked[1] else 8)
        return 200, b"X-Number: %b\r\nContent-Length: %d\r\n\r\n" % (asked[2], len(body)), body


def refuse(status: int, _: str, __: str, ___: bytes) -> bytes:
    return b"X-Refused: %d\r\nContent-Length: 0\r\n\r\n" % status


WAYS = ["direct", "echo", "early", "duplex", "slow", "big"]
APPLICATION = Application(
    [(rf"/{way}/([^/]+)", Numbered, {"way": way}) for way in WAYS], log_function=lambda _: None
)


# The client.


class Asked(NamedTuple):
    way: str
    content: bytes
    body: bytes


class Step(NamedTuple):
    """An action of a client, and its wait after that: turns of the loop, and seconds.

    Bytes are sent. "stall" stops reading and "read" goes on; "end" closes one side, "reset" all.
    """

    action: bytes | str
    turns: int
    seconds: float


class Story(NamedTuple):
    asked: list[Asked]
    whole: int
    """The number of requests that arrive whole and unchanged."""
    steps: list[Step]
    tls: bool
    late: bool

    @property
    def hurried(self) -> bool:
        """Return true if the connection may have ended before all requests were answered."""
        return self.cut_off or sum(step.seconds for step in self.steps) >= LIMITS.header_seconds

    @property
    def cut_off(self) -> bool:
        """Return true if the client leaves before it has all answers. With TLS, an end closes both sides."""
        leaving = {"reset", "end"} if self.tls else {"reset"}
        return any(step.action in leaving for step in self.steps)


@st.composite
def numbered(draw: st.DrawFn, number: int) -> Asked:
    way = draw(st.sampled_from(WAYS))
    lines = draw(
        st.lists(st.sampled_from(["A: b", "Accept: */*", "Cookie: " + "c" * 5_000]), unique=True, max_size=2)
    )
    head = "".join(f"{line}\r\n" for line in ["Host: g", *lines])
    if way == "direct" or draw(st.booleans()):
        offer = draw(st.sampled_from(["", "", "", "Connection: upgrade\r\nUpgrade: h2c\r\n"]))
        return Asked(way, f"GET /{way}/{number} HTTP/1.1\r\n{head}{offer}\r\n".encode(), b"")
    body = draw(st.sampled_from([b"", b"1", b"body", b"long" * 3_000]))
    expects = draw(st.sampled_from(["", "Expect: 100-continue\r\n"]))
    head = f"POST /{way}/{number} HTTP/1.1\r\n{head}{expects}"
    if draw(st.booleans()):
        return Asked(way, b"%bContent-Length: %d\r\n\r\n%b" % (head.encode(), len(body), body), body)
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut(body, [1, 7, 5_000]) if piece]
    framed = b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"
    return Asked(way, head.encode() + framed, body)


SPICES = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b":",
    b"\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 5\r\n",
    b"Connection: close\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Expect: 100-continue\r\n",
    b"HTTP/1.0",
    b"0\r\n\r\n",
    b"ffffffffffffffffff\r\n",
    b"1;a=b\r\n",
    b"GET /direct/77 HTTP/1.1\r\nHost: g\r\n\r\n",
    b"POST /echo/78 HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"CONNECT g:1 HTTP/1.1\r\nHost: g\r\n\r\n",
    b"BREW /echo/79 HTTP/1.1\r\nHost: g\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"a" * 17_000,
    b"a: b\r\n" * 30,
]
spices = st.sampled_from(SPICES) | st.binary(max_size=8)


def mutated(draw: st.DrawFn, stream: bytes) -> tuple[bytes, int]:
    """Return the stream with some bytes replaced, and the place of the first change."""
    first = len(stream)
    for _ in range(draw(st.integers(1, 3))):
        lines = [found.end() for found in re.finditer(b"\r\n", stream)]
        place = draw(st.integers(0, len(stream)) | st.sampled_from([0, *lines]))
        gone = draw(st.sampled_from([0, 0, 1, 2, 40]))
        stream, first = stream[:place] + draw(spices) + stream[place + gone :], min(first, place)
    return stream, first


waits = st.tuples(st.integers(0, 3), st.sampled_from([0.0] * 8 + [0.6, SLOW_SECONDS]))
long_waits = st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.0, 0.5, 11.0, 21.0, 31.0, 76.0]))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    asked = [draw(numbered(number)) for number in range(draw(st.integers(0, 8)))]
    stream = b"".join(each.content for each in asked)
    first = len(stream)
    if draw(st.integers(0, 2)):
        stream, first = mutated(draw, stream)
    ends = [sum(len(each.content) for each in asked[: number + 1]) for number in range(len(asked))]
    places = draw(st.lists(st.integers(0, len(stream)), max_size=10))
    if len(stream) < 300 and draw(st.booleans()):
        places = list(range(len(stream)))
    actions: list[bytes | str] = list(cut(stream, places)) if stream else []
    for action in draw(st.lists(st.sampled_from(["stall", "read", "stall"]), max_size=3)):
        actions.insert(draw(st.integers(0, len(actions))), action)
    if not draw(st.integers(0, 9)):
        actions.insert(draw(st.integers(0, len(actions))), "reset")
    actions += ["end"] * draw(st.integers(0, 1))
    waiting = long_waits if not draw(st.integers(0, 4)) else waits
    steps = [Step(action, *draw(waiting)) for action in actions]
    whole = sum(end <= first for end in ends)
    return Story(asked, whole, steps, tls=draw(st.booleans()), late=draw(st.booleans()))
