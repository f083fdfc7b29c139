"""The delivery log of webhooks, and sending failed deliveries again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import (
    BOT_PATH,
    SHORT_DRAIN_SECONDS,
    all_attempted,
    attempted,
    caught_up,
    deliveries,
    pending,
    refusal,
    set_webhook,
    users,
    voters_of,
    webhook,
    wrong_fields,
)
from tests.support.gateways import SERVER, USER, ThreadGateway, eventually, running
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"
IMPATIENT: dict[str, object] = {
    "webhooks.retries": 0,
    "webhooks.suspend_after": 1_000,
    "server.drain_seconds": SHORT_DRAIN_SECONDS,
}
AGAIN = f"{WEBHOOK}/deliveries/redeliver"


@pytest.fixture
def gateway(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway that tries each delivery once, with a bot whose webhook goes to the receiver."""
    with running(tmp_path / "data", **IMPATIENT) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        yield gateway


def failed(gateway: ThreadGateway, receiver: Receiver, voters: list[str]) -> None:
    """Cast votes whose deliveries fail for good."""
    before = receiver.default
    receiver.default = status(500)
    cast(gateway, voters)
    receiver.default = before


def cast(gateway: ThreadGateway, voters: list[str]) -> None:
    for user in voters:
        gateway.cast(user)
    eventually(lambda: pending(gateway) == 0)


def again(gateway: ThreadGateway, since_ms: int) -> int:
    """Send failed deliveries again since that time. Return the number of deliveries."""
    found: int = gateway.done("POST", AGAIN, {"failed_since": since_ms})["redelivered"]
    return found


