"""Random bytes, in random slices, with random pauses: complete requests are answered once and in order,
all other bytes are refused or dropped, no bug is logged, and nothing hangs.
"""

import asyncio
import logging
import socket
import zlib
from collections.abc import Iterator

import httptools
import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st

from languages.said import in_words
from tests.support.examples import examples
from tests.support.gateways import ThreadGateway, running
from tests.support.memory_transport import Pipe, PipeLoop
from tests.support.raw_http import END, answers_in, converse, cut, error_text
from tests.support.wire_stories import (
    APPLICATION,
    BIG,
    LIMITS,
    PIECES,
    SLOW_SECONDS,
    Asked,
    DirectNumber,
    PostNumber,
    Step,
    Story,
    mutated,
    refuse,
    stories,
)
from wire.connection import TOO_SLOW
from wire.http_server import BesideRoutes, WireServer
from wire.parser import HEADERS_TOO_LARGE, MALFORMED, NOT_IMPLEMENTED

# Streams are long, and hypothesis prints a whole story with its note.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

PATIENCE_SECONDS = 400.0
"""More than all time-outs together."""
REFUSED = {in_words(code) for _, code in (MALFORMED, HEADERS_TOO_LARGE, NOT_IMPLEMENTED, TOO_SLOW)}


def told(story: Story) -> Pipe:
    """Play the story until the connection is gone."""
    loop = PipeLoop(tls=story.tls, late=story.late)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_told(story, loop.pipe))


async def _told(story: Story, connected: asyncio.Future[Pipe]) -> Pipe:
    server = WireServer(APPLICATION, LIMITS, refuse, DirectNumber(), beside=BesideRoutes(PostNumber()))
    listening = socket.create_server(("127.0.0.1", 0))
    server.add_sockets([listening])
    with socket.create_connection(listening.getsockname()):
        pipe = await connected
    for deed, turns, seconds in story.steps:
        if deed == "reset":
            pipe.reset()
        elif deed == "stall":
            pipe.client_reads = False
        elif deed == "read":
            pipe.read()
        else:
            pipe.send(deed if isinstance(deed, bytes) else None)
        for _ in range(turns):
            await asyncio.sleep(0)
        if seconds:
            await asyncio.sleep(seconds)
    pipe.read()
    until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while not pipe.lost:
        await asyncio.sleep(1)
        assert asyncio.get_running_loop().time() < until, "the connection hangs"
    server.stop()
    await server.close_all_connections()
    await asyncio.sleep(2 * SLOW_SECONDS)  # requests that still run end
    return pipe


# The answers.


class Heard:
    """Answers as llhttp reads them (httptools.HTTPProtocol)."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[bytes, bytes], bytes]] = []
        self.open = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.open, self._fields, self._body = True, dict[bytes, bytes](), b""

    def on_header(self, name: bytes, value: bytes) -> None:
        assert name.lower() not in self._fields, f"{name!r} comes twice"
        self._fields[name.lower()] = value

    def on_body(self, piece: bytes) -> None:
        self._body += piece

    def on_message_complete(self) -> None:
        self.open = False
        status = self._parser.get_status_code()
        if status >= 200:
            self.answers.append((status, self._fields, self._body))


def check(story: Story, pipe: Pipe) -> None:
    heard = Heard()
    if pipe.written:
        heard.feed(pipe.written)
    unending = heard.open and not {b"content-length", b"transfer-encoding"} & heard._fields.keys()
    assert not heard.open or pipe.aborted or story.cut_off or unending, "an answer was cut off"
    numbers = []
    for place, (status, fields, body) in enumerate(heard.answers):
        assert fields.get(b"connection") != b"close" or place == len(heard.answers) - 1
        if b"x-refused" in fields:
            assert (fields[b"connection"], int(fields[b"x-refused"])) == (b"close", status)
            break
        numbers.append(fields.get(b"x-number"))
        assert place >= story.whole or body == expected(story.asked[place])
    whole = [b"%d" % number for number in range(story.whole)]
    assert numbers[: story.whole] == whole[: len(numbers)]
    if not story.hurried:
        # An answer that leaves before its request is complete may be the last.
        early = [
            number + 1
            for number, each in enumerate(story.asked[: story.whole])
            if each.way in {"early", "duplex"} and each.content.startswith(b"POST")
        ]
        assert len(numbers) >= min([*early, story.whole])


def expected(asked: Asked) -> bytes:
    if asked.way == "early":
        return b"early"
    return (BIG * PIECES if asked.way == "big" else b"") + b"%08x" % zlib.crc32(asked.body)


class Complaints(logging.Handler):
    """Return the lines that were logged as errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def complaints() -> Iterator[list[logging.LogRecord]]:
    handler, root = Complaints(), logging.getLogger()
    root.addHandler(handler)
    yield handler.records
    root.removeHandler(handler)
    assert not handler.records


