"""serving/direct_pages.py: it reads no request that the parser would read in another way."""

from collections.abc import Mapping
from ipaddress import ip_network

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders

from core.finished import finished
from handlers.reply import Reply
from handlers.request import Request
from handlers.route import AnswerKeeping, AnswerVariant, Resource
from serving.direct_pages import KNOWN, KNOWN_CHOICES, DirectPages, usual_fields, without_visitor
from serving.kept_pages import KeptPages
from serving.traffic import Traffic
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.wire_stories import LIMITS
from wire.parser import START, RequestEnd, RequestHead, RequestParser

SESSION = "__Host-votegate-session"
ANSWER = Reply(200, b"a page", {"cache-control": "public"}, content_type="text/html")
MOST = LIMITS.headers
NAMES = (
    "Host",
    "host",
    "Cookie",
    "Accept",
    "accept-language",
    "X-Forwarded-For",
    "Referer",
    "x-real-ip",
    "Connection",
    "Content-Length",
)
ODD = (
    "Transfer-Encoding",
    "Upgrade",
    "Expect",
    "Range",
    "Proxy-Connection",
    "HX-Request",
    "",
    " X",
    "X ",
    "X\x00",
    "ä",
)
VALUES = (
    *(
        "a",
        "localhost:8080",
        "keep-alive",
        "close",
        "Keep-Alive",
        "0",
        "5",
        "chunked",
        "100-continue",
        "websocket",
    ),
    *(
        "",
        " ",
        "\t a \t",
        "a, b",
        "a\x00b",
        "a\x7f",
        "ä",
        "\r",
        "\n b",
        "\r\n b",
        "gzip;q=0",
        "[::1]",
        "a b",
        "a,b",
        "a=b; __Host-votegate-look=dark",
    ),
)
TARGETS = (
    "/",
    "/bots?q=a&sort=b",
    "/%41",
    "/a b",
    "/ä",
    "/\x7f",
    "*",
    "http://a/",
    "a",
    "/#a",
    '/"<>{}|\\^`',
    "//a",
)
OF_VISITOR = {b"cookie", b"referer", b"x-real-ip", b"x-forwarded-for"}
LINES = (
    "GET {} HTTP/1.1\r\n",
    "GET {} HTTP/1.0\r\n",
    "get {} HTTP/1.1\r\n",
    "GET  {} HTTP/1.1\r\n",
    "\r\nGET {} HTTP/1.1\r\n",
)
fields = st.lists(
    st.tuples(
        st.sampled_from(NAMES + ODD), st.sampled_from([":", ": ", " : ", ":\t"]), st.sampled_from(VALUES)
    ),
    max_size=6,
)
ends = st.sampled_from(["\r\n", "\n", "", "\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nabcde"])
usual = st.sampled_from(["Host: a\r\n", "host: a.example\r\nAccept: */*\r\n", ""])


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    line = draw(st.sampled_from(LINES)).format(draw(st.sampled_from(TARGETS)))
    own = "".join(f"{name}{colon}{value}\r\n" for name, colon, value in draw(fields))
    return (line + draw(usual) + own + draw(ends)).encode("latin-1")


@given(heads())
@settings(max_examples=1_000)
@example(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost:\ta \r\nAccept:\r\nConnection: Keep-Alive\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nCookie: a\r\nHost: a\r\ncookie:\r\nReferer: b\r\nX-Real-IP:c\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nCookie: a\r\n")
@example(b"GET /\r\nCookie: a\r\n HTTP/1.1\r\nHost: a\r\n\r\n")
@example(b"GET / HTTP/1.1\nCookie: a\r\nHost: a\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\nCookie: a\n\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\nCookie: a\r\n b\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\nCookie : a\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nCookie: a\r\nHost: a\r\nCookie: votegate-look=dark\r\n\r\n")
def test_a_request_that_is_read_directly_means_the_same_to_the_parser(data: bytes) -> None:
    start, space, rest = data.partition(b" ")[2].partition(b" ")
    shared = without_visitor(space + rest, MOST)
    found = usual_fields(b"GET %b%b" % (start, shared[0]), MOST) if shared is not None else None
    if found is None or shared is None or not data.startswith(START):
        return
    parser = RequestParser(LIMITS)
    head, end = parser.feed(data)
    assert isinstance(head, RequestHead)
    assert isinstance(end, RequestEnd)
    assert (head.method, head.version, head.keep_alive) == ("GET", "1.1", True)
    assert head.target == data.split(b" ")[1]
    read = [(name.lower(), value.strip(b"\t ")) for name, value in head.fields]
    assert [field for field in read if field[0] in found or field[0] not in OF_VISITOR] == [*found.items()]
    addresses = [value.decode() for name, value in read if name == b"x-forwarded-for"]
    assert addresses == ([shared[1]] if shared[1] is not None else [])


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /?a=b HTTP/1.1\r\nhost:a:1\r\nX-A: \xc3\r\n\r\n"]
)
def test_the_head_of_a_browser_is_read(data: bytes) -> None:
    assert (usual_fields(data, MOST) is not None) == (b"\xc3" not in data)


