"""The log of webhook deliveries, and redelivery by hand."""

import json
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, attempted, deliveries, pending, refusal, set_webhook
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, OWNER, USER, ThreadGateway, eventually
from tests.support.webhook_receiver import Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"


@pytest.fixture(autouse=True)
def _listed(gateway: ThreadGateway, receiver: Receiver) -> None:
    """An approved bot with a webhook."""
    gateway.list_bot()
    set_webhook(gateway, receiver.url)


def fail_for_good(gateway: ThreadGateway, receiver: Receiver) -> str:
    """The id of a vote's delivery that has failed four times."""
    receiver.answers = [status(500)] * 4
    gateway.cast()
    for attempts in range(1, 4):
        attempted(gateway, attempts)
        gateway.advance(5)
    delivery = attempted(gateway, 4)
    assert delivery["state"] == "failed"
    gateway.advance(1)
    delivery_id: str = delivery["id"]
    return delivery_id


def test_the_log_is_newest_first(gateway: ThreadGateway) -> None:
    for user in (USER, OTHER_USER):
        gateway.cast(user)
        eventually(lambda: pending(gateway) == 0)
        gateway.advance(1)
    gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})

    assert [(row["user"], row["test"]) for row in deliveries(gateway)] == [
        (USER, True),
        (OTHER_USER, False),
        (USER, False),
    ]


def test_the_log_is_newest_first_within_a_millisecond(gateway: ThreadGateway) -> None:
    for user in (USER, OTHER_USER):
        gateway.cast(user)
        eventually(lambda: pending(gateway) == 0)

    assert [row["user"] for row in deliveries(gateway)] == [OTHER_USER, USER]


def test_the_log_comes_in_pages(gateway: ThreadGateway) -> None:
    for user in (USER, OTHER_USER, OWNER):
        gateway.cast(user)
        eventually(lambda: pending(gateway) == 0)

    first = gateway.done("GET", f"{WEBHOOK}/deliveries?limit=2")
    second = gateway.done("GET", f"{WEBHOOK}/deliveries?limit=2&after={first['next']}")

    assert [row["user"] for row in first["deliveries"]] == [OWNER, OTHER_USER]
    assert ([row["user"] for row in second["deliveries"]], second["next"]) == ([USER], None)


def test_the_log_is_asked_for_one_state(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(204), status(500)]
    for user in (USER, OTHER_USER):
        gateway.cast(user)
        eventually(lambda: all(row["attempts"] for row in deliveries(gateway)))

    found = {
        state: [
            row["user"] for row in gateway.done("GET", f"{WEBHOOK}/deliveries?state={state}")["deliveries"]
        ]
        for state in ("delivered", "pending", "failed")
    }
    assert found == {"delivered": [USER], "pending": [OTHER_USER], "failed": []}
    response = gateway.operate("GET", f"{WEBHOOK}/deliveries?state=lost")
    assert (response.status_code, list(response.json()["fields"])) == (400, ["state"])


def test_behind_a_delivery_that_is_no_longer_kept_come_the_older_ones(gateway: ThreadGateway) -> None:
    gateway.cast()
    queued_ms = gateway.clock.now_ms()
    for forgotten, found in ((queued_ms, 0), (queued_ms + 1, 1)):
        page = gateway.done("GET", f"{WEBHOOK}/deliveries?after={forgotten}-{'0' * 24}")
        assert (len(page["deliveries"]), page["next"]) == (found, None)


def test_a_cursor_of_another_list_is_refused(gateway: ThreadGateway) -> None:
    response = gateway.operate("GET", f"{WEBHOOK}/deliveries?after={BOT}")
    assert (response.status_code, list(response.json()["fields"])) == (400, ["after"])


def test_the_head_of_the_log_is_that_of_its_get(gateway: ThreadGateway) -> None:
    head = gateway.operate("HEAD", f"{WEBHOOK}/deliveries?limit=1")
    assert (head.status_code, head.content) == (200, b"")
    assert gateway.operate("HEAD", f"{WEBHOOK}/deliveries?limit=0").status_code == 400


def test_the_log_shows_every_attempt(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(500, b"not now")]
    gateway.cast()
    queued_ms = gateway.clock.now_ms()
    failed = attempted(gateway, 1)
    first: dict[str, Any] = {
        "at": queued_ms,
        "duration_ms": 0,
        "status": 500,
        "error": "http_500",
        "excerpt": "not now",
    }
    assert failed["attempts"] == [first]
    assert (failed["queued_at"], failed["next_attempt_at"]) == (queued_ms, queued_ms + 5_000)

    gateway.advance(5)

    second = {"at": queued_ms + 5_000, "duration_ms": 0, "status": 204, "error": None, "excerpt": ""}
    assert attempted(gateway, 2)["attempts"] == [first, second]


def test_the_log_survives_a_restart(gateway: ThreadGateway) -> None:
    gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})
    before = deliveries(gateway)

    gateway.restart()

    assert deliveries(gateway) == before


def test_a_failed_delivery_is_redelivered_under_the_same_id(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    delivery_id = fail_for_good(gateway, receiver)

    again = gateway.done("POST", f"{WEBHOOK}/deliveries/{delivery_id}/redeliver")

    assert (again["id"], again["state"], again["status"]) == (delivery_id, "delivered", 204)
    assert [row["status"] for row in again["attempts"]] == [500, 500, 500, 500, 204]
    assert [row["id"] for row in deliveries(gateway)] == [delivery_id]
    assert json.loads(receiver.received[-1].body) == {"bot": BOT, "user": USER, "test": False}


def test_a_redelivery_within_a_millisecond_is_recorded(gateway: ThreadGateway) -> None:
    delivery_id = gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})["id"]

    again = gateway.done("POST", f"{WEBHOOK}/deliveries/{delivery_id}/redeliver")

    assert (again["state"], len(again["attempts"])) == ("delivered", 2)
    assert pending(gateway) == 0


def test_a_redelivery_that_fails_is_tried_again_3_times(gateway: ThreadGateway, receiver: Receiver) -> None:
    delivery_id = fail_for_good(gateway, receiver)
    receiver.default = status(500)

    gateway.done("POST", f"{WEBHOOK}/deliveries/{delivery_id}/redeliver", {})

    for attempts in range(5, 8):
        assert attempted(gateway, attempts)["state"] == "pending"
        gateway.advance(5)
    assert attempted(gateway, 8)["state"] == "failed"


def test_a_pending_delivery_cannot_be_redelivered(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = status(500)
    gateway.cast()
    delivery = attempted(gateway, 1)

    response = gateway.operate("POST", f"{WEBHOOK}/deliveries/{delivery['id']}/redeliver")

    assert refusal(response) == (409, "The delivery is still pending.")
    assert deliveries(gateway) == [delivery]


def test_a_delivery_of_another_listing_is_404(gateway: ThreadGateway, receiver: Receiver) -> None:
    delivery_id = gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})["id"]
    other = f"/manage/bots/{OTHER_BOT}"
    gateway.list_bot(OTHER_BOT)
    set_webhook(gateway, receiver.url, other)

    response = gateway.operate("POST", f"{other}/webhook/deliveries/{delivery_id}/redeliver")

    assert refusal(response) == (404, "The listing has no such delivery.")
