"""serving/direct_posts.py: posts without Tornado, beside a gateway that leaves the same posts to Tornado."""

import gzip
import logging
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from core.events import Event, VoteCast
from core.failures import Unavailable
from serving.access_log import AccessLog
from serving.application import EndpointHandler
from serving.traffic import Series, Traffic
from tests.support.examples import affordable, examples
from tests.support.gateways import BOT, OPERATOR_TOKEN, OTHER_BOT, SERVER, USER, eventually
from tests.support.owned_listings import list_bot, list_server
from tests.support.people import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, EMIL
from tests.support.raw_http import END, Answer, answers_in, connect, converse, cut
from wire.http_server import WireServer

WINDOW_SECONDS = 300
MOST_BYTES = 20_000
SETTINGS: dict[str, object] = {
    "keys.digest_secret": "the same secret for both gateways",
    "server.trusted_proxies": "127.0.0.0/8",
    "server.max_body_bytes": MOST_BYTES,
    "server.access_log": True,
    "limits.failures.requests": 4,
    "limits.failures.window_seconds": WINDOW_SECONDS,
    "votes.cooldown_seconds": WINDOW_SECONDS,
    "votes.per_minute_of_user": 3,
    "votes.accounts_per_address": 1_000,  # a further account gets a puzzle, and no two puzzles are alike
}
SESSION, OTHER_SESSION = "s" * 43, "t" * 43
CAST, CHECK = f"/manage/bots/{BOT}/votes", f"/manage/bots/{BOT}/votes/check"
PRESS, PRESS_SERVER = f"/bots/{BOT}/vote", f"/servers/{SERVER}/vote"
BEARER = f"Authorization: Bearer {OPERATOR_TOKEN}"
FROM_HERE = "Sec-Fetch-Site: same-origin"
OWN_PORT = re.compile(rb"127\.0\.0\.1(:|%3A)[0-9]+")
REQUEST_ID = re.compile(rb"[0-9a-f]{8}1[0-9]{7}")


def cookie(session: str = SESSION) -> str:
    return f"Cookie: __Host-votegate-session={session}"


class Twins(NamedTuple):
    """Two gateways with the same listings, sessions and settings."""

    direct: PeopleGateway
    tornado: PeopleGateway
    lines: Mapping[int, list[tuple[object, ...]]]
    """The answers that each has logged, without times and numbers."""
    traffic: Sequence[Traffic]
    handled: list[str]
    """The paths that handlers of Tornado have answered."""
    server: WireServer
    """The server of the direct gateway."""

    @property
    def gateways(self) -> tuple[PeopleGateway, PeopleGateway]:
        return self.direct, self.tornado

    def heard(self, pieces: Sequence[bytes]) -> list[list[Answer]]:
        """Return the answers of each gateway."""
        return [answers_in(converse(each.base_url, pieces)) for each in self.gateways]

    def forget(self) -> None:
        """Let all windows end."""
        for each in self.gateways:
            each.clock.advance(WINDOW_SECONDS)

    def votes(self) -> list[list[tuple[int, int, int]]]:
        """Return all votes that each has taken."""
        refs = (f"bots/{BOT}", f"servers/{SERVER}")
        states = [each.gateway.ledger.state for each in self.gateways]
        return [[vote for ref in refs for vote in state.votes.votes(ref)] for state in states]

    def counts(self) -> list[dict[Series, int]]:
        """Return the answers of each by endpoint and class."""
        looks = [each.look(0).by_series for each in self.traffic]
        return [{series: each.count for series, each in look.items() if each.count} for look in looks]


