"""The address guard counts wrong operator tokens as it counts wrong keys. The right one always works."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from requests import Response

from tests.support.contract import BOT_PATH, INVALID_KEY, STATS, TOO_MANY, Limit, limit, refusal
from tests.support.gateways import OPERATOR_TOKEN, WAIT_SECONDS, ThreadGateway, eventually, running

FAILURES = 3
FEW_FAILURES = {"limits.failures.requests": FAILURES, "limits.failures.window_seconds": 300}
SITE, STRANGER, IPV6 = "192.0.2.1", "192.0.2.2", "2001:db8:0:a:b::1"
WRONG_TOKEN = (401, "Invalid operator token.")
RIGHT, WRONG = f"Bearer {OPERATOR_TOKEN}", "Bearer a-guess-at-the-token"


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway behind a trusted proxy, on this machine, that refuses an address after a few failures."""
    with running(tmp_path / "data", **FEW_FAILURES, **{"server.trusted_proxies": "127.0.0.1"}) as gateway:
        yield gateway


def ask(
    gateway: ThreadGateway, authorization: str | None, address: str, path: str = "/debug/overview.json"
) -> Response:
    """An operator's call as the proxy announces it."""
    headers = {"X-Forwarded-For": address}
    if authorization is not None:
        headers["Authorization"] = authorization
    return gateway.request("GET", path, headers=headers)


def guess(gateway: ThreadGateway, address: str, times: int = FAILURES) -> None:
    for _ in range(times):
        assert refusal(ask(gateway, WRONG, address)) == WRONG_TOKEN


def test_after_the_failures_that_it_may_have_the_further_ones_of_an_address_are_429(
    proxied: ThreadGateway,
) -> None:
    guess(proxied, STRANGER)

    for path in ("/debug/overview.json", "/manage/bots", BOT_PATH):
        for authorization in (WRONG, None):
            answer = ask(proxied, authorization, STRANGER, path)
            assert refusal(answer) == TOO_MANY
            assert limit(answer) == Limit(FAILURES, 0, 300)
            assert answer.headers["retry-after"] == "300"


def test_the_default_is_300_failures_in_5_minutes(gateway: ThreadGateway) -> None:
    assert refusal(gateway.request("GET", "/manage/bots")) == (401, "The operator token is required.")
    assert limit(gateway.voters(None)) == Limit(300, 298, 300)


def test_wrong_tokens_and_wrong_keys_of_an_address_are_counted_together(proxied: ThreadGateway) -> None:
    proxied.list_bot()
    guess(proxied, STRANGER, FAILURES - 1)
    assert refusal(proxied.voters("wrong", **{"X-Forwarded-For": STRANGER})) == INVALID_KEY

    assert refusal(ask(proxied, WRONG, STRANGER)) == TOO_MANY
    assert refusal(proxied.voters("wrong", **{"X-Forwarded-For": STRANGER})) == TOO_MANY


def test_a_refused_address_is_heard_again_when_its_window_ends(proxied: ThreadGateway) -> None:
    guess(proxied, STRANGER)

    proxied.clock.advance_ms(299_999)
    assert refusal(ask(proxied, WRONG, STRANGER)) == TOO_MANY

    proxied.clock.advance_ms(1)
    assert refusal(ask(proxied, WRONG, STRANGER)) == WRONG_TOKEN


def test_an_operator_whose_address_strangers_share_is_served_and_their_guesses_are_not_answered(
    proxied: ThreadGateway,
) -> None:
    guess(proxied, SITE)

    assert refusal(ask(proxied, WRONG, SITE)) == TOO_MANY
    assert refusal(ask(proxied, None, SITE)) == TOO_MANY
    assert ask(proxied, RIGHT, SITE).status_code == 200


def test_a_wrong_request_with_the_right_operator_token_is_no_failure(proxied: ThreadGateway) -> None:
    for _ in range(FAILURES + 1):
        assert ask(proxied, RIGHT, SITE, "/manage/bots/1").status_code == 404

    assert refusal(ask(proxied, WRONG, SITE)) == WRONG_TOKEN


def test_the_peers_of_a_unix_socket_are_counted_as_one_address(tmp_path: Path) -> None:
    path = tmp_path / "socket"

    def status(authorization: str) -> int:
        head = f"GET /debug/overview.json HTTP/1.1\r\nHost: local\r\nAuthorization: {authorization}\r\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_SECONDS)
            connection.connect(str(path))
            connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
            return int(connection.makefile("rb").readline().split()[1])

    with running(tmp_path / "data", **FEW_FAILURES, **{"server.unix_socket": path}):
        sent = [RIGHT, *[WRONG] * (FAILURES + 1), RIGHT]
        assert [status(each) for each in sent] == [200, *[401] * FAILURES, 429, 200]


@pytest.mark.parametrize(
    ("address", "shown"), [(STRANGER, STRANGER), (IPV6, "2001:db8::/56"), (f"::ffff:{STRANGER}", STRANGER)]
)
def test_the_log_warns_with_the_address_when_it_begins_to_be_refused_and_says_when_it_ends(
    proxied: ThreadGateway, caplog: pytest.LogCaptureFixture, address: str, shown: str
) -> None:
    def lines() -> list[str]:
        told = [record for record in caplog.records if "the address" in record.getMessage()]
        assert {record.levelno for record in told} <= {logging.WARNING, logging.INFO}
        return [record.getMessage() for record in told]

    guess(proxied, address, FAILURES - 1)
    proxied.advance(20)
    assert lines() == []

    guess(proxied, address, 1)
    for _ in range(5):
        ask(proxied, WRONG, address)
    began = f"the address {shown} is refused for 280 s: {FAILURES} of its requests failed within 20 s"
    assert lines() == [began]

    proxied.advance(280)
    assert eventually(lambda: lines()[1:]) == [f"the address {shown} is no longer refused"]
    assert "guess" not in caplog.text


def test_an_address_that_fails_with_keys_is_logged_too(
    proxied: ThreadGateway, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(FAILURES):
        proxied.request("PATCH", STATS, headers={"X-Forwarded-For": STRANGER, "Authorization": "wrong"})

    assert f"the address {STRANGER} is refused for 300 s" in caplog.text
