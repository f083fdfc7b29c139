"""wire/parser.py: a head is recognised by its bytes, and only after it led to a success.

The differential tests show that recognised and parsed heads get the same answers.
"""

import re
import socket

import pytest

from tests.support.contract import limit
from tests.support.gateways import BOT, OTHER_BOT, USER, WAIT_SECONDS, ThreadGateway
from tests.support.raw_http_client import calling, request
from wire.parser import HEADS, KnownHeads

TARGET = b"/bots/1/voters/2"
TAIL = b" HTTP/1.1\r\nHost: a\r\n\r\n"
REQUEST = b"GET " + TARGET + TAIL


def test_what_follows_the_target_is_kept_with_peer_and_caller() -> None:
    heads = KnownHeads()
    heads.learn(REQUEST, TARGET, "192.0.2.1", "caller")
    assert heads == {(TAIL, "192.0.2.1"): "caller"}


@pytest.mark.parametrize(
    "data",
    [
        REQUEST + REQUEST,
        REQUEST + b"GET",
        b"\r\n" + REQUEST,
        REQUEST[1:],
        b"GET  " + TARGET + TAIL,
        b"GET " + TARGET + b" HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET " + TARGET + b"?" + TAIL,
    ],
)
def test_bytes_that_are_not_one_request_with_that_target_teach_nothing(data: bytes) -> None:
    heads = KnownHeads()
    heads.learn(data, TARGET, "192.0.2.1", "caller")
    assert not heads


def test_only_so_many_are_kept_and_the_first_to_come_goes_first() -> None:
    heads = KnownHeads()
    for number in range(HEADS + 1):
        tail = b" HTTP/1.1\r\nHost: %d\r\n\r\n" % number
        heads.learn(b"GET " + TARGET + tail, TARGET, "192.0.2.1", number)
    assert len(heads) == HEADS
    assert min(heads.values()) == 1


def test_a_known_head_is_refused_once_its_key_is_not_good_any_more(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    assert [gateway.voters(key).status_code for _ in range(3)] == [200, 200, 200]

    (key_id,) = [each["id"] for each in gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"]]
    gateway.done("DELETE", f"/manage/bots/{BOT}/keys/{key_id}")

    refused = gateway.voters(key)
    assert (refused.status_code, refused.json()["error"]) == (401, "Invalid API key.")


def test_a_known_head_opens_no_other_bot(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    gateway.list_bot(OTHER_BOT)
    assert [gateway.voters(key).status_code for _ in range(2)] == [200, 200]

    assert gateway.voters(key, bot=OTHER_BOT).status_code == 401
    assert gateway.voters(key, bot="111").status_code == 404


def test_a_known_head_is_counted_like_any_other(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    left = [limit(gateway.voters(key, user=str(int(USER) + asked))).remaining for asked in range(4)]
    assert left == [99, 98, 97, 96]


@pytest.mark.parametrize("user", ["1", "0" * 18, "%35" * 18, USER + "?x=1", "9" * 20])
def test_the_target_behind_a_known_head_is_judged_anew(gateway: ThreadGateway, user: str) -> None:
    key = gateway.list_bot()
    assert gateway.voters(key).status_code == 200
    expected = 400 if user.isdigit() else 200

    assert gateway.request(
        "GET", f"/bots/{BOT}/voters/{user}", headers={"Authorization": key}
    ).status_code == (expected)


def test_a_target_with_a_trailing_slash_is_answered_without_the_application(
    gateway: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = gateway.list_bot()
    monkeypatch.setattr("serving.application.EndpointHandler.get", None)  # a request that reaches it fails
    with calling(gateway.base_url) as caller:

        def status_of(end: str) -> int:
            target = f"/bots/{BOT}/voters/{USER}{end}"
            return caller.ask(request("GET", target, f"Authorization: {key}")).status

        assert [status_of(end) for end in ("/", "/", "", "/")] == [200] * 4
        assert status_of("?x=1") != 200


def asked(gateway: ThreadGateway, *pieces: str) -> list[int]:
    """Return the statuses of the answers to each piece, sent once the one before it has arrived."""
    host, port = gateway.base_url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), WAIT_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece.encode())
            gateway.request("GET", "/healthz")  # everything that was sent before it is read
        connection.shutdown(socket.SHUT_WR)
        while read := connection.recv(65_536):
            received += read
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]


def test_a_head_inside_a_header_of_another_is_not_learned(gateway: ThreadGateway) -> None:
    start = f"GET /bots/{BOT}/voters/{USER} HTTP/1.1\r\n"
    inner = f"{start}Host: y\r\n\r\n"

    assert asked(gateway, f"{start}Authorization: {gateway.list_bot()}\r\nX-Foo: ", inner) == [200]
    assert asked(gateway, inner) == [401]


def test_what_comes_behind_an_offer_to_upgrade_is_not_learned_for_who_came_before(
    gateway: ThreadGateway,
) -> None:
    start = f"GET /bots/{BOT}/voters/{USER} HTTP/1.1\r\n"
    known = f"{start}Host: a\r\nAuthorization: {gateway.list_bot()}\r\n\r\n"
    upgrade = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
    with_body = f"{start}Host: q\r\nContent-Length: 5\r\n\r\n"

    assert asked(gateway, known + upgrade, with_body, "hello") == [200, 200, 401]
    assert asked(gateway, with_body, "hello") == [401]


@pytest.mark.parametrize("size", [17_000, 60_000])
def test_a_head_that_is_too_long_is_refused_whoever_sends_it(gateway: ThreadGateway, size: int) -> None:
    key = gateway.list_bot()
    assert gateway.voters(key, **{"X-Long": "x" * size}).status_code == 431
