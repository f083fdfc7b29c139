"""Pipelines of requests in odd spellings, cut into pieces, which hypothesis generates.

All HTTP servers must answer them alike. `server_differences.py` has the requests that servers may answer
differently.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from cli.demo import BOT, SERVER_COUNT, VOTER
from tests.support.gateways import OPERATOR_TOKEN, OTHER_BOT, USER
from tests.support.raw_http import END, cut

KEY = "vg_" + "k" * 43
BEARER = f"Bearer {OPERATOR_TOKEN}"
STATS = f"/bots/{BOT}/stats"
VOTES = f"/manage/bots/{BOT}/votes"
CHECKS = [f"/bots/{BOT}/voters/{VOTER}", f"/bots/{BOT}/voters/{USER}"]


class Asked(NamedTuple):
    method: str
    version: str
    content: bytes
    last: bool = False
    """True if the connection ends after this request."""


bots = st.sampled_from([*[BOT] * 4, OTHER_BOT, "%31" + BOT[1:], "0" + BOT, "1" * 3_000, "x", "%E9", ""])
users = st.sampled_from([VOTER, VOTER, USER, "%33" + VOTER[1:], VOTER[:-1] + "%38", "1" * 21, "a%2Fb", ""])
checks = st.sampled_from(CHECKS) | st.builds("/bots/{}/voters/{}".format, bots, users)
stats_paths = st.builds("/bots/{}/stats".format, bots)
managed = ("bots", f"bots/{BOT}", f"bots/{BOT}/votes", f"bots/{BOT}/limits", "servers?limit=0")
others = st.sampled_from(
    [f"/{STATS}", f"/bots//{BOT}/stats", "/", "/nothing", "/healthz", "/readyz", "/docs", "/openapi.json"]
    + [f"/manage/{rest}" for rest in managed]
)
tails = st.sampled_from([*[""] * 5, "?", "?a=b&a=%FF", "/", "//", "#part", "%0A", ";a", "?/bots/"])
targets = st.builds("{}{}".format, checks | stats_paths | others, tails)
methods = st.sampled_from(["GET", "HEAD", "PATCH", "POST", "PUT", "DELETE", "OPTIONS"])

blanks = st.sampled_from(["", " ", " ", " ", "\t", " \t  "])
hosts = st.sampled_from(["gateway", "gateway", "127.0.0.1:8080", "[::1]:80", ""])
authorizations = st.sampled_from(
    [*[[KEY]] * 4, *[[BEARER]] * 2, [], ["wrong"], [""], [f"\xa0{KEY}\xa0"], [f"Bearer {KEY}"]]
    + [[value] for value in ("caf\xe9", KEY[:-1], "x" * 5_000)]
    + [[value, KEY] for value in (KEY, "")]
)
extras = st.sampled_from(
    [
        ("X-Forwarded-For", value)
        for value in ("192.0.2.1", "192.0.2.1:80, 127.0.0.1", "[2001:db8::1]:9", "x,")
    ]
    + [("x-forwarded-FOR", "2001:db8::1,unix"), ("Accept", "*/*"), ("Accept", "text/html;q=0.1")]
    + [("Content-Type", "text/plain; charset=latin-1"), ("Content-type", ""), ("Cookie", "a=b")]
    + [("Connection", value) for value in ("keep-alive", "Keep-Alive", "te", "keep-alive, te", "", "close")]
    + [("Expect", value) for value in ("100-continue", "100-Continue", "a miracle")]
    + [("X-Latin", "caf\xe9 \x85\xff"), ("x-!#$%&'*+-.^_`|~09", "a\tb"), ("If-None-Match", "*"), ("TE", "")]
)
contents = st.sampled_from(
    [b'{"server_count": %d}' % SERVER_COUNT, b' {"server_count": 1180.0, "command_count": 5}\n', b"{}", b"[]"]
    + [b'{"server_count": 9}', b'{"server_count": 1e3}', b'{"command_count": 1001}', b'{"command_count": 0}']
    + [b'{"user": "%d"}' % user for user in (int(USER), int(OTHER_BOT), 5)]
    + [
        b'{"a": 1, "a": 1}',
        b'{"server_count": NaN}',
        b'"\\ud800"',
        b"caf\xe9",
        b"{",
        b"",
        *[b"x" * 70_000] * 2,
    ]
)


@st.composite
def fields(draw: st.DrawFn) -> list[tuple[str, str]]:
    """The fields of a request, without those that frame its body."""
    spelling = draw(st.sampled_from(["Authorization", "authorization", "aUTHORIZATION"]))
    named = [(draw(st.sampled_from(["Host", "host", "HOST"])), draw(hosts))]
    named += [(spelling, value) for value in draw(authorizations)]
    named += draw(st.lists(extras, max_size=2, unique_by=lambda field: field[0].lower()))
    return draw(st.permutations(named)) if draw(st.booleans()) else named


@st.composite
def bodies(draw: st.DrawFn, version: str) -> bytes:
    """The field that frames a body, the end of the head, and the body."""
    content = draw(contents)
    if version == "1.0" or draw(st.booleans()):
        name = draw(st.sampled_from([b"Content-Length", b"content-LENGTH"]))
        return b"%b:%d\r\n\r\n%b" % (name, len(content), content)
    size = draw(st.sampled_from([b"%x\r\n", b"%X\r\n", b"000%x\r\n"]))
    pieces = cut(content, draw(st.lists(st.integers(0, 40), max_size=3)))
    chunks = b"".join(size % len(piece) + piece + b"\r\n" for piece in pieces if piece)
    coding = draw(st.sampled_from([b"chunked", b"Chunked", b"\tchunked "]))
    return b"Transfer-Encoding:%b\r\n\r\n%b0\r\n\r\n" % (coding, chunks)


@st.composite
def requests(draw: st.DrawFn, named: list[tuple[str, str]]) -> Asked:
    """A request with the given fields. Other requests of its conversation may have the same ones."""
    version = draw(st.sampled_from(["1.1"] * 9 + ["1.0"]))
    kind = draw(st.sampled_from(["check", "check", "GET", "stats", "vote", "any"]))
    if kind == "check":
        method, target = "GET", draw(st.sampled_from(CHECKS))
    elif kind == "stats":
        method, target = "PATCH", draw(st.just(STATS) | stats_paths)
    elif kind == "vote":
        method, target = "POST", VOTES
    else:
        method, target = draw(methods) if kind == "any" else kind, draw(targets)
    # Tornado keeps a connection of HTTP/1.0 open after a GET, a HEAD, and a request with a length.
    may_be_bodiless = version == "1.1" or method in {"GET", "HEAD"}
    bodiless = may_be_bodiless and (kind in {"check", "GET"} or draw(st.booleans()))
    connection = next((value.lower() for name, value in named if name == "Connection"), "")
    if version == "1.0" and connection not in {"close", "keep-alive"}:
        named = [field for field in named if field[0] != "Connection"]
    last = connection != "keep-alive" if version == "1.0" else connection == "close"
    lines = "".join(f"{name}:{draw(blanks)}{value}{draw(blanks)}\r\n" for name, value in named)
    head = f"{method} {target} HTTP/{version}\r\n{lines}".encode("latin-1")
    return Asked(method, version, head + (b"\r\n" if bodiless else draw(bodies(version))), last)


CLOSING = "HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"
last_requests = st.sampled_from(
    [
        END.decode(),
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: g\r\nHost: g\r\n\r\n",
        f"GET {STATS} HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost : g\r\n\r\n",
        "GET /heal thz HTTP/1.1\r\nHost: g\r\n\r\n",
        f"PATCH {STATS} HTTP/1.1\r\nHost: g\r\nContent-Length: -1\r\n\r\n",
        f"PATCH {STATS} HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: x\r\n\r\n",
        f"GET {STATS} HTTP/1.1\r\nHost: g\r\nA: {'a' * 20_000}\r\n\r\n",
        f"QUERY {STATS} {CLOSING}",
        f"PROPFIND /nothing {CLOSING}",
    ]
).map(lambda text: Asked(text.split()[0], "1.1", text.encode(), last=True))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Asked], list[bytes]]:
    """The requests, and the pieces in which they are sent."""
    shared = st.sampled_from(draw(st.lists(fields(), min_size=1, max_size=2)))
    asked: list[Asked] = []
    for _ in range(draw(st.integers(1, 7))):
        asked.append(draw(requests(draw(shared))))
        if asked[-1].last:
            break
    else:
        asked.append(draw(last_requests))
    stream = b"".join(each.content for each in asked)
    way = draw(st.sampled_from(["whole", "places", "requests", "bytes"]))
    if way == "requests":
        return asked, [each.content for each in asked]
    if way == "bytes" and len(stream) < 1_000:
        return asked, list(cut(stream, range(len(stream))))
    return asked, list(cut(stream, draw(st.lists(st.integers(1, len(stream)), max_size=12))))
