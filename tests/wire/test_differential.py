"""The same bytes to two gateways, one on `wire/` and one on Tornado's server: the same answers, every field.

Hypothesis makes the conversations. Where the servers differ, `DIFFERENCES` says how and why; what is
generated keeps clear of these cases and of nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from hypothesis import given

from cli.demo import make_demo
from tests.gateway import OPERATOR_TOKEN, USER, ThreadGateway, eventually, running
from tests.unit.generated import examples
from tests.wire.conversations import KEY, STATS, VOTES, Asked, conversations
from tests.wire.spoken import END, Answer, answers_in, connect, converse, error_text, heard
from wire.head import HEADERS_TOO_LARGE, MALFORMED

WINDOW_SECONDS = 300
UNREAD = {text for _, text in (MALFORMED, HEADERS_TOO_LARGE)}
SETTINGS: dict[str, object] = {
    "keys.digest_secret": "the same secret for both gateways",
    "server.trusted_proxies": "127.0.0.0/8",
    # Low, so that conversations meet them, and all over after a window.
    "limits.voters.requests": 3,
    "limits.voters.window_seconds": WINDOW_SECONDS,
    "limits.stats.requests": 2,
    "limits.stats.window_seconds": WINDOW_SECONDS,
    "limits.failures.requests": 4,
    "limits.failures.window_seconds": WINDOW_SECONDS,
    "votes.window_seconds": 31_536_000,
}
HOST = "Host: g\r\n"
HEALTH = f"GET /healthz HTTP/1.1\r\n{HOST}"
OLD = f"GET /healthz HTTP/1.0\r\n{HOST}"
AUTHORIZED = f"{HOST}Authorization: {KEY}\r\n"
PATCH = f"PATCH {STATS} HTTP/1.1\r\n{AUTHORIZED}"
BODY = '{"server_count": 1200}'
VOTE = f"POST {VOTES} HTTP/1.1\r\n{HOST}Authorization: Bearer {OPERATOR_TOKEN}\r\n"
USER_BODY = f'{{"user":"{USER}"}}'
CHUNKED = f"Transfer-Encoding: chunked\r\n\r\n16\r\n{BODY}\r\n0\r\n\r\n"


class Difference(NamedTuple):
    """What a request and `END` behind it are answered with: statuses, and what `Connection` says."""

    why: str
    request: str
    wire: str
    tornado: str


DIFFERENCES = {
    "a method that nobody knows": Difference(
        "501 is for what a server does not recognize (RFC 9110, 9.1); llhttp cannot read on behind it",
        f"BREW /healthz HTTP/1.1\r\n{HOST}\r\n",
        "501 close",
        "405",
    ),
    "a method of other applications": Difference(
        "Tornado answers before it has read the request, and so it closes, unannounced",
        f"QUERY /healthz HTTP/1.1\r\n{HOST}\r\n",
        "405, 200 close",
        "405",
    ),
    "CONNECT": Difference(
        "no request follows one that asks for a tunnel (RFC 9110, 9.3.6); Tornado does not say it",
        f"CONNECT /healthz HTTP/1.1\r\n{HOST}\r\n",
        "405 close",
        "405",
    ),
    "a target for a proxy": Difference(
        "RFC 9112, 3.2.2 asks for it to be accepted; no client sends it to a server, and smugglers do",
        f"GET http://g/healthz HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "an asterisk": Difference(
        "the asterisk is for OPTIONS alone (RFC 9112, 3.2.4)",
        f"GET * HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "letters of no URI in a target": Difference(
        "it is invalid, and should be a 400 (RFC 9112, 3.2)",
        f"GET /caf\xe9 HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "two spaces before a target": Difference(
        "both are allowed (RFC 9112, 3)",
        f"GET  /healthz HTTP/1.1\r\n{HOST}\r\n",
        "200, 200 close",
        "400 close",
    ),
    "empty lines before a request": Difference(
        "should be ignored (RFC 9112, 2.2)",
        f"\r\n\r\n{HEALTH}\r\n",
        "200, 200 close",
        "400 close",
    ),
    "bare line feeds": Difference(
        "may be recognized (RFC 9112, 2.2); whoever is behind a proxy that does not would be smuggled to",
        "GET /healthz HTTP/1.1\nHost: g\n\n",
        "400 close",
        "200, 200 close",
    ),
    "a newer HTTP/1": Difference(
        "should be read as HTTP/1.1 (RFC 9110, 2.5); llhttp refuses it, and there is none",
        HEALTH.replace("1.1", "1.2") + "\r\n",
        "400 close",
        "200",
    ),
    "more fields than the settings allow": Difference(
        "server.max_headers is a setting of the wire",
        HEALTH + "a: b\r\n" * 100 + "\r\n",
        "431 close",
        "200, 200 close",
    ),
    "two equal lengths": Difference(
        "may be refused (RFC 9112, 6.3)",
        f"{PATCH}Content-Length: 22\r\nContent-Length: 22\r\n\r\n{BODY}",
        "400 close",
        "200, 200 close",
    ),
    "a list of equal lengths": Difference(
        "may be refused (RFC 9112, 6.3)",
        f"{PATCH}Content-Length: 22, 22\r\n\r\n{BODY}",
        "400 close",
        "200, 200 close",
    ),
    "a length that no integer holds": Difference(
        "both refuse; the wire does not know how long the body is, so that there is no 413",
        f"{PATCH}Content-Length: 99999999999999999999\r\n\r\n",
        "400 close",
        "413",
    ),
    "chunk extensions": Difference(
        "must be ignored (RFC 9112, 7.1.1)",
        PATCH + CHUNKED.replace("16", "16;a=b"),
        "200, 200 close",
        "400 close",
    ),
    "trailers": Difference(
        "may be dropped (RFC 9112, 7.1.2)",
        PATCH + CHUNKED.removesuffix("\r\n") + "a: b\r\n\r\n",
        "200, 200 close",
        "400 close",
    ),
    "chunks in HTTP/1.0": Difference(
        "the framing is faulty (RFC 9112, 6.1)",
        PATCH.replace("1.1", "1.0") + CHUNKED,
        "400 close",
        "200",
    ),
    "a list with close in it": Difference(
        "Connection is a list of tokens (RFC 9110, 7.6.1)",
        f"{HEALTH}Connection: te, close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "two Connection fields": Difference(
        "they are one list (RFC 9110, 5.3)",
        f"{HEALTH}Connection: te\r\nConnection: close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "both keep-alive and close": Difference(
        "close goes before keep-alive (RFC 9112, 9.3)",
        f"{HEALTH}Connection: keep-alive, close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "HTTP/1.0": Difference(
        "nobody has to say that it closes; the wire does",
        f"{OLD}\r\n",
        "200 close",
        "200",
    ),
    "HTTP/1.0 with a list": Difference(
        "Connection is a list of tokens (RFC 9112, 9.3)",
        f"{OLD}Connection: keep-alive, te\r\n\r\n",
        "200 keep-alive, 200 close",
        "200",
    ),
    "HTTP/1.0 without a length": Difference(
        "a request without a length has no body (RFC 9112, 6.3); Tornado says keep-alive and closes",
        f"{OLD}Connection: keep-alive\r\n\r\n".replace("GET", "OPTIONS"),
        "204 keep-alive, 200 close",
        "204 keep-alive",
    ),
}
ALIKE = {
    "an offer of another protocol": f"{HEALTH}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "an offer of another protocol with a body": (
        f"{PATCH}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 22\r\n\r\n{BODY}"
    ),
    "an offer of another protocol with an empty body": (
        f"{HEALTH}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n{HEALTH}\r\n"
    ),
    "an offer of another protocol with chunks": f"{PATCH}Connection: upgrade\r\nUpgrade: h2c\r\n{CHUNKED}",
    "OPTIONS for the server": f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n",
    "a user who votes twice": 2 * f"{VOTE}Content-Length: {len(USER_BODY)}\r\n\r\n{USER_BODY}",
}


class Twins(NamedTuple):
    wire: ThreadGateway
    tornado: ThreadGateway

    def heard(self, pieces: Sequence[bytes], methods: Sequence[str] = ()) -> list[list[Answer]]:
        """What each of them answers."""
        return [answers_in(converse(each.base_url, pieces), methods) for each in self]

    def forget(self) -> None:
        """Lets all windows end."""
        for each in self:
            each.clock.advance(WINDOW_SECONDS)

    def heads(self) -> list[int]:
        """How many records each has written."""
        return [each.gateway.ledger.head for each in self]

    def digests(self) -> set[str]:
        return {each.on_loop(each.gateway.ledger.state.digest) for each in self}


def demonstrate(gateway: ThreadGateway) -> None:
    ledger, digester = gateway.gateway.ledger, gateway.gateway.digester
    now_ms = gateway.clock.now_ms()
    gateway.on_loop(lambda: make_demo(ledger, digester, key=KEY, key_id="k" * 24, now_ms=now_ms))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Two gateways that know the same."""
    folder = tmp_path_factory.mktemp("twins")
    with ExitStack() as stack:
        started = []
        for name in ("httptools", "tornado"):
            started.append(stack.enter_context(running(folder / name, **SETTINGS, **{"server.wire": name})))
            demonstrate(started[-1])
        yield Twins(*started)