def furnish(gateway: PeopleGateway) -> None:
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    list_bot(gateway, OTHER_BOT, owner=ADA)
    list_server(gateway, ADA)
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
    ledger, digest = gateway.gateway.ledger, gateway.gateway.digester.digest
    for user, value in ((BEN, SESSION), (EMIL, OTHER_SESSION)):
        event = signed_in(user, digest(value), gateway.clock.now_ms())
        gateway.on_loop(lambda event=event: ledger.commit([event]))  # type: ignore[misc]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    folder = tmp_path_factory.mktemp("twins")
    lines: dict[int, list[tuple[object, ...]]] = {}
    traffic: list[Traffic] = []
    handled: list[str] = []
    answered, count = AccessLog.answered, EndpointHandler.count

    def log(self: AccessLog, *told: object) -> None:
        status, method, path, address, _, _ = told
        lines.setdefault(id(self), []).append((status, method, path, address))
        answered(self, *told)  # type: ignore[arg-type]

    def counting(self: EndpointHandler) -> None:
        handled.append(self.request.path)
        count(self)

    def making(names: object) -> Traffic:
        traffic.append(Traffic(names))  # type: ignore[arg-type]
        return traffic[-1]

    servers: list[WireServer] = []

    def serve(*told: Any, **named: Any) -> WireServer:
        servers.append(WireServer(*told, **named))
        return servers[-1]

    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(AccessLog, "answered", log)
        patch.setattr(EndpointHandler, "count", counting)
        patch.setattr("gateway.parts.Traffic", making)
        patch.setattr("gateway.front.WireServer", serve)
        direct = stack.enter_context(serving(folder / "direct", **SETTINGS))
        furnish(direct)
        with pytest.MonkeyPatch.context() as old_way:
            old_way.setattr("gateway.serve._of_votes", lambda *_, **__: [])
            tornado = stack.enter_context(serving(folder / "tornado", **SETTINGS))
        furnish(tornado)
        yield Twins(direct, tornado, lines, traffic, handled, servers[0])


