"""A chat platform says when it wants no more: for a while, or for good."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chat_channel import channel, told
from tests.support.contract import (
    arrive,
    attempted,
    counts,
    deliveries,
    idle,
    pending,
    set_webhook,
    users,
    webhook,
)
from tests.support.gateways import OTHER_BOT, ThreadGateway, eventually
from tests.support.suspended_endpoints import cast
from tests.support.webhook_receiver import Answer, Receiver, status

OTHER_PATH = f"/manage/bots/{OTHER_BOT}"


@pytest.fixture
def chat(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with channel(tmp_path / "data", receiver) as gateway:
        yield gateway


WAITS: dict[str, tuple[Answer, int]] = {
    "header": (status(429, Retry_After="3"), 3_000),
    "body": (status(429, b'{"retry_after": 2.1, "global": false}'), 2_100),
    "the longer": (status(429, b'{"retry_after": 2.9995}', Retry_After="1"), 3_000),
}
"""Answers, with the milliseconds that they ask for."""


@pytest.mark.parametrize(("answer", "wait_ms"), WAITS.values(), ids=WAITS)
def test_when_it_is_asked_to_wait_nothing_is_sent_before_and_the_order_is_kept(
    chat: ThreadGateway, receiver: Receiver, answer: Answer, wait_ms: int
) -> None:
    receiver.answers = [answer]
    voters = users(4)

    chat.cast(voters[0])
    asked_ms = chat.clock.now_ms()
    attempted(chat, 1)
    chat.advance(0.001)
    cast(chat, voters[1:])

    assert eventually(lambda: idle(chat))
    row = deliveries(chat)[-1]
    assert (row["state"], row["error"], row["next_attempt_at"]) == ("pending", "http_429", asked_ms + wait_ms)
    chat.advance((asked_ms + wait_ms - 1 - chat.clock.now_ms()) / 1_000)
    assert idle(chat)
    assert len(receiver.received) == 1
    chat.advance(0.001)
    eventually(lambda: pending(chat) == 0)
    assert told(receiver) == [voters[0], *voters]


def test_a_request_to_wait_is_no_failure_any_number_of_times(chat: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = status(429, b'{"retry_after": 1}')
    cast(chat, users(2))
    for asked in range(1, 13):
        arrive(chat, receiver, asked)
        chat.advance(1)

    shown = webhook(chat)
    assert (shown["failed_in_a_row"], shown["suspension"], shown["pending"]) == (0, None, 2)
    receiver.default = status(204)
    eventually(lambda: idle(chat))
    chat.advance(1)
    eventually(lambda: pending(chat) == 0)
    assert set(told(receiver)[:-2]) == set(users(1))
    assert told(receiver)[-2:] == users(2)


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_global_limit_holds_every_channel_and_another_one_its_own(
    chat: ThreadGateway, receiver: Receiver, everywhere: bool
) -> None:
    chat.list_bot(OTHER_BOT)
    set_webhook(chat, receiver.url + "/api/webhooks/987654321/another", OTHER_PATH)
    receiver.answers = [status(429, json.dumps({"retry_after": 5, "global": everywhere}).encode())]
    chat.cast()
    attempted(chat, 1)

    chat.cast(path=OTHER_PATH)

    if everywhere:
        chat.advance(4.999)
        assert idle(chat)
        assert len(receiver.received) == 1
        chat.advance(0.001)
    assert attempted(chat, 1, OTHER_PATH)["state"] == "delivered"


def test_an_empty_bucket_is_waited_for_before_it_refuses(chat: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(204, X_RateLimit_Remaining="0", X_RateLimit_Reset_After="1.5")]
    voters = users(2)
    chat.cast(voters[0])
    eventually(lambda: pending(chat) == 0)

    chat.cast(voters[1])

    chat.advance(1.499)
    assert idle(chat)
    assert told(receiver) == voters[:1]
    chat.advance(0.001)
    eventually(lambda: told(receiver) == voters)


# -- the end of a webhook ------------------------------------------------------------------------------


def test_a_webhook_that_was_deleted_there_is_suspended_at_once(
    chat: ThreadGateway, receiver: Receiver
) -> None:
    receiver.answers = [status(404, b'{"message": "Unknown Webhook", "code": 10015}')]

    chat.cast()

    suspension = eventually(lambda: webhook(chat)["suspension"])
    assert suspension["reason"] == "http_404"
    assert (attempted(chat, 1)["state"], counts(chat)["endpoints_suspended"]) == ("pending", 1)
    chat.advance(60)
    assert attempted(chat, 2)["state"] == "delivered"
    assert webhook(chat)["suspension"] is None


@pytest.mark.parametrize("body", [b'{"code": 10003}', b"not found", b"\xff[[["])
def test_any_other_404_is_a_failure_like_others(chat: ThreadGateway, receiver: Receiver, body: bytes) -> None:
    receiver.answers = [status(404, body)]

    chat.cast()

    row = attempted(chat, 1)
    assert (row["error"], row["next_attempt_at"]) == ("http_404", chat.clock.now_ms() + 5_000)
    assert webhook(chat)["suspension"] is None


def test_a_channel_that_recovers_is_not_sent_more_than_it_asks_for(
    chat: ThreadGateway, receiver: Receiver
) -> None:
    voters = users(3)
    receiver.answers = [
        status(404, b'{"code": 10015}'),
        status(204, X_RateLimit_Remaining="0", X_RateLimit_Reset_After="5"),
    ]
    cast(chat, voters)
    eventually(lambda: webhook(chat)["suspension"])
    eventually(lambda: idle(chat))

    chat.advance(60)

    eventually(lambda: webhook(chat)["suspension"] is None and idle(chat))
    chat.advance(4.999)
    assert idle(chat)
    assert told(receiver) == [voters[0]] * 2
    chat.advance(0.001)
    arrive(chat, receiver, 3)
    chat.advance(0.02)
    eventually(lambda: told(receiver) == [voters[0], *voters])