def compared(asked: Asked, answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    """An answer without what may differ."""
    unread = answer.status in {400, 431} and error_text(answer) in UNREAD
    kept = []
    for name, value in answer.fields:
        if name in {"date", "x-request-id"}:
            value = "some"
        elif name == "connection":
            value = value.lower()
        # Tornado's server refuses without a date, and cannot say what is left to whom.
        dropped = unread and (name == "date" or name.startswith("ratelimit-"))
        # HTTP/1.0 closes unless it is told otherwise; the wire says so all the same.
        if not dropped and (asked.version, name, value) != ("1.0", "connection", "close"):
            kept.append((name, value))
    return answer.status, sorted(kept), answer.body


@pytest.mark.parametrize("count", [1_200, pytest.param(12_000, marks=pytest.mark.long)])
def test_both_servers_answer_every_conversation_in_the_same_way(twins: Twins, count: int) -> None:
    met = Counter[int]()

    @examples(count)
    @given(conversations())
    def alike(conversation: tuple[list[Asked], list[bytes]]) -> None:
        asked, pieces = conversation
        twins.forget()
        before = twins.heads()
        wire, tornado = (
            [compared(*pair) for pair in zip(asked, answers, strict=True)]
            for answers in twins.heard(pieces, [each.method for each in asked])
        )
        assert wire == tornado
        written = [after - head for after, head in zip(twins.heads(), before, strict=True)]
        assert written[0] == written[1]
        met.update(answer[0] for answer in wire)

    alike()
    assert len(twins.digests()) == 1
    assert met.keys() >= {200, 204, 400, 401, 404, 405, 429}
    assert met.total() > 3 * count


@pytest.mark.parametrize("case", DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_servers_differ_where_it_is_known(twins: Twins, case: Difference) -> None:
    twins.forget()
    told = [
        ", ".join(f"{each.status} {each.named('connection') or ''}".strip().lower() for each in answers)
        for answers in twins.heard([case.request.encode("latin-1") + END])
    ]
    assert told == [case.wire, case.tornado]


@pytest.mark.parametrize("request_text", ALIKE.values(), ids=ALIKE)
def test_the_servers_do_not_differ_in_what_is_seldom_asked(twins: Twins, request_text: str) -> None:
    twins.forget()
    asked, stream = Asked("", "1.1", b""), request_text.encode() + END
    wire, tornado = ([compared(asked, answer) for answer in answers] for answers in twins.heard([stream]))
    assert wire == tornado
    assert len(wire) == request_text.count(" HTTP/1.1") + 1


def test_nothing_behind_a_request_that_closes_is_done(twins: Twins) -> None:
    """RFC 9112, 9.6. Tornado does it, though nobody hears of it."""
    twins.forget()
    wire, tornado = twins.heads()
    change = f"{PATCH}Content-Length: 22\r\n\r\n{BODY}"
    answers = twins.heard([END + change.encode()])
    assert [[each.status for each in of_one] for of_one in answers] == [[200], [200]]
    assert eventually(lambda: twins.heads()[1] == tornado + 1)
    assert twins.heads()[0] == wire
    converse(twins.wire.base_url, [change.encode() + END])
    assert len(twins.digests()) == 1


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_who_waits_for_a_100_gets_it_before_the_body_is_sent(twins: Twins, version: str) -> None:
    """RFC 9110, 10.1.1. A client of HTTP/1.0 is told nothing by the wire; Tornado tells it all the same."""
    twins.forget()
    head = f"{PATCH}Expect: 100-continue\r\nContent-Length: 22\r\n\r\n".replace("HTTP/1.1", f"HTTP/{version}")
    for gateway, told in zip(twins, (version == "1.1", True), strict=True):
        with connect(gateway.base_url) as connection:
            connection.sendall(head.encode())
            interim = connection.recv(1_000) if told else b""
            assert interim.startswith(b"HTTP/1.1 100 ") is told
            connection.sendall(BODY.encode())
            connection.sendall(END)
            assert answers_in(heard(connection))[0].status == 200
