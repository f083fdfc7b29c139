"""Votes for endpoints that fail, with a clock that the test moves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.contract import deliveries, idle, set_webhook, users, webhook
from tests.support.gateways import ThreadGateway, eventually, running
from tests.support.webhook_receiver import Receiver, status

ONCE: dict[str, object] = {"webhooks.retries": 0}
"""Every event is tried once: it takes no time to fail for good."""


def listed(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    set_webhook(gateway, receiver.url)


@contextmanager
def trying_once(folder: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """Run a gateway that tries each delivery once, with a bot whose webhook goes to the receiver."""
    with running(folder, **ONCE) as gateway:
        listed(gateway, receiver)
        yield gateway


def cast(gateway: ThreadGateway, voters: list[str]) -> None:
    """Cast votes, each in another millisecond."""
    for user in voters:
        gateway.cast(user)
        gateway.advance(0.001)


def settled(gateway: ThreadGateway) -> None:
    """Wait until nothing is due any more."""
    eventually(lambda: idle(gateway) and all(row["attempts"] for row in deliveries(gateway)))


def suspend(gateway: ThreadGateway, receiver: Receiver, events: int = 10) -> Any:
    """Let so many events fail for good. Return the suspension."""
    receiver.default = status(500)
    cast(gateway, users(events))
    suspension = eventually(lambda: webhook(gateway)["suspension"])
    eventually(lambda: idle(gateway))
    return suspension


def hold(gateway: ThreadGateway, receiver: Receiver, events: int) -> list[str]:
    """Suspend the endpoint, and let so many events wait for it. From then on the receiver works.

    Return the voters in order.
    """
    suspend(gateway, receiver)
    held = users(events, first=100)
    cast(gateway, held)
    receiver.received.clear()
    receiver.default = status(204)
    return held


def probed(gateway: ThreadGateway, receiver: Receiver) -> Any:
    """The suspension after a probe that fails, made when it was announced for and not before."""
    before = webhook(gateway)["suspension"]
    sent = len(receiver.received)
    left_ms = before["next_probe_at"] - gateway.clock.now_ms()
    gateway.advance((left_ms - 1) / 1_000)
    assert idle(gateway)
    assert len(receiver.received) == sent
    gateway.advance(0.001)
    after = eventually(lambda: changed(gateway, before))
    eventually(lambda: idle(gateway))
    assert len(receiver.received) == sent + 1
    return after


def changed(gateway: ThreadGateway, before: Any) -> Any:
    now = webhook(gateway)["suspension"]
    return now if now != before else None
