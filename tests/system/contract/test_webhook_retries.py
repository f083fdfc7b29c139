"""Retries of a webhook that was not delivered: which failures, when, and for how long."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, attempted, deliveries, endless, pending, set_webhook
from tests.support.gateways import ThreadGateway, running
from tests.support.webhook_receiver import Answer, Receiver, drop, status

RETRY_MS = 5_000
FAILURES: dict[str, tuple[Answer, int | None, str]] = {
    "300": (status(300), 300, "http_300"),
    "redirect": (status(302, Location="/elsewhere"), 302, "http_302"),
    "permanent redirect": (status(308, Location="/elsewhere"), 308, "http_308"),
    "400": (status(400), 400, "http_400"),
    "404": (status(404), 404, "http_404"),
    "429": (status(429), 429, "http_429"),
    "500": (status(500), 500, "http_500"),
    "503": (status(503), 503, "http_503"),
    "dropped": (drop, None, "reset"),
}
"""An answer, with the status and the error class that the log shows for it."""


@pytest.fixture(autouse=True)
def _listed(gateway: ThreadGateway, receiver: Receiver) -> None:
    """An approved bot with a webhook."""
    gateway.list_bot()
    set_webhook(gateway, receiver.url + "/votes")


@pytest.fixture
def refused_url() -> Iterator[str]:
    """A URL that refuses every connection: the port is taken and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"


def retry(gateway: ThreadGateway, attempts: int) -> Any:
    """Lets the delay pass; returns the delivery after that many attempts."""
    gateway.advance(RETRY_MS / 1_000)
    return attempted(gateway, attempts)


@pytest.mark.parametrize(("answer", "code", "error"), FAILURES.values(), ids=FAILURES)
def test_any_failure_is_tried_again_5_seconds_after_it(
    gateway: ThreadGateway, receiver: Receiver, answer: Answer, code: int | None, error: str
) -> None:
    receiver.answers = [answer]
    gateway.cast()

    failed = attempted(gateway, 1)
    assert (failed["state"], failed["status"], failed["error"]) == ("pending", code, error)
    assert failed["next_attempt_at"] == gateway.clock.now_ms() + RETRY_MS

    assert retry(gateway, 2)["state"] == "delivered"
    assert {call.path for call in receiver.received} == {"/votes"}
    assert len({call.body for call in receiver.received}) == 1


def test_a_refused_connection_is_tried_again(
    gateway: ThreadGateway, receiver: Receiver, refused_url: str
) -> None:
    set_webhook(gateway, refused_url)
    gateway.cast()
    failed = attempted(gateway, 1)
    assert (failed["state"], failed["status"], failed["error"]) == ("pending", None, "refused")

    set_webhook(gateway, receiver.url)

    assert retry(gateway, 2)["state"] == "delivered"


def test_a_failed_tls_handshake_is_tried_again(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url.replace("http:", "https:"))
    gateway.cast()

    failed = attempted(gateway, 1)
    assert (failed["state"], failed["status"], failed["error"]) == ("pending", None, "tls")


@pytest.mark.parametrize("part", ["nothing", "a part of the body"])
def test_an_answer_that_is_not_complete_in_time_is_tried_again(
    tmp_path: Path, receiver: Receiver, part: str
) -> None:
    with running(tmp_path / "impatient", **{"webhooks.timeout_seconds": 0.1}) as gateway:
        gateway.list_bot()
        set_webhook(gateway, receiver.url)
        receiver.answers = [receiver.hang if part == "nothing" else endless(receiver, 100)]
        gateway.cast()

        failed = attempted(gateway, 1)
        assert (failed["state"], failed["status"], failed["error"]) == ("pending", None, "timeout")
        assert failed["next_attempt_at"] == gateway.clock.now_ms() + RETRY_MS


def test_the_delay_begins_with_the_failure(gateway: ThreadGateway, receiver: Receiver) -> None:
    def fail_slowly(handler: BaseHTTPRequestHandler) -> None:
        gateway.clock.advance(3)
        status(500)(handler)

    receiver.answers = [fail_slowly]
    gateway.cast()

    failed = attempted(gateway, 1)

    assert failed["duration_ms"] == 3_000
    assert failed["next_attempt_at"] == failed["queued_at"] + 3_000 + RETRY_MS


def test_no_attempt_is_made_before_the_delay_has_passed(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(500)]
    gateway.cast()
    attempted(gateway, 1)

    gateway.advance((RETRY_MS - 1) / 1_000)
    assert gateway.done("GET", "/debug/overview.json")["counts"]["webhooks_in_flight"] == 0
    assert len(deliveries(gateway)[0]["attempts"]) == 1

    gateway.advance(0.001)
    assert attempted(gateway, 2)["state"] == "delivered"


def test_after_3_retries_delivery_stops_and_the_event_is_not_queued_again(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(500)
    gateway.cast()
    voted_ms = gateway.clock.now_ms()
    attempted(gateway, 1)
    retry(gateway, 2)
    retry(gateway, 3)

    failed = retry(gateway, 4)

    assert [attempt["at"] - voted_ms for attempt in failed["attempts"]] == [0, 5_000, 10_000, 15_000]
    assert (failed["state"], failed["next_attempt_at"], pending(gateway)) == ("failed", None, 0)
    gateway.advance(86_400)
    gateway.restart()
    assert len(deliveries(gateway)[0]["attempts"]) == len(receiver.received) == 4


def test_a_delivered_event_is_not_sent_again(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(500)]
    gateway.cast()
    attempted(gateway, 1)

    assert retry(gateway, 2)["state"] == "delivered"

    assert pending(gateway) == 0
    gateway.restart(seconds_down=86_400)
    assert len(deliveries(gateway)[0]["attempts"]) == len(receiver.received) == 2


def test_a_pending_attempt_survives_a_restart(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(500), status(500)]
    gateway.cast()
    attempted(gateway, 1)

    gateway.restart(seconds_down=1)

    assert deliveries(gateway)[0]["next_attempt_at"] == gateway.clock.now_ms() + RETRY_MS - 1_000
    assert retry(gateway, 2)["state"] == "pending"
    assert retry(gateway, 3)["state"] == "delivered"
    assert len(receiver.received) == 3


def test_an_attempt_that_came_due_while_the_gateway_was_down_is_made_at_its_start(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.answers = [status(500)]
    gateway.cast()
    attempted(gateway, 1)

    gateway.restart(seconds_down=3_600)

    assert attempted(gateway, 2)["state"] == "delivered"


def test_a_webhook_removed_takes_its_pending_attempts_with_it(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(500)
    gateway.cast()
    attempted(gateway, 1)

    gateway.done("DELETE", f"{BOT_PATH}/webhook")

    assert (pending(gateway), deliveries(gateway)) == (0, [])
    gateway.advance(3_600)
    assert gateway.done("GET", "/debug/overview.json")["counts"]["webhooks_in_flight"] == 0
