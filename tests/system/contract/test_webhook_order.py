"""An endpoint gets one request at a time, first attempts in the order of the votes."""

import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.contract import (
    SHORT_DRAIN_SECONDS,
    attempted,
    caught_up,
    counts,
    deliveries,
    pending,
    set_webhook,
    users,
    voters_of,
)
from tests.support.gateways import OTHER_BOT, ThreadGateway, eventually, running
from tests.support.webhook_receiver import Answer, Receiver, receiving, status

OTHER_PATH = f"/manage/bots/{OTHER_BOT}"
LONGEST_SECONDS = 0.02


@pytest.fixture
def hasty(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway that stops without waiting for answers, with a bot whose webhook goes to the receiver."""
    with running(tmp_path / "hasty", **{"server.drain_seconds": SHORT_DRAIN_SECONDS}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        yield gateway


def slowly(receiver: Receiver) -> Answer:
    """Accepts after a while that varies, and refuses a request that comes while another is there."""
    drawn = random.Random(1)
    one = threading.Lock()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if not one.acquire(blocking=False):
            status(500)(handler)
            return
        receiver.released.wait(drawn.choice([0, 0, 0, drawn.uniform(0, LONGEST_SECONDS)]))
        one.release()
        status(204)(handler)

    return answer


def test_200_votes_in_quick_succession_arrive_in_the_order_of_votes_one_at_a_time(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = slowly(receiver)
    gateway.list_bot()
    set_webhook(gateway, receiver.url)
    voters = users(200)

    for number, user in enumerate(reversed(voters)):
        gateway.cast(user)
        if number % 7 == 0:
            gateway.advance(0.001)

    eventually(lambda: pending(gateway) == 0)
    assert voters_of(receiver) == voters[::-1]
    assert {row["state"] for row in deliveries(gateway)} == {"delivered"}


def test_the_order_survives_a_restart(hasty: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = receiver.hang
    voters = users(20)
    for number, user in enumerate(voters):
        hasty.cast(user)
        hasty.advance(number % 3 / 1_000)
    eventually(lambda: receiver.received)

    hasty.stop()  # which waits for no answer
    receiver.default = status(204)
    hasty.restart()
    eventually(lambda: caught_up(hasty))

    assert voters_of(receiver) == voters[:1] + voters


def test_an_event_that_waits_for_its_retry_steps_aside(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    set_webhook(gateway, receiver.url)
    first, *others = voters = users(5)
    receiver.answers = [status(500)]

    for user in voters:
        gateway.cast(user)

    eventually(lambda: pending(gateway) == 1)
    assert voters_of(receiver) == voters
    gateway.advance(5)
    eventually(lambda: pending(gateway) == 0)
    assert voters_of(receiver) == [*voters, first]
    assert {row["user"]: len(row["attempts"]) for row in deliveries(gateway)} == {
        first: 2,
        **dict.fromkeys(others, 1),
    }


def test_a_retry_that_is_due_goes_ahead_of_younger_events(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    set_webhook(gateway, receiver.url)
    first, second, third = users(3)
    receiver.answers = [status(500), receiver.holding(status(204))]
    gateway.cast(first)
    attempted(gateway, 1)
    gateway.advance(0.001)
    gateway.cast(second)
    eventually(lambda: len(receiver.received) == 2)
    gateway.advance(0.001)
    gateway.cast(third)

    gateway.advance(5)
    receiver.released.set()

    eventually(lambda: len(receiver.received) == 4)
    assert voters_of(receiver) == [first, second, first, third]


def test_one_endpoint_that_hangs_keeps_no_other_waiting(hasty: ThreadGateway, receiver: Receiver) -> None:
    hasty.list_bot(OTHER_BOT)
    receiver.default = receiver.hang
    voters = users(20)
    with receiving() as healthy:
        set_webhook(hasty, healthy.url, OTHER_PATH)
        for user in voters:
            hasty.cast(user)
            hasty.cast(user, OTHER_PATH)

        eventually(lambda: len(healthy.received) == 20)
        assert voters_of(healthy) == voters
        assert voters_of(receiver) == voters[:1]


def test_an_operator_may_give_up_the_order_for_more_at_once(tmp_path: Path, receiver: Receiver) -> None:
    room = 4
    receiver.default = receiver.holding(status(204))
    with running(tmp_path / "data", **{"webhooks.in_flight_per_endpoint": room}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        for user in users(10):
            gateway.cast(user)

        eventually(lambda: len(receiver.received) == room)
        assert counts(gateway)["webhooks_in_flight"] == room
        receiver.released.set()