@pytest.mark.parametrize("count", [2_000, pytest.param(12_000, marks=pytest.mark.long)])
def test_whatever_comes_is_answered_in_order_or_refused(
    complaints: list[logging.LogRecord], count: int
) -> None:
    @examples(count)
    @given(stories())
    def whatever(story: Story) -> None:
        note(repr(story))
        check(story, told(story))
        assert not complaints, complaints[0].getMessage()

    whatever()


@pytest.mark.parametrize("number", [1, 2], ids=["first", "second"])
def test_an_answer_is_broken_off_when_its_request_is_never_finished(number: int) -> None:
    """A client that sends no more must not take the beginning of an answer for a whole one."""
    begun = b"POST /duplex/%d HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n" % (
        number - 1
    )
    whole = Asked("echo", b"GET /echo/0 HTTP/1.1\r\nHost: g\r\n\r\n", b"")
    asked = [whole] * (number - 1)
    steps = [Step(each.content, 0, 1.0) for each in asked] + [Step(begun, 0, 1.0), Step("end", 0, 0.0)]
    story = Story([*asked, Asked("duplex", begun, b"a")], len(asked), steps, tls=False, late=False)
    pipe = told(story)
    check(story, pipe)
    assert pipe.written.count(b"HTTP/1.1 200 ") == number
    assert pipe.aborted


def test_what_is_no_request_behind_an_answer_that_closes_breaks_nothing_off(
    complaints: list[logging.LogRecord],
) -> None:
    """The answer began before its request was complete, so it is the last."""
    begun = b"POST /duplex/0 HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
    steps = [Step(begun, 0, 1.0), Step(b"0\r\n\r\n\0nonsense", 0, 1.0)]
    pipe = told(Story([Asked("duplex", begun, b"a")], 0, steps, tls=False, late=False))
    assert pipe.written.endswith(b"\r\n0\r\n\r\n")
    assert pipe.written.count(b"HTTP/1.1 ") == 1
    assert not complaints


def test_a_head_that_is_never_finished_behind_a_running_answer_is_not_waited_for() -> None:
    """Nor is it refused: the rest of it will never come."""
    begun = b"GET /big/0 HTTP/1.1\r\nHost: g\r\n\r\nGET /echo"
    steps = [Step("stall", 0, 0.0), Step(begun, 0, 1.0), Step("end", 0, 1.0)]
    pipe = told(Story([], 0, steps, tls=False, late=False))
    assert pipe.written.count(b"HTTP/1.1 ") == 1
    assert pipe.written.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.usefixtures("complaints")
def test_what_is_no_request_behind_many_is_refused_when_they_are_answered() -> None:
    asked = b"GET /echo/0 HTTP/1.1\r\nHost: g\r\n\r\n" * 100 + b"\0"
    steps = [Step(asked, 0, 0.5), Step("end", 0, 0.0)]
    pipe = told(Story([], 0, steps, tls=False, late=False))
    assert pipe.written.count(b"HTTP/1.1 200 ") == 100
    assert pipe.written.count(b"HTTP/1.1 400 ") == pipe.written.count(b"X-Refused") == 1
    assert not pipe.aborted


# Over a socket.

STATS = b"PATCH /bots/1/stats HTTP/1.1\r\nHost: g\r\n"
VALID = [
    b"GET /bots/1/voters/1 HTTP/1.1\r\nHost: g\r\nAuthorization: key\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n",
    b"GET http://g/healthz HTTP/1.1\r\nHost: g\r\n\r\n",
    STATS + b'Content-Length: 22\r\n\r\n{"server_count": 1200}',
    STATS + b'Transfer-Encoding: chunked\r\n\r\n16\r\n{"server_count": 1200}\r\n0\r\n\r\n',
]


TOO_LONG = b"GET /healthz HTTP/1.1\r\nHost: g\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    asked = draw(st.lists(st.sampled_from(VALID), max_size=4))
    return mutated(draw, b"".join(asked))[0] if asked else draw(st.binary(max_size=200))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    limits = {"limits.failures.requests": 1_000_000_000}
    with running(tmp_path_factory.mktemp("fuzzed") / "data", **limits) as gateway:
        yield gateway


@pytest.mark.parametrize("count", [3_400, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_gateway_refuses_in_one_shape_and_goes_on(
    gateway: ThreadGateway, complaints: list[logging.LogRecord], count: int
) -> None:
    met = set[int]()

    @examples(count)
    @example(
        b"GET /healthz HTTP/1.1\r\nHost: g\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", []
    )  # few others are 431
    @given(streams(), st.lists(st.integers(0, 400), max_size=4))
    def whatever(stream: bytes, places: list[int]) -> None:
        note(repr((stream, places)))
        answers = answers_in(converse(gateway.base_url, cut(stream, places), ends=True))
        for answer in answers:
            if answer.status >= 400:
                refused = error_text(answer) in REFUSED
                assert not refused or (answer is answers[-1] and answer.named("connection") == "close")
        met.update(answer.status for answer in answers)
        assert [each.status for each in answers_in(converse(gateway.base_url, [END]))] == [200]
        assert not complaints, complaints[0].getMessage()

    whatever()
    assert met >= {200, 400, 401, 404, 431, 501}
