"""A suspended endpoint loses no event. It recovers by a probe, a test or a saved webhook."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import (
    BOT_PATH,
    arrive,
    attempted,
    caught_up,
    counts,
    deliveries,
    idle,
    pending,
    refusal,
    set_webhook,
    users,
    voters_of,
    webhook,
)
from tests.support.gateways import OTHER_USER, USER, ThreadGateway, eventually, running
from tests.support.suspended_endpoints import ONCE, cast, hold, listed, probed, suspend, trying_once
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"
DAY = 86_400


@pytest.fixture
def gateway(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with trying_once(tmp_path / "data", receiver) as gateway:
        yield gateway


def test_after_a_delivered_probe_all_waiting_events_arrive_in_order_at_a_pace_and_once(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    held = hold(gateway, receiver, 20)

    gateway.advance(60)
    eventually(lambda: webhook(gateway)["suspension"] is None)
    arrive(gateway, receiver, 2)

    for arrived in range(3, 21):
        gateway.advance(0.019)
        assert idle(gateway)
        assert len(receiver.received) == arrived - 1
        gateway.advance(0.001)
        arrive(gateway, receiver, arrived)
    assert voters_of(receiver) == held
    assert (pending(gateway), webhook(gateway)["failed_in_a_row"]) == (0, 0)
    assert counts(gateway)["endpoints_suspended"] == 0
    assert len({call.headers["webhook-id"] for call in receiver.received}) == 20


def test_an_event_that_probed_is_delivered_later_under_its_id(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)
    gateway.cast(OTHER_USER)
    gateway.advance(60)
    attempted(gateway, 1)
    receiver.default = status(204)
    eventually(lambda: webhook(gateway)["suspension"]["probes_failed"] == 1)

    gateway.advance(120)

    delivery = attempted(gateway, 2)
    assert (delivery["state"], delivery["user"]) == ("delivered", OTHER_USER)
    assert [call.headers["webhook-id"] for call in receiver.received[-2:]] == [delivery["id"]] * 2


def test_a_suspension_and_its_waiting_events_survive_a_restart(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)
    held = users(3, first=100)
    cast(gateway, held)
    probed(gateway, receiver)
    shown = webhook(gateway)

    gateway.restart(seconds_down=1)

    assert webhook(gateway) == shown
    assert counts(gateway)["endpoints_suspended"] == 1
    assert probed(gateway, receiver)["probes_failed"] == 2
    receiver.received.clear()
    receiver.default = status(204)
    gateway.advance(240)
    eventually(lambda: caught_up(gateway))
    assert voters_of(receiver) == held


def test_the_pace_of_waiting_events_survives_a_restart(gateway: ThreadGateway, receiver: Receiver) -> None:
    held = hold(gateway, receiver, 10)
    gateway.advance(60)
    arrive(gateway, receiver, 2)

    gateway.restart()

    arrive(gateway, receiver, 3)
    eventually(lambda: caught_up(gateway))
    assert voters_of(receiver) == held


@pytest.mark.parametrize("elsewhere", [False, True])
def test_saving_the_settings_lifts_a_suspension(
    gateway: ThreadGateway, receiver: Receiver, elsewhere: bool
) -> None:
    held = hold(gateway, receiver, 3)

    set_webhook(gateway, receiver.url + "/elsewhere" * elsewhere)

    shown = webhook(gateway)
    assert (shown["suspension"], shown["failed_in_a_row"]) == (None, 0)
    eventually(lambda: caught_up(gateway))
    assert voters_of(receiver) == held
    assert counts(gateway)["endpoints_suspended"] == 0


def test_a_test_goes_to_a_suspended_endpoint_and_lifts_the_suspension_if_it_succeeds(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    held = hold(gateway, receiver, 3)

    tested = gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    assert tested["state"] == "delivered"
    assert webhook(gateway)["suspension"] is None
    eventually(lambda: caught_up(gateway))
    assert voters_of(receiver) == [USER, *held]


def test_a_test_that_fails_neither_lifts_nor_prolongs_a_suspension(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)
    cast(gateway, users(3, first=100))
    shown = webhook(gateway)

    tested = gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    assert (tested["state"], tested["error"]) == ("failed", "http_500")
    assert webhook(gateway) == shown
    assert len(receiver.received) == 11


def test_removing_the_webhook_of_a_suspended_endpoint_removes_its_waiting_events(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)
    cast(gateway, users(3, first=100))

    gateway.done("DELETE", WEBHOOK)

    assert (pending(gateway), counts(gateway)["endpoints_suspended"]) == (0, 0)
    gateway.advance(3_600)
    assert idle(gateway)
    assert len(receiver.received) == 10


def test_events_beyond_the_limit_of_waiting_ones_are_in_the_log_as_overflow(
    tmp_path: Path, receiver: Receiver
) -> None:
    settings = ONCE | {"webhooks.suspend_after": 1, "webhooks.pending_per_endpoint": 3}
    with running(tmp_path / "narrow", **settings) as gateway:
        listed(gateway, receiver)
        suspend(gateway, receiver, events=1)
        kept, lost = users(3, first=100), users(2, first=200)

        cast(gateway, kept + lost)

        assert webhook(gateway)["pending"] == 3
        rows = [row for row in deliveries(gateway) if row["user"] in lost]
        assert {(row["state"], row["error"], row["next_attempt_at"]) for row in rows} == {
            ("failed", "overflow", None)
        }
        assert [row["attempts"] for row in rows] == [[], []]
        votes = gateway.done("POST", f"{BOT_PATH}/votes/check", {"users": lost})["votes"]
        assert [vote["voted"] for vote in votes] == [True, True]
        refused = gateway.operate("POST", f"{WEBHOOK}/deliveries/{rows[0]['id']}/redeliver")
        assert refusal(refused) == (409, "Too many deliveries wait for this endpoint.")

        receiver.received.clear()
        receiver.default = status(204)
        gateway.advance(60)
        eventually(lambda: caught_up(gateway))
        assert voters_of(receiver) == kept
        gateway.done("POST", f"{WEBHOOK}/deliveries/redeliver", {"failed_since": 0})
        eventually(lambda: caught_up(gateway))
        assert voters_of(receiver) == [*kept, *users(1), *lost]


def test_an_event_that_has_waited_for_14_days_is_in_the_log_as_expired(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    suspend(gateway, receiver)
    old, young = users(2, first=100), users(1, first=200)
    cast(gateway, old)
    gateway.advance(13 * DAY)
    cast(gateway, young)
    eventually(lambda: idle(gateway) and webhook(gateway)["suspension"]["probes_failed"])
    sent = len(receiver.received)

    gateway.advance(DAY)

    arrive(gateway, receiver, sent + 1)
    rows = {row["user"]: row for row in deliveries(gateway)}
    assert {(rows[user]["state"], rows[user]["error"]) for user in old} == {("failed", "expired")}
    assert (rows[young[0]]["state"], voters_of(receiver)[-1]) == ("pending", young[0])