def compared(answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return an answer without its id, its date, and the port of its gateway."""
    fields = [
        (name, "some" if name in {"date", "x-request-id", "content-length"} else value)
        for name, value in answer.fields
    ]
    content = gzip.decompress(answer.body) if ("content-encoding", "gzip") in fields else answer.body
    body = REQUEST_ID.sub(b"ID", OWN_PORT.sub(b"HERE", content))
    told = [(name, OWN_PORT.sub(b"HERE", value.encode()).decode()) for name, value in fields]
    return answer.status, sorted(told), body


def post(target: str, *lines: str, body: bytes = b"", version: str = "1.1") -> bytes:
    """Return a post with a length, unless one of the lines frames its body."""
    framing = (
        []
        if any("coding:" in line or "ength:" in line for line in lines)
        else [f"Content-Length: {len(body)}"]
    )
    head = "\r\n".join((f"POST {target} HTTP/{version}", "Host: gateway", *lines, *framing, "\r\n"))
    return head.encode("latin-1") + body


targets = st.sampled_from(
    [*[CAST] * 3, *[CHECK] * 2, *[PRESS] * 4, PRESS_SERVER]
    + [
        f"{CAST}/",
        f"{CAST}?a=b",
        f"{PRESS}?from=vote",
        f"{PRESS}#x",
        f"{PRESS}.json",
        f"/manage/bots/{BOT}/numbers",
    ]
    + [
        target.replace(BOT, its_id)
        for its_id in (OTHER_BOT, "%31" + BOT[1:], "x", "caf%E9", "a;b", "1" * 900)
        for target in (CAST, CHECK, PRESS)
    ]
    + [f"/manage/servers/{SERVER}/votes", f"/manage/emojis/{BOT}/votes", f"/emojis/{BOT}/vote"]
)
senders = st.sampled_from(
    [[BEARER]] * 3
    + [[cookie(), FROM_HERE]] * 4
    + [
        [],
        [cookie()],
        ["Authorization: Bearer wrong"],
        [f"authorization: bearer  {OPERATOR_TOKEN} "],
        ["Authorization: Basic x"],
    ]
    + [
        [cookie(OTHER_SESSION), FROM_HERE],
        [cookie("x" * 43), FROM_HERE],
        [f"{cookie()}; {cookie('x')[8:]}", FROM_HERE],
    ]
    + [
        [cookie(), "Sec-Fetch-Site: cross-site"],
        [cookie(), "Origin: https://elsewhere.example"],
        [cookie(), "Origin: null"],
    ]
    + [[cookie(), BEARER], [BEARER, BEARER], [cookie(), cookie(OTHER_SESSION), FROM_HERE]]
)
extras = st.sampled_from(
    [
        "Accept: text/html",
        "Accept: application/json",
        "Accept-Language: de",
        "Accept-Encoding: gzip",
        "HX-Request: true",
        "Content-Type: application/json",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type:",
        "Content-Type: multipart/form-data; boundary=b",
        "Content-Type: multipart/form-data",
        "X-Forwarded-For: 192.0.2.1",
        "x-forwarded-for: x, 2001:db8::1",
        "X-Latin: café",
        "Host: gateway",
        "Expect: 100-continue",
        "Expect: a miracle",
        "Connection: keep-alive",
        "Upgrade: h2c",
        "If-None-Match: *",
        "TE: x",
    ]
)
bodies = st.sampled_from(
    [b'{"user": "%s"}' % user.encode() for user in (USER, BEN, "5", "x", "", "9" * 30)]
    + [b'{"users": ["%s", "%s"]}' % (USER.encode(), BEN.encode()), b'{"users": []}', b'{"users": [1]}']
    + [b'{"users": [%s]}' % b", ".join([b'"%s"' % USER.encode()] * many) for many in (700, 800)]
    + [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{",
        b'{"user": 1, "user": 2}',
        b'{"user": NaN}',
        b'{"user": null}',
        b"caf\xe9",
    ]
    + [
        b'{"user": "\\ud800"}',
        b'\xef\xbb\xbf{"user": "1"}',
        b'{"user": "%s", "more": 1}' % USER.encode(),
        b"[" * 5_000,
    ]
    + [
        b"altcha=x",
        b"altcha=%FF",
        b"act=x",
        b"&" * 300,
        b"a=b&a=c",
        b"altcha=" + b"A" * 3_000,
        b"\x00",
        b"+%",
        b"a=\xe9",
    ]
    + [b'--b\r\nContent-Disposition: form-data; name="altcha"\r\n\r\nx\r\n--b--\r\n']
    + [b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n--b--\r\n', b"--b"]
    + [b"x" * size for size in (MOST_BYTES, *[MOST_BYTES + 1] * 4, 70_000)]
)


USUAL = {
    "cast": (CAST, [BEARER], b'{"user": "%s"}' % USER.encode(), 201),
    "check": (CHECK, [BEARER], b'{"users": []}', 200),
    "press": (PRESS, [cookie(), FROM_HERE], b"", 303),
    "press, refused": (PRESS, [], b"", 401),
    "cast, refused": (CAST, [], b"", 401),
}
"""Target, fields, body and the status of the answer."""


@st.composite
def posts(draw: st.DrawFn) -> bytes:
    """A usual post with some parts of others."""
    target, lines, body, _ = draw(st.sampled_from([*USUAL.values()]))
    odd = draw(
        st.lists(st.sampled_from(["target", "sender", "body", "body", "framing", "version"]), max_size=2)
    )
    target = draw(targets) if "target" in odd else target
    lines = [*(draw(senders) if "sender" in odd else lines), *draw(st.lists(extras, max_size=2, unique=True))]
    body = draw(bodies) if "body" in odd else body
    if "framing" in odd:
        named = (
            "content-LENGTH:\t{} ",
            "Content-Length: 000{}",
            "Transfer-Encoding: chunked",
            "Connection: close",
        )
        lines.append(draw(st.sampled_from(named)).format(len(body)))
    if "Transfer-Encoding: chunked" in lines:
        pieces = cut(body, draw(st.lists(st.integers(0, 40), max_size=3)))
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"
    return post(target, *lines, body=body, version="1.0" if "version" in odd else "1.1")


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """The pieces in which some posts are sent, several times each."""
    times = draw(st.sampled_from([1, 1, 2, 5]))
    stream = b"".join(each * times for each in draw(st.lists(posts(), min_size=1, max_size=4))) + END
    return [*cut(stream, draw(st.lists(st.integers(0, len(stream)), max_size=4)))]


@pytest.mark.parametrize("count", [1_500, pytest.param(10_000, marks=pytest.mark.long)])
def test_every_conversation_is_answered_logged_and_counted_as_by_tornado(twins: Twins, count: int) -> None:
    met = Counter[int]()
    before = twins.counts()
    handled = len(twins.handled)
    for lines in twins.lines.values():
        lines.clear()

    @examples(count)
    @given(conversations())
    def alike(pieces: list[bytes]) -> None:
        twins.forget()
        direct, tornado = ([compared(each) for each in answers] for answers in twins.heard(pieces))
        assert direct == tornado
        direct_lines, tornado_lines = twins.lines.values()
        assert direct_lines == tornado_lines
        met.update(status for status, _, _ in direct)

    alike()
    votes, others = twins.votes()
    assert votes == others
    assert votes
    added = [
        {series: now[series] - was.get(series, 0) for series in now}
        for now, was in zip(twins.counts(), before, strict=True)
    ]
    assert added[0] == added[1]
    assert met.keys() >= {200, 201, 303, 400, 401, 403, 404, 409, 429}
    assert met.total() > affordable(count)
    assert len(twins.handled) - handled < 2 * met.total()  # or nothing was direct


@pytest.mark.parametrize("name", USUAL)
def test_a_usual_post_needs_no_handler_of_tornado(twins: Twins, name: str) -> None:
    target, lines, body, status = USUAL[name]
    twins.forget()
    twins.handled.clear()
    direct, tornado = twins.heard([post(target, *lines, body=body) + END])
    assert [each.status for each in direct] == [each.status for each in tornado] == [status, 200]
    assert twins.handled.count(target) == 1


UNUSUAL = {
    "chunks": post(CAST, BEARER, "Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "HTTP/1.0": post(CAST, BEARER, version="1.0"),
    "an expectation": post(CAST, BEARER, "Expect: 100-continue"),
    "a field twice": post(CAST, BEARER, "A: b", "a: c"),
    "a query": post(f"{CAST}?a=b", BEARER),
    "an escape": post(CAST.replace("bots", "%62ots"), BEARER),
    "a body that is too large": post(CAST, BEARER, body=b"x" * (MOST_BYTES + 1)),
    "another method": post(CAST, BEARER).replace(b"POST", b"PUT"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_post_goes_to_tornado(twins: Twins, name: str) -> None:
    twins.forget()
    twins.handled.clear()
    direct, tornado = ([compared(each) for each in answers] for answers in twins.heard([UNUSUAL[name], END]))
    assert direct == tornado
    assert len(twins.handled) == len(direct) + len(tornado)


def asked_in_turn(gateway: PeopleGateway, pieces: Sequence[bytes]) -> list[Answer]:
    """Send each piece once the one before it is answered, on one connection."""
    answers = []
    with connect(gateway.base_url) as connection:
        for piece in pieces:
            connection.sendall(piece)
            received = b""
            while True:
                more = connection.recv(65_536)
                assert more, received
                received += more
                head, end, body = received.partition(b"\r\n\r\n")
                length = re.search(rb"Content-Length: (\d+)", head)
                if end and length is not None and len(body) == int(length[1]):
                    break
            answers += answers_in(received)
    return answers


def test_a_post_with_a_known_head_is_answered_like_any_other(twins: Twins) -> None:
    twins.forget()
    usual, known = b'{"users": ["%s"]}' % USER.encode(), len(twins.server.known_posts)
    same = [usual, b'{"users": ["%s"]}' % b"x" * 18, usual[:-1] + b"\n", b"x" * len(usual), usual]
    pieces = [
        *(post(CHECK, BEARER, "X-Known: yes", body=body[: len(usual)].ljust(len(usual))) for body in same),
        post(CHECK.replace(BOT, OTHER_BOT), BEARER, "X-Known: yes", body=usual),  # the head is the same
        post(CHECK.replace(BOT, "%31" + BOT[1:]), BEARER, "X-Known: yes", body=usual),
        post(f"{CHECK}?a=b", BEARER, "X-Known: yes", body=usual),
        post("/manage/bots", BEARER, "X-Known: yes", body=usual),
        post(CHECK, BEARER, "X-Known: no", body=usual),
        post(CHECK, BEARER, "X-Known: yes", body=usual),
    ]
    direct, tornado = ([compared(each) for each in asked_in_turn(one, pieces)] for one in twins.gateways)
    assert direct == tornado
    assert [status for status, _, _ in direct][:6] == [200, 400, 400, 400, 200, 200]
    assert len(twins.server.known_posts) == known + 2


def test_heads_of_refused_posts_and_of_browsers_are_not_kept(twins: Twins) -> None:
    twins.forget()
    known = len(twins.server.known_posts)
    pieces = [post(CHECK, "Authorization: Bearer wrong"), post(PRESS, cookie(), FROM_HERE, "X-New: yes")]
    for each in twins.gateways:
        assert [answer.status for answer in asked_in_turn(each, pieces)] == [401, 303]
    assert len(twins.server.known_posts) == known


def test_a_known_head_is_refused_once_its_token_is_not_good_any_more(twins: Twins) -> None:
    twins.forget()
    pieces = [post(CHECK, BEARER, body=b'{"users": []}')] * 2
    assert [each.status for each in asked_in_turn(twins.direct, pieces)] == [200, 200]
    gateway = twins.direct
    for token, status in (("another", 401), (OPERATOR_TOKEN, 200)):
        operator = gateway.settings.operator.model_copy(update={"token": SecretStr(token)})
        changed = gateway.settings.model_copy(update={"operator": operator})
        gateway.on_loop(lambda changed=changed: gateway.gateway.reload(changed))  # type: ignore[misc]
        assert eventually(lambda status=status: asked_in_turn(gateway, pieces)[0].status == status)  # type: ignore[misc]


def fail_votes(twins: Twins, patch: pytest.MonkeyPatch, error: Exception) -> None:
    for each in twins.gateways:
        ledger = each.gateway.ledger

        def commit(events: Sequence[Event], usual: Callable[[Sequence[Event]], int] = ledger.commit) -> int:
            if any(isinstance(event, VoteCast) for event in events):
                raise error
            return usual(events)

        patch.setattr(ledger, "commit", commit)


@pytest.mark.parametrize("name", ["cast", "press"])
def test_a_bug_is_a_500_with_an_id_and_one_line_without_secrets(
    twins: Twins, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    target, lines, body, _ = USUAL[name]
    twins.forget()
    fail_votes(twins, monkeypatch, RuntimeError("a bug"))
    direct, tornado = twins.heard([post(target, *lines, body=body) + END])
    assert compared(direct[0]) == compared(tornado[0])
    assert direct[0].status == 500
    its_id = direct[0].named("x-request-id")
    assert its_id is not None
    assert its_id.encode() in direct[0].body
    told = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [each.getMessage() for each in told] == [f"a request failed: POST {target}"] * 2
    assert not any(secret in caplog.text for secret in (OPERATOR_TOKEN, SESSION))


@pytest.mark.parametrize("name", ["cast", "press"])
def test_a_journal_that_takes_no_writes_is_a_503(
    twins: Twins, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, lines, body, _ = USUAL[name]
    twins.forget()
    fail_votes(twins, monkeypatch, Unavailable("no space left on the disk"))
    direct, tornado = twins.heard([post(target, *lines, body=body) + END])
    assert compared(direct[0]) == compared(tornado[0])
    assert (direct[0].status, direct[0].named("retry-after")) == (503, "5")


def test_a_body_that_never_comes_whole_is_not_acted_on(twins: Twins) -> None:
    twins.forget()
    before = twins.votes()
    body = b'{"user": "%s"}' % USER.encode()
    whole = post(CAST, BEARER, body=body)
    for each in twins.gateways:
        for end in (len(whole) - 1, len(whole) - len(body)):
            assert converse(each.base_url, [whole[:end]], ends=True) == b""
    assert twins.votes() == before
    assert all(each.done("GET", "/debug/overview.json") for each in twins.gateways)


def test_a_vote_counts_and_is_logged_although_its_client_has_left(
    twins: Twins, caplog: pytest.LogCaptureFixture
) -> None:
    twins.forget()
    before, lines = twins.votes(), [len(each) for each in twins.lines.values()]
    for each in twins.gateways:
        with connect(each.base_url) as connection:
            connection.sendall(post(CAST, BEARER, body=b'{"user": "%s"}' % USER.encode()))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert eventually(lambda: twins.votes()[0] != before[0] and twins.votes()[0] == twins.votes()[1])
    assert eventually(lambda: [len(each) for each in twins.lines.values()] == [many + 1 for many in lines])
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
