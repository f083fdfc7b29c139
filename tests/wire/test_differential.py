"""The same bytes to two gateways, one on `wire/` and one on Tornado's server: the same answers, every field.

Hypothesis makes the conversations. `DIFFERENCES` says where the servers differ, and why. The conversations
avoid these cases and no others.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from hypothesis import given

from cli.demo import make_demo
from languages.said import in_words
from tests.support.examples import affordable, examples
from tests.support.gateways import ThreadGateway, eventually, running
from tests.support.generated_conversations import KEY, Asked, conversations
from tests.support.raw_http import END, Answer, answers_in, connect, converse, error_text, heard
from tests.support.server_differences import ALIKE, BODY, DIFFERENCES, PATCH, Difference
from tests.support.tornado_oracle import running_on_tornado
from wire.parser import HEADERS_TOO_LARGE, MALFORMED

REF = "bots/123456789012345678"
WINDOW_SECONDS = 300
UNREAD = {in_words(code) for _, code in (MALFORMED, HEADERS_TOO_LARGE)}
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


class Twins(NamedTuple):
    wire: ThreadGateway
    tornado: ThreadGateway

    def heard(self, pieces: Sequence[bytes], methods: Sequence[str] = ()) -> list[list[Answer]]:
        """Return the answers of each gateway."""
        return [answers_in(converse(each.base_url, pieces), methods) for each in self]

    def forget(self) -> None:
        """Let all windows end."""
        for each in self:
            each.clock.advance(WINDOW_SECONDS)

    def heads(self) -> list[int]:
        """Return how many records each has written."""
        return [each.gateway.ledger.head for each in self]

    def days_of_use(self) -> list[int]:
        """Return the day of which each has written that the key was used."""
        return [each.gateway.ledger.state.listings[REF].keys[0].used_day for each in self]

    def digests(self) -> set[str]:
        return {each.on_loop(each.gateway.ledger.state.digest) for each in self}


def demonstrate(gateway: ThreadGateway) -> None:
    ledger, digester = gateway.gateway.ledger, gateway.gateway.digester
    now_ms = gateway.clock.now_ms()
    gateway.on_loop(lambda: make_demo(ledger, digester, key=KEY, key_id="k" * 24, now_ms=now_ms))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Two gateways with the same state."""
    folder = tmp_path_factory.mktemp("twins")
    with ExitStack() as stack:
        twins = Twins(
            stack.enter_context(running(folder / "wire", **SETTINGS)),
            stack.enter_context(running_on_tornado(folder / "tornado", **SETTINGS)),
        )
        for each in twins:
            demonstrate(each)
        yield twins


def compared(asked: Asked, answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return an answer without the parts that may differ."""
    refused = answer.status in {400, 431} and answer.body != b""  # that of a HEAD is the handler's
    unread = refused and error_text(answer) in UNREAD
    kept = []
    for name, value in answer.fields:
        if name in {"date", "x-request-id"}:
            value = "some"
        elif name == "connection":
            value = value.lower()
        # Tornado's server refuses without a date and without limits. It names a code on public paths, too.
        dropped = unread and (name in {"date", "content-length"} or name.startswith("ratelimit-"))
        # HTTP/1.0 closes by default; the wire says so all the same.
        if not dropped and (asked.version, name, value) != ("1.0", "connection", "close"):
            kept.append((name, value))
    return answer.status, sorted(kept), error_text(answer).encode() if unread else answer.body


@pytest.mark.parametrize("count", [2_000, pytest.param(12_000, marks=pytest.mark.long)])
def test_both_servers_answer_every_conversation_in_the_same_way(twins: Twins, count: int) -> None:
    met = Counter[int]()

    @examples(count)
    @given(conversations())
    def alike(conversation: tuple[list[Asked], list[bytes]]) -> None:
        asked, pieces = conversation
        twins.forget()
        before, days = twins.heads(), twins.days_of_use()
        wire, tornado = (
            [compared(*pair) for pair in zip(asked, answers, strict=True)]
            for answers in twins.heard(pieces, [each.method for each in asked])
        )
        assert wire == tornado
        # It is no answer, but the end of a minute, that writes the use of a key: at one of them first.
        of_minutes = [after != day for after, day in zip(twins.days_of_use(), days, strict=True)]
        written = [
            after - head - more for after, head, more in zip(twins.heads(), before, of_minutes, strict=True)
        ]
        assert written[0] == written[1]
        met.update(answer[0] for answer in wire)

    alike()
    assert len(twins.digests()) == 1
    assert met.keys() >= {200, 204, 400, 401, 404, 405, 429}
    assert met.total() > affordable(count)


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
    """RFC 9112, 9.6. Tornado does it, but sends no answer."""
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
    """RFC 9110, 10.1.1. The wire sends no 100 to a client of HTTP/1.0; Tornado does."""
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
