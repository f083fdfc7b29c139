"""An endpoint that keeps failing is left alone for a while, and asked now and then how it is."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import (
    BOT_PATH,
    all_attempted,
    attempted,
    caught_up,
    counts,
    deliveries,
    idle,
    pending,
    set_webhook,
    users,
    voters_of,
    webhook,
)
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, USER, ThreadGateway, eventually, running
from tests.support.suspended_endpoints import ONCE, cast, listed, probed, settled, suspend, trying_once
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"


@pytest.fixture
def gateway(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with trying_once(tmp_path / "data", receiver) as gateway:
        yield gateway


def test_the_tenth_event_in_a_row_that_failed_for_good_suspends(tmp_path: Path, receiver: Receiver) -> None:
    receiver.default = status(503)
    with running(tmp_path / "patient") as gateway:
        listed(gateway, receiver)
        for user in users(10):
            gateway.cast(user)
        for attempts in (1, 2, 3):
            all_attempted(gateway, attempts)
            shown = webhook(gateway)
            assert (shown["failed_in_a_row"], shown["suspension"], shown["pending"]) == (0, None, 10)
            gateway.advance(5)

        suspension = eventually(lambda: webhook(gateway)["suspension"])

        now_ms = gateway.clock.now_ms()
        assert suspension == {
            "since": now_ms,
            "reason": "http_503",
            "probes_failed": 0,
            "next_probe_at": now_ms + 60_000,
        }
        assert (webhook(gateway)["failed_in_a_row"], webhook(gateway)["pending"]) == (10, 0)
        assert counts(gateway)["endpoints_suspended"] == 1
        assert [row["state"] for row in deliveries(gateway)] == ["failed"] * 10
        assert len(receiver.received) == 40


def test_a_delivery_after_nine_failures_resets_the_count(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(500)] * 9 + [status(204)] + [status(500)] * 9

    cast(gateway, users(19))
    settled(gateway)

    shown = webhook(gateway)
    assert (shown["failed_in_a_row"], shown["suspension"]) == (9, None)
    assert counts(gateway)["endpoints_suspended"] == 0


def test_while_it_is_suspended_votes_are_kept_and_nothing_is_sent(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspension = suspend(gateway, receiver)
    sent = len(receiver.received)
    voters = users(5, first=100)

    cast(gateway, voters)

    gateway.advance((suspension["next_probe_at"] - gateway.clock.now_ms() - 1) / 1_000)
    assert idle(gateway)
    assert len(receiver.received) == sent == 10
    assert (webhook(gateway)["pending"], pending(gateway)) == (5, 5)
    votes = gateway.done("POST", f"{BOT_PATH}/votes/check", {"users": voters})["votes"]
    assert [vote["vote"] for vote in votes] == [1] * 5
    held = deliveries(gateway)[:5]
    assert [row["user"] for row in held] == voters[::-1]
    assert {(row["state"], row["next_attempt_at"]) for row in held} == {
        ("pending", suspension["next_probe_at"])
    }


def test_one_event_probes_after_a_minute_and_every_failure_doubles_the_wait_up_to_an_hour(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    since = suspend(gateway, receiver)["since"]
    cast(gateway, users(3, first=100))

    waits = []
    for failed in range(1, 9):
        suspension = probed(gateway, receiver)
        waits.append((suspension["next_probe_at"] - gateway.clock.now_ms()) // 1_000)
        assert (suspension["since"], suspension["probes_failed"]) == (since, failed)

    assert waits == [120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]
    assert webhook(gateway)["pending"] == 3
    oldest, second, third = users(3, first=100)
    # An event that always fails must not keep its endpoint suspended for ever.
    assert voters_of(receiver)[10:] == [*[oldest] * 5, second, third, oldest]
    assert counts(gateway)["endpoints_suspended"] == 1


def test_the_log_says_once_that_an_endpoint_is_suspended_and_once_that_it_is_so_no_longer(
    gateway: ThreadGateway, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    suspend(gateway, receiver)
    cast(gateway, users(3, first=100))
    for _ in range(2):
        probed(gateway, receiver)
    receiver.default = status(204)
    gateway.advance(3_600)
    eventually(lambda: caught_up(gateway))

    told = [record.getMessage() for record in caplog.records]
    assert [line for line in told if line.startswith("the endpoint") and " suspended" in line] == [
        f"the endpoint of bots/{BOT} is suspended: http_500; its webhooks wait, and one probes it in 60 s",
        f"the endpoint of bots/{BOT} is no longer suspended: it took a webhook",
    ]


def test_an_event_that_failed_for_good_before_the_suspension_is_no_probe(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)

    gateway.advance(3 * 3_600)

    assert idle(gateway)
    assert (len(receiver.received), webhook(gateway)["pending"]) == (10, 0)
    gateway.cast(OTHER_USER)
    eventually(lambda: len(receiver.received) == 11)
    assert eventually(lambda: webhook(gateway)["suspension"]["probes_failed"] == 1)


def test_events_that_fail_at_the_same_time_suspend_once_and_none_is_lost(
    tmp_path: Path, receiver: Receiver
) -> None:
    receiver.default = receiver.holding(status(500))
    with running(tmp_path / "wide", **ONCE, **{"webhooks.in_flight_per_endpoint": 16}) as gateway:
        listed(gateway, receiver)
        voters = users(30)
        cast(gateway, voters)
        eventually(lambda: len(receiver.received) == 16)

        receiver.released.set()
        eventually(lambda: idle(gateway))
        shown = webhook(gateway)
        assert shown["failed_in_a_row"] == 10
        assert shown["suspension"]["probes_failed"] == 0
        assert counts(gateway)["endpoints_suspended"] == 1
        log = deliveries(gateway)
        failed = [row["user"] for row in log if row["state"] == "failed"]
        held = [row["user"] for row in log if row["state"] == "pending"]
        assert (len(failed), len(held)) == (10, 20)
        assert sorted(failed + held) == voters
        receiver.received.clear()
        receiver.default = status(204)
        gateway.advance(60)
        eventually(lambda: caught_up(gateway))
        assert sorted(voters_of(receiver)) == sorted(held)
        assert webhook(gateway)["suspension"] is None


def test_one_probe_is_made_even_if_many_attempts_may_be_under_way(tmp_path: Path, receiver: Receiver) -> None:
    settings = ONCE | {"webhooks.in_flight_per_endpoint": 16, "webhooks.suspend_after": 1}
    with running(tmp_path / "wide", **settings) as gateway:
        listed(gateway, receiver)
        suspend(gateway, receiver, events=1)
        cast(gateway, users(5, first=100))
        receiver.default = receiver.holding(status(500))

        gateway.advance(60)

        eventually(lambda: len(receiver.received) == 2)
        assert counts(gateway)["webhooks_in_flight"] == 1
        receiver.released.set()
        eventually(lambda: webhook(gateway)["suspension"]["probes_failed"] == 1)
        assert len(receiver.received) == 2


def test_410_suspends_at_once_and_the_event_is_kept(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers = [status(410)]
    with running(tmp_path / "patient") as gateway:
        listed(gateway, receiver)
        gateway.cast()

        suspension = eventually(lambda: webhook(gateway)["suspension"])

        assert (suspension["reason"], suspension["probes_failed"]) == ("http_410", 0)
        row = attempted(gateway, 1)
        assert (row["state"], row["error"]) == ("pending", "http_410")
        assert row["next_attempt_at"] == suspension["next_probe_at"] == gateway.clock.now_ms() + 60_000
        gateway.advance(60)
        assert attempted(gateway, 2)["state"] == "delivered"


@pytest.mark.parametrize("code", [500, 410])
def test_tests_that_fail_never_suspend(gateway: ThreadGateway, receiver: Receiver, code: int) -> None:
    receiver.default = status(code)

    for _ in range(11):
        gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    shown = webhook(gateway)
    assert (shown["failed_in_a_row"], shown["suspension"]) == (0, None)


def test_another_listing_goes_on_with_the_same_receiver(gateway: ThreadGateway, receiver: Receiver) -> None:
    other = f"/manage/bots/{OTHER_BOT}"
    gateway.list_bot(OTHER_BOT)
    set_webhook(gateway, receiver.url, other)
    suspend(gateway, receiver)
    receiver.default = status(204)

    gateway.cast(path=other)

    assert attempted(gateway, 1, other)["state"] == "delivered"
    assert webhook(gateway, other)["suspension"] is None
    assert webhook(gateway)["suspension"] is not None


@pytest.mark.parametrize("down", ["proxy", "resolver"])
def test_a_failure_on_our_side_is_never_counted_and_the_event_stays(
    tmp_path: Path, receiver: Receiver, down: str
) -> None:
    with socket.socket(type=socket.SOCK_STREAM if down == "proxy" else socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody answers
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        settings = ONCE | {"webhooks.suspend_after": 1, "webhooks.allow_http": True}
        if down == "proxy":
            url, broken = receiver.url, {"webhooks.proxy": f"http://{address}"}
        else:
            url = receiver.url.replace("127.0.0.1", "bot.example")
            broken = {"webhooks.name_servers": address, "webhooks.timeout_seconds": "0.3"}
        with running(tmp_path / "down", **settings, **broken) as gateway:
            gateway.list_bot()
            set_webhook(gateway, url)
            gateway.cast()

            row = attempted(gateway, 1)
            assert (row["state"], row["status"], row["error"]) == ("pending", None, down)
            shown = webhook(gateway)
            assert (shown["failed_in_a_row"], shown["suspension"], shown["pending"]) == (0, None, 1)
            assert gateway.done("GET", "/debug/overview.json")["webhook_proxy_down"] is (down == "proxy")
            gateway.advance(60)
            assert attempted(gateway, 2)["state"] == "pending"
    with running(tmp_path / "down") as gateway:
        set_webhook(gateway, receiver.url)
        gateway.advance(3_600)
        assert attempted(gateway, 3)["state"] == "delivered"
