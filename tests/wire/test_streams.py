"""Requests and answers one after the other on a connection: framing, order, and its end."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.contract import NO_COUNT, STATS, Served, serving, set_webhook
from tests.support.gateways import BOT, OTHER_USER, USER, ThreadGateway, eventually
from tests.support.raw_http_client import HEALTH, OPERATOR, Answer, Caller, calling, chunked, request
from tests.support.webhook_receiver import Receiver, status

TEST = request("POST", f"/manage/bots/{BOT}/webhook/test", OPERATOR, body=b'{"user": "777777777777777777"}')
BACKUP = request("GET", "/debug/snapshot", OPERATOR)
CHECK = f"/bots/{BOT}/voters/{USER}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("streams") / "data") as served:
        served.gateway.done(
            "PUT", f"/manage/bots/{BOT}/limits", {"voters": {"requests": 10_000, "window_seconds": 300}}
        )
        yield served


@pytest.fixture
def key(served: Served) -> str:
    return f"Authorization: {served.key}"


def test_a_connection_serves_many_requests(caller: Caller, key: str) -> None:
    asked = [request("GET", CHECK, key), HEALTH, request("PATCH", STATS, key, body=b"{}")]
    for _ in range(50):
        answers = [caller.ask(each) for each in asked]
        assert [answer.status for answer in answers] == [200, 200, 400]
        assert not any(answer.closes for answer in answers)


def test_answers_come_in_the_order_of_their_requests_however_long_one_takes(
    served: Served, receiver: Receiver, caller: Caller, key: str
) -> None:
    def held(handler: BaseHTTPRequestHandler) -> None:
        receiver.released.wait()
        status(204)(handler)

    receiver.default = held
    set_webhook(served.gateway, receiver.url)
    fast = [request("GET", f"/bots/{BOT}/voters/{user}", key) for user in (USER, "1")]
    caller.send(fast[0] + TEST + fast[1] + HEALTH)
    eventually(lambda: receiver.received)
    caller.send(fast[0] + request("GET", "/nowhere"))
    first = caller.answer()
    receiver.released.set()
    answers = [first, *(caller.answer() for _ in range(5))]
    assert [answer.status for answer in answers] == [200, 200, 400, 200, 200, 404]
    assert b'"state":"delivered"' in answers[1].body
    assert answers[4].body == first.body


@pytest.mark.parametrize("target", ["/healthz", CHECK, "/docs", "/debug/snapshot", "/nowhere"])
def test_a_head_is_answered_like_a_get_without_its_body(caller: Caller, served: Served, target: str) -> None:
    authorization = f"Authorization: {served.token(target)}"
    head = caller.ask(request("HEAD", target, authorization))
    get = caller.ask(request("GET", target, authorization))
    assert (head.body, head.closes) == (b"", False)
    if target == CHECK:  # as for any method but GET, OPTIONS tells which there are
        assert head.status in {200, 405}
    else:
        assert head.status == get.status
        assert head.headers.get("content-length") == get.headers.get("content-length")


@pytest.mark.parametrize("target", ["/healthz", CHECK])
def test_an_old_client_gets_one_answer_unless_it_asks_to_be_kept(
    caller: Caller, key: str, target: str
) -> None:
    kept = caller.ask(request("GET", target, key, "Connection: keep-alive", version="1.0"))
    assert (kept.status, kept.headers["connection"]) == (200, "keep-alive")
    assert caller.ask(request("GET", target, key)).status == 200
    answer = caller.ask(request("GET", target, key, version="1.0") + HEALTH)
    assert (answer.version, answer.status, answer.closes) == ("HTTP/1.1", 200, True)
    assert caller.at_end()


@pytest.mark.parametrize("target", ["/healthz", CHECK])
@pytest.mark.parametrize("option", ["close", "Close", "x, close"])
def test_a_client_that_asks_for_the_end_gets_one_answer(
    caller: Caller, key: str, target: str, option: str
) -> None:
    caller.send(request("GET", target, key, f"Connection: {option}") + HEALTH)
    (answer,) = caller.answers()
    assert (answer.status, answer.closes) == (200, True)


def test_a_client_that_waits_is_told_to_continue(caller: Caller, key: str) -> None:
    head = request("PATCH", STATS, key, "Content-Length: 2", "Expect: 100-Continue")
    interim = caller.ask(head)
    assert (interim.status, interim.names) == (100, [])
    assert caller.ask(b"{}").refusal == NO_COUNT
    assert caller.ask(HEALTH).status == 200


def test_a_client_that_has_sent_its_body_or_is_old_is_not_told_to_continue(caller: Caller, key: str) -> None:
    assert caller.ask(request("PATCH", STATS, key, "Expect: 100-continue", body=b"{}")).refusal == NO_COUNT
    caller.send(request("PATCH", STATS, key, "Expect: 100-continue", "Content-Length: 2", version="1.0"))
    assert caller.ask(b"{}").refusal == NO_COUNT


def test_a_client_whose_body_is_not_wanted_is_told_so_at_once(caller: Caller, key: str) -> None:
    caller.send(request("PATCH", STATS, key, "Content-Length: 5000000", "Expect: 100-continue"))
    (answer,) = caller.answers()
    assert (answer.status, answer.closes) == (413, True)


def test_a_client_waits_its_turn_to_be_told_to_continue(
    served: Served, receiver: Receiver, caller: Caller, key: str
) -> None:
    set_webhook(served.gateway, receiver.url)
    caller.send(TEST + request("PATCH", STATS, key, "Content-Length: 2", "Expect: 100-continue"))
    assert [caller.answer().status for _ in range(2)] == [200, 100]
    assert caller.ask(b"{}").refusal == NO_COUNT


def test_a_body_in_chunks_may_be_split_anywhere(served: Served, key: str) -> None:
    head = request("PATCH", STATS, key, "Transfer-Encoding: chunked")
    data = head + chunked([b'{"server', b'_count": ', b"1_"], b"Trailer: x\r\n") + HEALTH
    with calling(served.gateway.base_url) as whole:
        whole.send(data)
        expected = [whole.answer().body for _ in range(2)]
    for place in range(len(head) - 4, len(data)):
        with calling(served.gateway.base_url) as caller:
            caller.send(data[:place])
            served.gateway.on_loop(lambda: None)
            caller.send(data[place:])
            assert [caller.answer().body for _ in range(2)] == expected


def test_requests_that_come_byte_by_byte_are_answered(caller: Caller, key: str) -> None:
    caller.send_slowly(request("PATCH", STATS, key, body=b"{}"))
    assert caller.answer().refusal == NO_COUNT
    caller.send_slowly(request("GET", CHECK, key))
    assert caller.answer().status == 200


def test_an_answer_without_content_has_no_body_and_no_length(caller: Caller) -> None:
    answer = caller.ask(request("OPTIONS", "/healthz"))
    assert answer.status == 204
    assert not answer.headers.keys() & {"content-length", "transfer-encoding", "content-type"}
    assert caller.ask(HEALTH).status == 200


def test_a_streamed_answer_is_in_chunks_or_ends_with_the_connection(caller: Caller) -> None:
    new = caller.ask(BACKUP)
    assert (new.status, new.headers["transfer-encoding"], new.closes) == (200, "chunked", False)
    keep = "Connection: keep-alive"
    old = caller.ask(request("GET", "/debug/snapshot", OPERATOR, keep, version="1.0") + HEALTH)
    assert (old.status, old.closes) == (200, True)
    assert not old.headers.keys() & {"content-length", "transfer-encoding"}
    assert len(old.body) == len(new.body) > 1_000
    assert caller.at_end()


@pytest.mark.parametrize(
    "offer",
    [
        ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
        ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
        ["Upgrade: websocket"],
    ],
    ids=["websocket", "h2c", "no connection"],
)
@pytest.mark.parametrize("target", ["/healthz", CHECK])
def test_an_offer_to_upgrade_is_ignored(caller: Caller, key: str, target: str, offer: list[str]) -> None:
    caller.send(request("GET", target, key, *offer) + request("GET", "/nowhere") + HEALTH)
    answers = [caller.answer() for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 404, 200]
    assert not any(answer.closes or "upgrade" in answer.headers for answer in answers)


@pytest.mark.parametrize("framing", ["Content-Length: 2", "Transfer-Encoding: chunked"])
def test_an_offer_to_upgrade_with_a_body_is_ignored(caller: Caller, key: str, framing: str) -> None:
    body = b"{}" if framing.startswith("C") else chunked([b"{}"])
    offer = request("PATCH", STATS, key, framing, "Connection: Upgrade", "Upgrade: websocket")
    caller.send(offer + body + request("GET", "/nowhere") + HEALTH)
    answers = [caller.answer() for _ in range(3)]
    assert answers[0].refusal == NO_COUNT
    assert [answer.status for answer in answers] == [400, 404, 200]


@pytest.mark.parametrize("target", ["/healthz", CHECK])
def test_connect_is_405_and_nothing_behind_it_is_read(caller: Caller, target: str) -> None:
    caller.send(request("CONNECT", target) + HEALTH)
    (answer,) = caller.answers()
    assert answer.refusal == (405, "Method not allowed. Use GET.")
    assert answer.closes


def test_connect_to_another_host_is_refused_and_nothing_behind_it_is_read(caller: Caller) -> None:
    caller.send(request("CONNECT", "other:443") + HEALTH)
    (answer,) = caller.answers()
    assert answer.status in {400, 405}
    assert answer.closes


def test_a_method_that_is_none_of_http_is_501(caller: Caller) -> None:
    caller.send(request("BREW", "/healthz") + HEALTH)
    (answer,) = caller.answers()
    assert answer.refusal[0] == 501


def shape(answer: Answer) -> tuple[int, list[str], dict[str, str], bytes]:
    """Return everything that two answers to the same question must have in common."""
    own = {"date", "x-request-id", "ratelimit-remaining"}
    assert len(answer.headers["x-request-id"]) == 16
    headers = {name: value for name, value in answer.headers.items() if name not in own}
    return answer.status, sorted(answer.names), headers, answer.body


@pytest.mark.parametrize(
    ("bot", "user", "authorized"),
    [(BOT, USER, True), (BOT, OTHER_USER, True), (BOT, "1", True), (BOT, USER, False), ("1", USER, True)],
    ids=["voted", "not voted", "no user", "no key", "no bot"],
)
def test_both_ways_to_answer_a_vote_check_look_the_same(
    served: Served, key: str, bot: str, user: str, authorized: bool
) -> None:
    """Tornado gives the second answer: a request with an Expect field is not answered directly."""
    lines = [key] if authorized else []
    target = f"/bots/{bot}/voters/{user}"
    with calling(served.gateway.base_url) as caller:
        direct = [caller.ask(request("GET", target, *lines)) for _ in range(2)]
        tornado = caller.ask(request("GET", target, *lines, "Expect: nothing"))
    assert shape(direct[0]) == shape(direct[1]) == shape(tornado)
    assert "Content-Length" in direct[0].names


def test_both_ways_count_against_the_same_limit(gateway: ThreadGateway) -> None:
    key = f"Authorization: {gateway.list_bot()}"
    with calling(gateway.base_url) as caller:
        left = [
            int(caller.ask(request("GET", CHECK, key, *extra)).headers["ratelimit-remaining"])
            for extra in ([], ["Expect: x"], [], ["Expect: x"])
        ]
    assert left == [99, 98, 97, 96]
