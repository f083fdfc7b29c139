"""Webhooks while the machine's clock is set: nothing waits for longer, leaves earlier, or is given up."""

from pathlib import Path

import pytest

from tests.support.contract import attempted, caught_up, idle, set_webhook, users, voters_of, webhook
from tests.support.gateways import ThreadGateway, eventually, running
from tests.support.suspended_endpoints import ONCE, cast, hold, listed, suspend
from tests.support.webhook_receiver import Receiver, status

HOUR, DAY = 3_600, 86_400
jumps = pytest.mark.parametrize("jump", [-DAY, -HOUR, HOUR, 15 * DAY])


def failed_once(gateway: ThreadGateway, receiver: Receiver) -> None:
    """A gateway with a vote whose first attempt has failed."""
    gateway.list_bot()
    set_webhook(gateway, receiver.url)
    receiver.answers = [status(500)]
    gateway.cast()
    attempted(gateway, 1)
    eventually(lambda: idle(gateway))


@jumps
@pytest.mark.parametrize("right_again", [False, True])
def test_a_retry_comes_5_seconds_after_the_failure_although_the_clock_was_set(
    gateway: ThreadGateway, receiver: Receiver, jump: int, right_again: bool
) -> None:
    failed_once(gateway, receiver)

    gateway.set_wall(jump)
    gateway.advance(4.999)
    assert idle(gateway)
    assert len(receiver.received) == 1
    if right_again:
        gateway.set_wall(-jump)

    gateway.advance(0.001)
    assert attempted(gateway, 2)["state"] == "delivered"


def test_a_start_with_the_right_clock_does_not_wait_for_the_wrong_time(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    gateway.clock.set_wall(HOUR)  # it was wrong
    failed_once(gateway, receiver)

    gateway.clock.set_wall(-HOUR)
    gateway.restart()
    gateway.advance(5)

    assert attempted(gateway, 2)["state"] == "delivered"


@jumps
def test_a_suspended_endpoint_is_probed_after_its_minute_and_keeps_its_votes(
    tmp_path: Path, receiver: Receiver, jump: int
) -> None:
    with running(tmp_path / "data", **ONCE) as gateway:
        listed(gateway, receiver)
        held = hold(gateway, receiver, 3)
        began_ms = gateway.clock.steady_ms()
        gateway.set_wall(jump)
        left_ms = webhook(gateway)["suspension"]["next_probe_at"] - (gateway.clock.now_ms() - jump * 1_000)

        gateway.advance((left_ms - 1) / 1_000)
        assert idle(gateway)
        assert receiver.received == []
        gateway.advance(0.001)

        eventually(lambda: caught_up(gateway))
        assert voters_of(receiver) == held
        assert webhook(gateway)["suspension"] is None
        assert gateway.clock.steady_ms() - began_ms < 2 * 60_000


def test_after_a_start_a_suspension_of_the_wrong_time_ends_within_minutes(
    tmp_path: Path, receiver: Receiver
) -> None:
    with running(tmp_path / "data", **ONCE) as gateway:
        gateway.clock.set_wall(DAY)  # it was wrong
        listed(gateway, receiver)
        suspend(gateway, receiver)
        cast(gateway, users(1, first=100))
        receiver.default = status(204)
        gateway.clock.set_wall(-DAY)
        gateway.restart()

        gateway.advance(300)

        eventually(lambda: webhook(gateway)["suspension"] is None)