def test_deliveries_that_failed_since_a_time_are_sent_again_in_the_order_of_votes(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    early, late = users(2), users(3, first=2)
    failed(gateway, receiver, early)
    gateway.advance(60)
    since_ms = gateway.clock.now_ms()
    failed(gateway, receiver, late)
    gateway.advance(60)
    cast(gateway, users(1, first=5))
    ids = {row["user"]: row["id"] for row in deliveries(gateway)}
    receiver.received.clear()

    assert again(gateway, since_ms) == 3

    eventually(lambda: pending(gateway) == 0)
    assert voters_of(receiver) == late
    assert [call.headers["webhook-id"] for call in receiver.received] == [ids[user] for user in late]
    states = {row["user"]: (row["state"], len(row["attempts"])) for row in deliveries(gateway)}
    assert [states[user] for user in early] == [("failed", 1)] * 2
    assert [states[user] for user in late] == [("delivered", 2)] * 3
    assert again(gateway, since_ms) == 0


def test_the_time_of_a_failure_is_the_time_of_its_last_attempt(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    voters = users(2)
    failed(gateway, receiver, voters)
    failed_ms = gateway.clock.now_ms()

    assert again(gateway, failed_ms + 1) == 0
    assert again(gateway, failed_ms) == 2

    eventually(lambda: pending(gateway) == 0)
    assert voters_of(receiver) == voters * 2


def test_a_test_that_failed_is_not_sent_again_with_the_votes(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(500)
    gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    assert again(gateway, 0) == 0


def test_a_redelivery_that_fails_is_in_the_log_as_failed_with_all_its_attempts(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    failed(gateway, receiver, users(1))
    receiver.default = status(503, b"still down")

    assert again(gateway, 0) == 1

    row = attempted(gateway, 2)
    assert (row["state"], row["error"], row["excerpt"]) == ("failed", "http_503", "still down")
    assert [attempt["status"] for attempt in row["attempts"]] == [500, 503]


def test_a_redelivery_survives_a_restart(gateway: ThreadGateway, receiver: Receiver) -> None:
    failed(gateway, receiver, users(3))
    receiver.default = receiver.hang
    assert again(gateway, 0) == 3
    eventually(lambda: len(receiver.received) == 4)

    gateway.stop()  # it does not wait for answers
    receiver.default = status(204)
    gateway.restart()

    eventually(lambda: caught_up(gateway))
    assert [row["state"] for row in deliveries(gateway)] == ["delivered"] * 3


@pytest.mark.parametrize("body", [{}, {"failed_since": -1}, {"failed_since": "0"}, {"failed_since": None}])
def test_the_time_is_required(gateway: ThreadGateway, body: Any) -> None:
    assert wrong_fields(gateway.operate("POST", AGAIN, body)) == {"failed_since"}


def test_a_server_has_the_same_call(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_server()
    path = f"/manage/servers/{SERVER}"
    set_webhook(gateway, receiver.url, path)
    receiver.answers = [status(500)]
    gateway.cast(path=path)
    eventually(lambda: pending(gateway) == 0)

    answer = gateway.done("POST", f"{path}/webhook/deliveries/redeliver", {"failed_since": 0})

    assert answer == {"success": True, "redelivered": 1}
    assert attempted(gateway, 2, path)["state"] == "delivered"


def test_the_last_100_finished_deliveries_are_kept_with_their_results(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    voters = users(105)
    receiver.answers = [status(500)] * 55

    cast(gateway, voters)

    log = deliveries(gateway)
    assert [row["user"] for row in log] == voters[:4:-1]
    assert [row["state"] for row in log] == ["delivered"] * 50 + ["failed"] * 50
    assert [row["status"] for row in log] == [204] * 50 + [500] * 50
    gateway.restart()
    assert deliveries(gateway) == log


def test_pending_deliveries_are_in_the_log_beside_the_kept_ones(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    cast(gateway, users(100))
    receiver.default = receiver.hang

    gateway.cast(users(1, first=100)[0])
    gateway.cast(users(1, first=101)[0])

    eventually(lambda: len(receiver.received) == 101)
    log = deliveries(gateway)
    assert [row["state"] for row in log] == ["pending"] * 2 + ["delivered"] * 100
    assert (log[0]["attempts"], log[0]["next_attempt_at"]) == ([], gateway.clock.now_ms())


def test_an_excerpt_shows_the_answer_of_a_receiver_as_harmless_text(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    said = "<script>\x00\x1b[2J\u202eevil\u2066\x9f\ufeff\nnext\tline</script>".encode() + b"\xff\xfe"
    receiver.default = status(500, said)

    gateway.cast()

    (row,) = all_attempted(gateway, 1)
    shown = "<script>\\x00\\x1b[2J\\u202eevil\\u2066\\x9f\\ufeff\nnext\tline</script>\ufffd\ufffd"
    assert (row["excerpt"], row["attempts"][0]["excerpt"]) == (shown, shown)
    raw = gateway.operate("GET", f"{WEBHOOK}/deliveries").content
    assert not set(raw) & {*range(0x20), 0x7F}


def test_a_redelivery_to_a_suspended_endpoint_answers_at_once_and_waits(
    tmp_path: Path, receiver: Receiver
) -> None:
    with running(tmp_path / "other", **{"webhooks.retries": 0, "webhooks.suspend_after": 1}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        receiver.default = status(500)
        gateway.cast()
        row = attempted(gateway, 1)
        eventually(lambda: webhook(gateway)["suspension"])
        receiver.default = status(204)

        held = gateway.done("POST", f"{WEBHOOK}/deliveries/{row['id']}/redeliver")

        assert (held["state"], len(held["attempts"])) == ("pending", 1)
        assert held["next_attempt_at"] == webhook(gateway)["suspension"]["next_probe_at"]
        gateway.advance(60)
        assert attempted(gateway, 2)["state"] == "delivered"
        assert webhook(gateway)["suspension"] is None


def test_no_more_deliveries_are_sent_again_than_may_wait(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path / "other", **IMPATIENT, **{"webhooks.pending_per_endpoint": 2}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        for user in users(3):
            failed(gateway, receiver, [user])
        first = deliveries(gateway)[-1]
        newest = deliveries(gateway)[0]
        receiver.default = receiver.hang

        assert again(gateway, 0) == 2

        eventually(lambda: len(receiver.received) == 4)
        assert voters_of(receiver)[-1] == first["user"]
        refused = gateway.operate("POST", f"{WEBHOOK}/deliveries/{newest['id']}/redeliver")
        assert refusal(refused) == (409, "Too many deliveries wait for this endpoint.")