def test_a_request_with_too_many_headers_is_left_to_the_slow_way() -> None:
    def asked(count: int) -> bytes:
        further = b"".join(b"X-%d: a\r\n" % number for number in range(count - 1))
        return b"GET / HTTP/1.1\r\nHost: a\r\n%b\r\n" % further

    assert usual_fields(asked(MOST), MOST) is not None
    assert usual_fields(asked(MOST + 1), MOST) is None


def test_a_request_with_many_lines_of_its_visitor_has_too_many_headers_as_well() -> None:
    def rest(count: int) -> bytes:
        return b" HTTP/1.1\r\nHost: a\r\n%b\r\n" % (b"Referer: a\r\n" * (count - 1))

    assert without_visitor(rest(MOST), MOST) == (rest(1), None)
    assert without_visitor(rest(MOST + 1), MOST) is None


@pytest.mark.parametrize(
    ("line", "is_shared"),
    [
        ("Cookie: _ga=GA1.1.5; theme=a", True),
        ("Referer: https://votegate-a.example/bots", True),
        ("X-REAL-IP: 192.0.2.1", True),
        ("Cookie: votegate-look=dark", False),
        ("cookie: a=b; __Host-votegate-session=c", False),
        ("Accept-Language: de", False),
        ("Cookie2: a", False),
        ("X-Cookie: a", False),
    ],
)
def test_lines_that_choose_no_answer_are_left_out(line: str, *, is_shared: bool) -> None:
    rest = " HTTP/1.1\r\nHost: a\r\n{}\r\nAccept: b\r\n\r\n"
    shared = without_visitor(rest.format(line).encode(), MOST)
    assert shared is not None
    assert (shared[0] == rest.replace("{}\r\n", "").encode()) == is_shared
    assert shared[1] is None


# With answers.


class Visited:
    """The direct route to one answer that is kept. Notes the addresses of its requests, and counts the heads
    that were read."""

    def __init__(self) -> None:
        self.addresses, self.read = list[str](), 0
        kept = KeptPages(1_000_000, FakeClock(), Traffic([]))
        (resource,) = kept.keeping(
            [Resource("/", {"GET": lambda _: ANSWER}, keeping=AnswerKeeping((), self._variant))]
        )
        request = Request("GET", "/", (), {}, HTTPHeaders(), "192.0.2.1", b"", 0)
        run(finished(resource.endpoints["GET"](request)))
        proxies = [ip_network("127.0.0.1/32")]
        self._direct = DirectPages(kept, FakeClock(), proxies, self._answered, MOST, is_https=False)
        self.read = 0

    def _variant(self, headers: Mapping[str, str]) -> AnswerVariant | None:
        self.read += 1
        return AnswerVariant(is_packed=False) if SESSION not in headers.get("Cookie", "") else None

    def _answered(self, _: int, __: str, ___: str, address: str, *____: int) -> None:
        self.addresses.append(address)

    def ask(self, *lines: str) -> bool:
        """Return true if a request with these lines, behind its Host, is answered directly."""
        data = "\r\n".join(["GET / HTTP/1.1", "Host: a", *lines, "", ""]).encode()
        return self._direct.answer(data, "127.0.0.1") is not None


def test_visitors_with_the_same_browser_share_what_was_read() -> None:
    visited = Visited()
    for number in range(3):
        own = (f"Cookie: _ga={number}", f"Referer: /bots/{number}", f"X-Forwarded-For: 192.0.2.{number}")
        assert visited.ask("Accept-Language: de", *own)
    assert visited.read == 1
    assert visited.addresses == ["192.0.2.0", "192.0.2.1", "192.0.2.2"]
    assert visited.ask("Accept-Language: en")
    assert visited.read == 2
    assert not visited.ask("X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2")


def test_a_request_with_a_session_is_not_remembered() -> None:
    visited = Visited()
    assert not any(visited.ask(f"Cookie: {SESSION}=a") for _ in range(3))
    assert visited.read == 3


@pytest.mark.parametrize(("line", "most"), [("Accept: {}", KNOWN_CHOICES), ("X-Real-IP: {}", KNOWN)])
def test_the_oldest_is_forgotten_when_too_many_are_known(line: str, most: int) -> None:
    visited = Visited()
    for number in range(most):
        assert visited.ask(line.format(number))
    read = visited.read
    assert visited.ask(line.format(0))
    assert visited.read == read
    assert visited.ask(line.format(most))
    assert len(visited._direct._known) <= KNOWN
    assert len(visited._direct._choices) <= KNOWN_CHOICES
