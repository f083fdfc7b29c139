"""serving/direct_pages.py: it reads no request that the parser would read in another way."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from serving.direct_pages import usual_fields
from tests.support.wire_stories import LIMITS
from wire.parser import RequestEnd, RequestHead, RequestParser

MOST = LIMITS.headers
NAMES = (
    "Host",
    "host",
    "Cookie",
    "Accept",
    "accept-language",
    "X-Forwarded-For",
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
def test_a_request_that_is_read_directly_means_the_same_to_the_parser(data: bytes) -> None:
    found = usual_fields(data, MOST)
    if found is None:
        return
    parser = RequestParser(LIMITS)
    head, end = parser.feed(data)
    assert isinstance(head, RequestHead)
    assert isinstance(end, RequestEnd)
    assert (head.method, head.version, head.keep_alive) == ("GET", "1.1", True)
    assert head.target == data.split(b" ")[1]
    assert head.plain == found


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
