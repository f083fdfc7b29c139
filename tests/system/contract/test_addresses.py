"""Callers without a proven key: counted by address, and refused when they keep failing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from requests import Response

from tests.support.contract import (
    BOT_NOT_FOUND,
    BOT_PATH,
    HEADER_REQUIRED,
    INVALID_KEY,
    STATS,
    TOO_MANY,
    Limit,
    limit,
    refusal,
)
from tests.support.gateways import BOT, OTHER_BOT, USER, ThreadGateway, running

FAILURES = 3
FEW_FAILURES = {"limits.failures.requests": FAILURES, "limits.failures.window_seconds": 300}
CLIENT, NEIGHBOUR = "192.0.2.1", "192.0.2.2"
VOTERS = f"/bots/{BOT}/voters/{USER}"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway that refuses an address after a few failures."""
    with running(tmp_path / "data", **FEW_FAILURES) as gateway:
        yield gateway


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[ThreadGateway]:
    """The same behind trusted proxies: this machine, and the network 10.0.0.0/8."""
    proxies = {"server.trusted_proxies": "127.0.0.1,10.0.0.0/8"}
    with running(tmp_path / "data", **FEW_FAILURES, **proxies) as gateway:
        yield gateway


def ask(gateway: ThreadGateway, key: str | None, forwarded_for: str) -> Response:
    """Send a request with the header of a proxy."""
    return gateway.voters(key, **{"X-Forwarded-For": forwarded_for})


def fail(gateway: ThreadGateway, times: int = FAILURES, forwarded_for: str | None = None) -> None:
    for _ in range(times):
        response = gateway.voters(None) if forwarded_for is None else ask(gateway, None, forwarded_for)
        assert refusal(response) == HEADER_REQUIRED


def refused(gateway: ThreadGateway, forwarded_for: str) -> bool:
    """Return true if the client of that header is refused for its failures."""
    return ask(gateway, None, forwarded_for).status_code == 429


def test_an_address_may_fail_300_times_in_5_minutes(gateway: ThreadGateway) -> None:
    response = gateway.voters(None)

    assert limit(response) == Limit(300, 299, 300)
    assert response.headers["ratelimit-policy"] == "300;w=300"


def test_before_a_key_is_proven_the_headers_count_the_failures_of_the_address(guarded: ThreadGateway) -> None:
    key = guarded.list_bot()

    answers = [
        guarded.voters(None),
        guarded.stats("wrong", {}),
        guarded.voters(key, bot=OTHER_BOT),
        guarded.voters("wrong"),
    ]

    assert [refusal(answer) for answer in answers] == [HEADER_REQUIRED, INVALID_KEY, BOT_NOT_FOUND, TOO_MANY]
    assert [limit(answer) for answer in answers] == [Limit(3, left, 300) for left in (2, 1, 0, 0)]


@pytest.mark.parametrize(
    "failing",
    [
        lambda gateway, _: gateway.voters(None),
        lambda gateway, _: gateway.stats("wrong", {}),
        lambda gateway, key: gateway.voters(key, bot=OTHER_BOT),
    ],
    ids=["no key", "a wrong key", "an unknown bot"],
)
def test_further_failures_of_an_address_that_keeps_failing_are_429(
    guarded: ThreadGateway, failing: Callable[[ThreadGateway, str], Response]
) -> None:
    key = guarded.list_bot()
    fail(guarded)

    response = failing(guarded, key)

    assert refusal(response) == TOO_MANY
    assert response.headers["retry-after"] == "300"


def test_a_valid_key_is_served_at_an_address_where_another_bot_keeps_failing(guarded: ThreadGateway) -> None:
    key = guarded.list_bot()
    fail(guarded, FAILURES)

    for _ in range(3):  # from the second time on, the server knows the head of the vote check
        assert guarded.voters(key).status_code == 200
    assert guarded.stats(key, {"command_count": 5}).status_code == 200
    assert guarded.stats(key, {"command_count": -1}).status_code == 400
    assert limit(guarded.voters(key)) == Limit(100, 96, 300)


def test_a_request_that_cannot_fail_is_served_at_a_refused_address(guarded: ThreadGateway) -> None:
    fail(guarded)

    response = guarded.request("OPTIONS", STATS)

    assert response.status_code == 204
    assert limit(response) == Limit(3, 0, 300)


@pytest.mark.parametrize(("method", "path"), [("POST", VOTERS), ("GET", STATS)])
def test_a_refused_address_is_refused_for_every_method(
    guarded: ThreadGateway, method: str, path: str
) -> None:
    fail(guarded)

    response = guarded.request(method, path)

    assert refusal(response) == TOO_MANY
    assert limit(response) == Limit(3, 0, 300)


def test_a_refused_address_is_served_again_when_its_window_ends(guarded: ThreadGateway) -> None:
    guarded.list_bot()
    fail(guarded, 1)
    guarded.advance(10)
    fail(guarded, 2)

    guarded.clock.advance_ms(289_999)
    assert refusal(guarded.voters("wrong")) == TOO_MANY

    guarded.clock.advance_ms(1)
    assert refusal(guarded.voters("wrong")) == INVALID_KEY


