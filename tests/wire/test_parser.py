"""wire/parser.py: bytes in, events out, wherever the bytes are split."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.raw_http import cut
from tests.support.wire_stories import LIMITS, mutated
from wire.parser import (
    FRAMING,
    HEAD_PART,
    HEADERS_TOO_LARGE,
    MALFORMED,
    NOT_IMPLEMENTED,
    REQUEST_END,
    SLICE_BYTES,
    BodyPart,
    Event,
    HeadPart,
    Malformed,
    RequestHead,
    RequestParser,
    Stage,
    Unread,
)

HOST = (b"Host", b"g")
GET = b"GET /a HTTP/1.1\r\nHost: g\r\n\r\n"
POST = b"POST /b HTTP/1.1\r\nHost: g\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"Connection: upgrade\r\nUpgrade: h2c\r\n"
OFFER = ((b"Connection", b"upgrade"), (b"Upgrade", b"h2c"))


def fed(parser: RequestParser, pieces: Iterable[bytes]) -> list[Event]:
    """Return the events of the pieces. The unread rest of a slice is fed again, as a connection does it."""
    events: list[Event] = []
    waiting = list(pieces)
    while waiting:
        piece = waiting.pop(0)
        slice_, rest = piece[:SLICE_BYTES], piece[SLICE_BYTES:]
        waiting = [rest, *waiting] if rest else waiting
        found = parser.feed(slice_)
        if found and isinstance(found[-1], Unread):
            waiting = [found[-1].rest, *waiting]
            found = found[:-1]
        events += found
    return events


def parsed(*pieces: bytes) -> list[Event]:
    return fed(RequestParser(LIMITS), pieces)


def joined(events: Iterable[Event]) -> list[Event]:
    """Return the events without those parts that depend on where the bytes were split."""
    found: list[Event] = []
    for event in events:
        if isinstance(event, BodyPart) and found and isinstance(found[-1], BodyPart):
            found[-1] = BodyPart(found[-1].content + event.content)
        elif isinstance(event, RequestHead):
            found.append(
                RequestHead(event.method, event.target, event.version, event.fields, event.keep_alive, None)
            )
        elif not isinstance(event, HeadPart):
            found.append(event)
    return found


def a_head(
    method: str, target: bytes, *fields: tuple[bytes, bytes], version: str = "1.1", keep_alive: bool = True
) -> RequestHead:
    return RequestHead(method, target, version, list(fields), keep_alive, None)


STREAMS: dict[str, tuple[bytes, list[Event]]] = {
    "a request without a body": (GET, [a_head("GET", b"/a", HOST), REQUEST_END]),
    "two requests": (
        GET + GET.replace(b"/a", b"/b"),
        [a_head("GET", b"/a", HOST), REQUEST_END, a_head("GET", b"/b", HOST), REQUEST_END],
    ),
    "a body with a length": (
        POST + b"Content-Length: 4\r\n\r\nbody" + GET,
        [
            a_head("POST", b"/b", HOST, (b"Content-Length", b"4")),
            BodyPart(b"body"),
            REQUEST_END,
            a_head("GET", b"/a", HOST),
            REQUEST_END,
        ],
    ),
    "a body in chunks": (
        CHUNKED + b"1\r\na\r\n3;x=y\r\nbcd\r\n0\r\nTrailer: x\r\n\r\n" + GET,
        [
            a_head("POST", b"/b", HOST, (b"Transfer-Encoding", b"chunked")),
            BodyPart(b"abcd"),
            REQUEST_END,
            a_head("GET", b"/a", HOST),
            REQUEST_END,
        ],
    ),
    "empty lines before a request": (b"\r\n\r\n" + GET, [a_head("GET", b"/a", HOST), REQUEST_END]),
    "a target in absolute form": (
        b"GET http://h/a HTTP/1.1\r\nHost: g\r\n\r\n",
        [a_head("GET", b"/a", (b"Host", b"h")), REQUEST_END],
    ),
    "an offer to upgrade": (
        GET[:-2] + UPGRADE + b"\r\n" + GET,
        [
            a_head("GET", b"/a", HOST, *OFFER),
            REQUEST_END,
            a_head("GET", b"/a", HOST),
            REQUEST_END,
        ],
    ),
    "an offer to upgrade with a body": (
        POST + UPGRADE + b"Content-Length: 4\r\n\r\nbody" + GET,
        [
            a_head("POST", b"/b", HOST, *OFFER, (b"Content-Length", b"4")),
            BodyPart(b"body"),
            REQUEST_END,
            a_head("GET", b"/a", HOST),
            REQUEST_END,
        ],
    ),
    "an offer to upgrade with an empty body": (
        POST + UPGRADE + b"Content-Length: 0\r\n\r\n" + GET,
        [
            a_head("POST", b"/b", HOST, *OFFER, (b"Content-Length", b"0")),
            REQUEST_END,
            a_head("GET", b"/a", HOST),
            REQUEST_END,
        ],
    ),
    "nothing behind a request that closes": (
        GET[:-2] + b"Connection: close\r\n\r\n" + GET,
        [a_head("GET", b"/a", HOST, (b"Connection", b"close"), keep_alive=False), REQUEST_END],
    ),
    "nothing behind an offer to upgrade that closes": (
        POST + b"Connection: close, upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\nx" + GET,
        [
            a_head(
                "POST",
                b"/b",
                HOST,
                (b"Connection", b"close, upgrade"),
                (b"Upgrade", b"h2c"),
                (b"Content-Length", b"1"),
                keep_alive=False,
            ),
            BodyPart(b"x"),
            REQUEST_END,
        ],
    ),
    "nothing behind a request for a tunnel": (
        b"CONNECT /a HTTP/1.1\r\nHost: g\r\n\r\n" + GET,
        [a_head("CONNECT", b"/a", HOST, keep_alive=False), REQUEST_END],
    ),
    "nothing behind HTTP/1.0": (
        GET.replace(b"1.1", b"1.0") + GET,
        [a_head("GET", b"/a", HOST, version="1.0", keep_alive=False), REQUEST_END],
    ),
    "no request": (b"\x00" + GET, [Malformed(*MALFORMED, b"")]),
    "a field without a colon": (GET[:-2] + b"x\r\n\r\n" + GET, [Malformed(*MALFORMED, b"/a")]),
    "an authority as target": (
        b"GET http://u@h/a HTTP/1.1\r\nHost: g\r\n\r\n" + GET,
        [Malformed(*MALFORMED, b"http://u@h/a")],
    ),
    "another coding": (
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        [Malformed(*MALFORMED, b"/b")],
    ),
    "a length in the trailers": (
        CHUNKED + b"0\r\nContent-Length: 1\r\n\r\n" + GET,
        [a_head("POST", b"/b", HOST, (b"Transfer-Encoding", b"chunked")), Malformed(*MALFORMED, b"/b")],
    ),
    "a Connection in the trailers": (
        CHUNKED + b"0\r\nConnection: close\r\n\r\n" + GET,
        [a_head("POST", b"/b", HOST, (b"Transfer-Encoding", b"chunked")), Malformed(*MALFORMED, b"/b")],
    ),
    "no size of a chunk": (
        CHUNKED + b"x\r\n",
        [a_head("POST", b"/b", HOST, (b"Transfer-Encoding", b"chunked")), Malformed(*MALFORMED, b"/b")],
    ),
    "too many fields": (
        POST + b"a: b\r\n" * LIMITS.headers + b"\r\n",
        [Malformed(*HEADERS_TOO_LARGE, b"/b")],
    ),
}
"""Bytes, with the events that they give whole or split."""


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_bytes_become_events(stream: bytes, events: list[Event]) -> None:
    assert joined(parsed(stream)) == events


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_the_events_are_the_same_wherever_the_bytes_are_split(stream: bytes, events: list[Event]) -> None:
    for place in range(1, len(stream)):
        assert joined(parsed(stream[:place], stream[place:])) == events, place
    assert joined(parsed(*(stream[place : place + 1] for place in range(len(stream))))) == events


@st.composite
def mutated_streams(draw: st.DrawFn) -> bytes:
    streams = draw(st.lists(st.sampled_from([stream for stream, _ in STREAMS.values()]), min_size=1))
    return mutated(draw, b"".join(streams))[0]


@examples(800)
@given(mutated_streams(), st.lists(st.integers(0, 400), max_size=6))
def test_what_is_no_request_is_told_once_and_nothing_behind_it(stream: bytes, places: list[int]) -> None:
    parser = RequestParser(LIMITS)
    events = fed(parser, cut(stream, places)) if stream else []
    for place, event in enumerate(events):
        if isinstance(event, Malformed):
            assert place == len(events) - 1
            assert parser.stage is Stage.OVER
    kinds = [type(event) for event in joined(events)]
    assert kinds.count(RequestHead) - kinds.count(type(REQUEST_END)) in {0, 1}


def test_a_method_that_is_none_of_http_is_told_with_its_target() -> None:
    assert parsed(b"BREW /pot HTTP/1.1\r\nHost: g\r\n\r\n") == [Malformed(*NOT_IMPLEMENTED, b"/pot")]


def test_the_first_part_of_a_head_is_told_and_no_other() -> None:
    parser = RequestParser(LIMITS)
    assert parser.feed(GET + b"GE") == [*parsed(GET), HEAD_PART]
    assert (parser.feed(b"T /"), parser.feed(b"b HTTP/1.1\r\n")) == ([], [])
    assert (parser.midway, parser.target) == (True, b"/b")
    assert joined(parser.feed(b"Host: g\r\n\r\n")) == [a_head("GET", b"/b", HOST), REQUEST_END]
    assert (parser.midway, parser.target) == (False, b"")


def test_the_pieces_of_a_body_that_come_together_are_one() -> None:
    body = [event for event in parsed(CHUNKED + b"1\r\na\r\n" * 100) if isinstance(event, BodyPart)]
    assert body == [BodyPart(b"a" * 100)]


@pytest.mark.parametrize("before", [b"", GET, b"\r\n"])
@pytest.mark.parametrize("piece", [1, 100, SLICE_BYTES])
def test_a_head_without_an_end_is_too_large_at_its_limit(before: bytes, piece: int) -> None:
    parser = RequestParser(LIMITS)
    parser.feed(before)
    endless = b"GET /" + b"x" * LIMITS.header_bytes
    events, taken = list[Event](), 0
    while not any(isinstance(event, Malformed) for event in events):
        events += parser.feed(endless[taken : taken + piece])
        taken += piece
    assert LIMITS.header_bytes - piece < taken - 1 <= LIMITS.header_bytes + piece
    assert isinstance(events[-1], Malformed)
    assert (events[-1].status, events[-1].code) == HEADERS_TOO_LARGE


def test_empty_lines_without_end_are_too_large_too() -> None:
    events = parsed(b"\r\n" * LIMITS.header_bytes)
    assert events == [Malformed(*HEADERS_TOO_LARGE, b"")]


def test_a_body_that_is_all_framing_is_refused() -> None:
    chunk = b"1;%b\r\na\r\n" % (b"x" * 3 * FRAMING)
    *_, last = parsed(CHUNKED + chunk * 1_000)
    assert last == Malformed(*MALFORMED, b"/b")
    assert not any(isinstance(event, Malformed) for event in parsed(CHUNKED + b"1\r\na\r\n" * 10_000))


PLAIN = {b"host": b"g", b"authorization": b"key"}
AUTHORIZED = b"GET /a HTTP/1.1\r\nhOsT: g\r\nAuthorization:  key \r\n\r\n"


def test_a_head_that_needs_no_second_look_has_its_fields_by_name() -> None:
    (head, _) = parsed(AUTHORIZED)
    assert isinstance(head, RequestHead)
    assert head.plain == PLAIN


@pytest.mark.parametrize(
    "pieces",
    [
        [AUTHORIZED[:5], AUTHORIZED[5:]],
        [AUTHORIZED.replace(b"GET", b"HEAD")],
        [AUTHORIZED.replace(b"1.1", b"1.0")],
        [AUTHORIZED[:-2] + b"Connection: close\r\n\r\n"],
        [AUTHORIZED[:-2] + UPGRADE + b"\r\n"],
        [AUTHORIZED[:-2] + b"Expect: 100-continue\r\n\r\n"],
        [AUTHORIZED[:-2] + b"Content-Length: 0\r\n\r\n"],
        [AUTHORIZED[:-2] + b"Authorization: other\r\n\r\n"],
        [AUTHORIZED.replace(b"hOsT: g", b"Host: g h")],
        [AUTHORIZED.replace(b"/a", b"http://g/a")],
    ],
    ids=[
        *("in two reads", "HEAD", "HTTP/1.0", "close", "upgrade", "expectation", "length", "a name twice"),
        *("a bad host", "absolute form"),
    ],
)
def test_a_head_that_needs_a_second_look_has_none(pieces: list[bytes]) -> None:
    head = next(event for event in parsed(*pieces) if isinstance(event, RequestHead))
    assert head.plain is None


def test_a_parser_that_is_closed_is_held_by_nothing() -> None:
    parser = RequestParser(LIMITS)
    parser.close()
    with pytest.raises(AttributeError):
        parser.feed(GET)
