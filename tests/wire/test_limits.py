"""The limits of one client: the bytes and fields of a head, the size of a body, the requests at once."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.contract import STATS, Served, set_webhook
from tests.support.gateways import BOT, USER, eventually, running
from tests.support.raw_http_client import HEALTH, OPERATOR, TOO_LARGE, Caller, calling, chunked, request
from tests.support.webhook_receiver import Receiver, status

HEADER_BYTES, HEADERS, BODY_BYTES = 10_000, 20, 65_536
DISCARD_BYTES = 4 << 20
TEST = request("POST", f"/manage/bots/{BOT}/webhook/test", OPERATOR, body=b'{"user": "777777777777777777"}')


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {
        "server.max_header_bytes": HEADER_BYTES,
        "server.max_headers": HEADERS,
        "limits.failures.requests": 1_000_000,
    }
    with running(tmp_path_factory.mktemp("limits") / "data", **limits) as gateway:
        yield Served(gateway, gateway.list_bot())


def padded(method: str, target: str, size: int, *lines: str) -> bytes:
    """Return a head of exactly so many bytes."""
    empty = request(method, target, *lines, "X-Padding: ")
    return request(method, target, *lines, f"X-Padding: {'x' * (size - len(empty))}")


def with_body(key: str, body: bytes) -> bytes:
    return request("PATCH", STATS, f"Authorization: {key}", body=body)


def in_chunks(key: str, body: bytes) -> bytes:
    head = request("PATCH", STATS, f"Authorization: {key}", "Transfer-Encoding: chunked")
    return head + chunked(body[start : start + 10_000] for start in range(0, len(body), 10_000))


@pytest.mark.parametrize("piece", [HEADER_BYTES + 1, 4_096, 1_000, 64])
def test_a_head_may_have_as_many_bytes_as_the_setting_says(caller: Caller, piece: int) -> None:
    caller.send_slowly(padded("DELETE", "/healthz", HEADER_BYTES), piece)
    answer = caller.answer()
    assert (answer.status, answer.closes) == (405, False)
    assert caller.ask(HEALTH).status == 200


@pytest.mark.parametrize("piece", [HEADER_BYTES + 1, 4_096, 1_000, 64])
def test_a_head_with_a_byte_more_is_431(caller: Caller, piece: int) -> None:
    caller.send_slowly(padded("DELETE", "/healthz", HEADER_BYTES + 1), piece)
    answer = caller.answer()
    assert answer.refusal == (431, TOO_LARGE)
    assert answer.closes
    assert caller.at_end()


@pytest.mark.parametrize(
    "endless",
    [
        b"GET /",
        b"GET /healthz HTTP/1.1\r\nX-Endless: ",
        b"GET /healthz HTTP/1.1\r\n",
        b"GET /healthz HTTP/1.1\r\nX:",
    ],
    ids=["target", "value", "name", "white space"],
)
def test_a_head_without_an_end_is_431_as_soon_as_it_is_too_large(caller: Caller, endless: bytes) -> None:
    filler = b" " if endless.endswith(b"X:") else b"x"
    caller.send(endless + filler * (HEADER_BYTES + 1 - len(endless)))
    assert caller.answer().refusal == (431, TOO_LARGE)
    assert caller.at_end()


@pytest.mark.parametrize("before", [b"", HEALTH], ids=["first", "second"])
@pytest.mark.parametrize("piece", [100_000, 1_000])
def test_empty_lines_before_a_request_are_of_its_head(caller: Caller, before: bytes, piece: int) -> None:
    caller.send(before)
    if before:
        assert caller.answer().status == 200
    caller.send_slowly(b"\r\n" * HEADER_BYTES, piece)
    assert caller.answer().refusal == (431, TOO_LARGE)
    assert caller.at_end()


def test_a_few_empty_lines_before_a_request_are_ignored(served: Served, caller: Caller) -> None:
    check = request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {served.key}")
    for data in (HEALTH, check, padded("DELETE", "/healthz", HEADER_BYTES)):
        for _ in range(3):
            caller.send_slowly(b"\r\n" * 100, 2)
            assert caller.ask(data).status in {200, 405}


@pytest.mark.parametrize("first", [4_090, 8_180, 20_000])
def test_a_head_behind_a_body_is_measured_alone(caller: Caller, first: int) -> None:
    empty = request("POST", "/healthz", body=b"")
    body = request("POST", "/healthz", body=b"x" * (first - len(empty) - 3))
    caller.send(body + padded("DELETE", "/healthz", HEADER_BYTES))
    assert [caller.answer().status for _ in range(2)] == [405, 405]


def test_a_head_may_have_as_many_fields_as_the_setting_says(served: Served, caller: Caller) -> None:
    for target, expected in [("/healthz", 200), (f"/bots/{BOT}/voters/{USER}", 401)]:
        fields = [f"X-Field-{number}: x" for number in range(HEADERS - 1)]
        assert caller.ask(request("GET", target, *fields)).status == expected
    caller.send(request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {served.key}", *fields))
    answer = caller.answer()
    assert answer.refusal == (431, TOO_LARGE)
    assert answer.headers["ratelimit-limit"] == "1000000"
    assert caller.at_end()


def test_the_smallest_limit_is_a_limit_of_vote_checks_too(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"server.max_header_bytes": 4_096}) as gateway:
        authorization = f"Authorization: {gateway.list_bot()}"
        target = f"/bots/{BOT}/voters/{USER}"
        with calling(gateway.base_url) as caller:
            assert caller.ask(padded("GET", target, 4_090, authorization)).status == 200
            assert caller.ask(padded("GET", target, 4_100, authorization)).refusal == (431, TOO_LARGE)


@pytest.mark.parametrize("framed", [with_body, in_chunks])
def test_a_body_over_the_limit_is_413_and_its_connection_goes_on(
    served: Served, caller: Caller, framed: Callable[[str, bytes], bytes]
) -> None:
    assert caller.ask(framed(served.key, b" " * BODY_BYTES)).status == 400
    answer = caller.ask(framed(served.key, b" " * (BODY_BYTES + 1)))
    assert (answer.status, answer.closes) == (413, False)
    assert caller.ask(HEALTH).status == 200


def test_a_body_that_is_too_long_to_be_dropped_is_413_before_it_comes(served: Served, caller: Caller) -> None:
    length = f"Content-Length: {DISCARD_BYTES + 1}"
    answer = caller.ask(request("PATCH", STATS, f"Authorization: {served.key}", length))
    assert (answer.status, answer.closes) == (413, True)
    assert caller.at_end()


def test_chunks_that_are_too_long_to_be_dropped_are_413_while_they_come(
    served: Served, caller: Caller
) -> None:
    caller.send(request("PATCH", STATS, f"Authorization: {served.key}", "Transfer-Encoding: chunked"))
    caller.send_slowly(b"10000\r\n%b\r\n" % (b"x" * 65_536) * 100, 65_536)
    answer = caller.answer()
    assert (answer.status, answer.closes) == (413, True)
    assert caller.at_end()


def test_however_many_requests_wait_on_a_connection_all_are_answered(
    served: Served, receiver: Receiver, caller: Caller
) -> None:
    set_webhook(served.gateway, receiver.url)

    def held(handler: BaseHTTPRequestHandler) -> None:
        receiver.released.wait()
        status(204)(handler)

    receiver.default = held
    caller.send(TEST + HEALTH * 500)
    eventually(lambda: receiver.received)
    receiver.released.set()
    answers = [caller.answer() for _ in range(501)]
    assert b'"state"' in answers[0].body
    assert {(answer.status, answer.closes) for answer in answers} == {(200, False)}
    assert caller.ask(HEALTH).status == 200
