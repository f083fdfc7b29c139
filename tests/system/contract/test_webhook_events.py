"""Webhooks that take events about decisions on their listing."""

import json
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, arrive, set_webhook
from tests.support.gateways import BOT_SUBMISSION, SERVER, SERVER_SUBMISSION, ThreadGateway
from tests.support.webhook_receiver import Receiver

SERVER_PATH = f"/manage/servers/{SERVER}"
REASON = "Say what it is about."
DECISIONS: dict[str, tuple[str, dict[str, str]]] = {
    "review.approved": ("approve", {}),
    "review.denied": ("deny", {"reason": REASON}),
}


@pytest.fixture(params=[BOT_PATH, SERVER_PATH], ids=["bot", "server"])
def path(request: pytest.FixtureRequest, gateway: ThreadGateway) -> str:
    """A listing in review."""
    path: str = request.param
    submission = BOT_SUBMISSION if path == BOT_PATH else SERVER_SUBMISSION
    gateway.done("POST", path.rpartition("/")[0], submission)
    return path


def logged(gateway: ThreadGateway, path: str, kind: str) -> list[tuple[str, Any]]:
    """The types and the users of the deliveries of an event, as the log shows them."""
    found = gateway.done("GET", f"{path}/webhook/deliveries?type={kind}")["deliveries"]
    return [(each["type"], each["user"]) for each in found]


@pytest.mark.parametrize("event", DECISIONS)
def test_an_endpoint_that_takes_the_event_gets_the_decision(
    gateway: ThreadGateway, receiver: Receiver, path: str, event: str
) -> None:
    set_webhook(gateway, receiver.url, path, events=[*DECISIONS])
    call, body = DECISIONS[event]

    gateway.done("POST", f"{path}/{call}", body)

    arrive(gateway, receiver, 1)
    (sent,) = receiver.received
    listing = {"bot" if path == BOT_PATH else "guild": path.rpartition("/")[2]}
    assert json.loads(sent.body) == {"type": event, **listing, "at": gateway.clock.now_ms(), **body}
    assert logged(gateway, path, event) == [(event, None)]


def test_a_withdrawn_approval_is_sent_as_a_denial(
    gateway: ThreadGateway, receiver: Receiver, path: str
) -> None:
    set_webhook(gateway, receiver.url, path, events=["review.denied"])
    gateway.done("POST", f"{path}/approve", {})
    gateway.done("POST", f"{path}/withdraw", {"reason": REASON})
    arrive(gateway, receiver, 1)
    (sent,) = receiver.received
    told = json.loads(sent.body)
    assert (told["type"], told["reason"]) == ("review.denied", REASON)
    assert logged(gateway, path, "review.denied") == [("review.denied", None)]


@pytest.mark.parametrize("event", DECISIONS)
def test_an_endpoint_that_takes_only_votes_gets_no_decision(
    gateway: ThreadGateway, receiver: Receiver, path: str, event: str
) -> None:
    set_webhook(gateway, receiver.url, path)
    call, body = DECISIONS[event]
    gateway.done("POST", f"{path}/{call}", body)
    assert logged(gateway, path, event) == []


def test_an_endpoint_that_leaves_votes_out_gets_none(
    gateway: ThreadGateway, receiver: Receiver, path: str
) -> None:
    set_webhook(gateway, receiver.url, path, events=["review.approved"])
    gateway.done("POST", f"{path}/approve", {})
    gateway.cast(path=path)
    arrive(gateway, receiver, 1)
    assert logged(gateway, path, "vote") == []
    assert logged(gateway, path, "review.approved") == [("review.approved", None)]
