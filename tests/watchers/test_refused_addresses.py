"""watchers/refused_addresses.py: a line when an address begins to be refused, and one when it ends."""

import pytest

from core.clock import NS_PER_SECOND
from core.rows import Policy
from ratelimit.address import address_key
from ratelimit.bucket import FailureGuard
from tests.support.fake_clock import FakeClock
from watchers.refused_addresses import RefusedAddresses


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_addresses_end_in_the_order_of_their_windows(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(monotonic_ns=5 * NS_PER_SECOND)
    refused = RefusedAddresses(clock)
    guard = FailureGuard(Policy(2, 10), 10, refused.began)
    guard.failed("192.0.2.1", clock.monotonic_ns())
    clock.advance(1)
    for _ in range(2):
        guard.failed("192.0.2.2", clock.monotonic_ns())
    clock.advance(1)
    guard.failed("192.0.2.1", clock.monotonic_ns())
    assert messages(caplog) == [
        "the address 192.0.2.2 is refused for 10 s: 2 of its requests failed within 1 s",
        "the address 192.0.2.1 is refused for 8 s: 2 of its requests failed within 2 s",
    ]

    caplog.clear()
    clock.advance_ms(7_999)
    refused.step()
    assert messages(caplog) == []
    clock.advance_ms(1)
    refused.step()
    assert messages(caplog) == ["the address 192.0.2.1 is no longer refused"]
    clock.advance(1)
    refused.step()
    refused.step()
    assert messages(caplog)[1:] == ["the address 192.0.2.2 is no longer refused"]


def test_an_address_that_begins_again_has_ended_before(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    refused = RefusedAddresses(clock)
    guard = FailureGuard(Policy(1, 10), 10, refused.began)
    key = address_key("2001:db8:0:ff::1")
    for _ in range(2):
        guard.failed(key, clock.monotonic_ns())
        clock.advance(10)
    named = "the address 2001:db8::/56"
    assert [line.partition(" for ")[0] for line in messages(caplog)] == [
        f"{named} is refused",
        f"{named} is no longer refused",
        f"{named} is refused",
    ]