@pytest.mark.parametrize(
    "failing",
    [
        lambda gateway, key: gateway.stats(key, {}),
        lambda gateway, key: gateway.stats(key, b"x" * 65_537),
        lambda gateway, key: gateway.voters(key, user="1"),
        lambda gateway, _: gateway.request("POST", VOTERS),
    ],
    ids=["400 of stats", "413 of stats", "400 of voters", "405"],
)
def test_every_failed_request_counts(
    guarded: ThreadGateway, failing: Callable[[ThreadGateway, str], object]
) -> None:
    key = guarded.list_bot()

    for _ in range(FAILURES):
        failing(guarded, key)

    assert refusal(guarded.voters("wrong")) == TOO_MANY


@pytest.mark.parametrize(
    "harmless",
    [
        lambda gateway, key: gateway.voters(key),
        lambda gateway, _: gateway.request("OPTIONS", STATS),
        lambda gateway, key: gateway.stats(key, {"server_count": 5}),
    ],
    ids=["success", "OPTIONS", "500"],
)
def test_a_request_that_is_not_the_callers_failure_does_not_count(
    guarded: ThreadGateway, harmless: Callable[[ThreadGateway, str], object]
) -> None:
    key = guarded.list_bot(actual=None)

    for _ in range(FAILURES + 1):
        harmless(guarded, key)

    assert limit(guarded.voters(None)).remaining == FAILURES - 1


def test_a_bot_beyond_its_limit_does_not_block_its_address(guarded: ThreadGateway) -> None:
    key = guarded.list_bot()
    guarded.done("PUT", f"{BOT_PATH}/limits", {"voters": {"requests": 1, "window_seconds": 60}})

    answers = [guarded.voters(key) for _ in range(FAILURES + 2)]

    assert [answer.status_code for answer in answers] == [200, *[429] * (FAILURES + 1)]
    assert guarded.stats(key, {"command_count": 5}).status_code == 200


def test_a_client_is_known_by_the_address_its_trusted_proxy_wrote(proxied: ThreadGateway) -> None:
    fail(proxied, forwarded_for=CLIENT)

    assert refused(proxied, CLIENT)
    assert not refused(proxied, NEIGHBOUR)


@pytest.mark.parametrize(
    ("forwarded_for", "client"),
    [
        (f"{NEIGHBOUR}, {CLIENT}", CLIENT),
        (f"{CLIENT}, 10.1.2.3", CLIENT),
        (f"{NEIGHBOUR}, {CLIENT}, 10.1.2.3, 10.4.5.6", CLIENT),
        (f"10.9.9.9, {CLIENT}, 10.1.2.3", CLIENT),
        (f"{CLIENT}:4711", CLIENT),
        (f"nonsense, {CLIENT}", CLIENT),
        ("::ffff:192.0.2.1", CLIENT),
        ("10.1.2.3, 10.4.5.6", "10.1.2.3"),
    ],
)
def test_forwarded_addresses_are_walked_from_the_right_past_trusted_proxies(
    proxied: ThreadGateway, forwarded_for: str, client: str
) -> None:
    fail(proxied, forwarded_for=forwarded_for)

    assert refused(proxied, client)
    assert not refused(proxied, NEIGHBOUR)


@pytest.mark.parametrize("forged", ["nonsense", "", "１９２.0.2.1", f"{CLIENT}, unknown"])
def test_text_that_is_no_address_ends_the_walk_at_the_proxy_that_wrote_it(
    proxied: ThreadGateway, forged: str
) -> None:
    fail(proxied, forwarded_for=forged.encode().decode("latin-1"))

    assert proxied.voters(None).status_code == 429
    assert not refused(proxied, CLIENT)


def test_without_trusted_proxies_a_forwarded_address_is_ignored(guarded: ThreadGateway) -> None:
    for number in range(FAILURES):
        fail(guarded, 1, f"192.0.2.{number}")

    assert refused(guarded, NEIGHBOUR)


def test_ipv6_addresses_are_counted_by_their_56_bit_network(proxied: ThreadGateway) -> None:
    for number in range(FAILURES):
        fail(proxied, 1, f"2001:db8:0:{number}::{number}")

    assert refused(proxied, "2001:db8:0:ff:ffff:ffff:ffff:ffff")
    assert not refused(proxied, "2001:db8:0:100::")
    assert not refused(proxied, "2001:db7:ffff:ffff::")


def test_a_bot_with_a_valid_key_has_one_limit_for_all_addresses(proxied: ThreadGateway) -> None:
    key = proxied.list_bot()

    answers = [ask(proxied, key, address) for address in (CLIENT, NEIGHBOUR)]

    assert [limit(answer).remaining for answer in answers] == [99, 98]
