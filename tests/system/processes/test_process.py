"""The process on its host: a stop finishes running requests, and a kill loses no acknowledged change."""

import contextlib
import http.client
import json
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from settings.model import load_settings
from snapshot.files import list_snapshots
from tests.support.contract import idle, pending
from tests.support.gateways import (
    BOT,
    OTHER_BOT,
    USER,
    WAIT_SECONDS,
    Client,
    ProcessGateway,
    eventually,
    folded_digest,
)
from tests.support.journals import set_aside
from tests.support.raw_http_client import HEALTH, OPERATOR, calling, request
from tests.support.webhook_receiver import Receiver, accept_when_released, status

STOPPED = re.compile(r"stopped at position (\d+)")


class Caller(Client):
    """A client for another thread. It keeps the users whose votes were acknowledged."""

    def __init__(self, gateway: ProcessGateway) -> None:
        super().__init__()
        self.base_url, self.operator_token = gateway.base_url, gateway.operator_token
        self.acknowledged: list[str] = []
        self.answer: Any = None
        self._thread: threading.Thread | None = None

    def start(self, call: Callable[["Caller"], None]) -> "Caller":
        """Calls in a thread, until the gateway is gone."""

        def run() -> None:
            with contextlib.suppress(requests.ConnectionError), contextlib.closing(self.session):
                call(self)

        self._thread = threading.Thread(target=run)
        self._thread.start()
        return self

    def join(self) -> None:
        assert self._thread is not None
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def kept(served: ProcessGateway) -> Iterator[Callable[[str], int]]:
    """GETs the status of a path over one connection, kept open as a load balancer's check may keep it."""
    connection = http.client.HTTPConnection(served.base_url.removeprefix("http://"))

    def get(path: str) -> int:
        connection.request("GET", path)
        with connection.getresponse() as response:
            response.read()
            return response.status

    with contextlib.closing(connection):
        yield get


@pytest.fixture
def served(process: ProcessGateway, receiver: Receiver) -> Iterator[ProcessGateway]:
    """A gateway with long timeouts, for busy machines, and a bot whose webhook goes to the receiver."""
    process.environment |= {
        "VOTEGATE_WEBHOOKS__TIMEOUT_SECONDS": "10",
        "VOTEGATE_SERVER__DRAIN_SECONDS": "12",
    }
    process.start()
    process.list_bot()
    process.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": receiver.url})
    yield process
    receiver.released.set()


def send_test(caller: Caller) -> None:
    user = "777777777777777777"
    caller.answer = caller.done("POST", f"/manage/bots/{BOT}/webhook/test", {"user": user})


def stopped_at(gateway: ProcessGateway) -> int:
    """The position at which a clean stop ended; everything up to there is in a snapshot and the journal."""
    found = STOPPED.search(gateway.log)
    assert found is not None, gateway.log
    position = int(found[1])
    assert list_snapshots(gateway.folder)[-1][0] == position
    return position


def refuses_connections(gateway: ProcessGateway) -> bool:
    try:
        requests.get(gateway.base_url + "/healthz", timeout=WAIT_SECONDS)
    except requests.ConnectionError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_the_running_request_refuses_new_ones_and_saves_everything(
    served: ProcessGateway, receiver: Receiver, kept: Callable[[str], int], number: signal.Signals
) -> None:
    accept_when_released(receiver)
    assert kept("/readyz") == 200
    caller = Caller(served).start(send_test)
    eventually(lambda: receiver.received)

    served.process.send_signal(number)
    eventually(lambda: refuses_connections(served))
    assert served.process.poll() is None

    receiver.released.set()
    caller.join()
    assert caller.answer["state"] == "delivered"
    assert served.process.wait(WAIT_SECONDS) == 0
    eventually(lambda: "stopped at position" in served.log)
    stopped_at(served)


def test_a_stop_waits_for_a_request_whose_body_is_still_to_come_and_for_its_webhook(
    served: ProcessGateway, receiver: Receiver, kept: Callable[[str], int]
) -> None:
    body = b'{"user": "777777777777777777"}'
    head = (
        f"POST /manage/bots/{BOT}/webhook/test HTTP/1.1\r\nHost: gateway\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {served.operator_token}\r\nExpect: 100-continue\r\n\r\n"
    )
    host, port = served.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), WAIT_SECONDS) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100 ")
        assert kept("/readyz") == 200
        served.process.send_signal(signal.SIGTERM)
        eventually(lambda: refuses_connections(served))
        connection.sendall(body)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert b'"state":"delivered"' in answer
    assert len(receiver.received) == 1
    assert served.process.wait(WAIT_SECONDS) == 0


def test_a_stop_may_go_on_serving_for_a_while_that_load_balancers_can_see(served: ProcessGateway) -> None:
    served.signal(signal.SIGTERM)
    served.environment["VOTEGATE_SERVER__GRACE_SECONDS"] = "2"
    served.start()

    def status_of(path: str) -> int:
        return requests.get(served.base_url + path, timeout=WAIT_SECONDS).status_code

    assert status_of("/readyz") == 200
    key = served.list_bot(OTHER_BOT)
    served.session.close()
    check = request("GET", f"/bots/{OTHER_BOT}/voters/{USER}", f"Authorization: {key}")
    asked = [check, HEALTH, request("GET", "/nowhere"), request("GET", "/manage/votes", OPERATOR)]
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(calling(served.base_url)) for _ in asked]
        assert not any(caller.ask(data).closes for caller, data in zip(kept, asked, strict=True))
        served.process.send_signal(signal.SIGTERM)
        eventually(lambda: status_of("/readyz") == 503)
        assert status_of("/healthz") == 200
        for caller, data in zip(kept, asked, strict=True):
            assert caller.ask(data).closes, "the last answer of a kept connection says so"
            assert caller.at_end()
    assert served.process.wait(WAIT_SECONDS) == 0


def test_a_stop_saves_what_a_start_recovers(served: ProcessGateway) -> None:
    for number in range(5):
        served.cast(user=str(500000000000000000 + number))
    eventually(lambda: pending(served) == 0)
    state = served.done("GET", "/debug/data.json")
    assert served.signal(signal.SIGTERM) == 0
    assert stopped_at(served) == state["positions"]["head"]
    assert folded_digest(served.folder, load_settings(None, {}, {})) == state["digest"]

    served.start()
    after = served.done("GET", "/debug/data.json")
    assert (after["digest"], after["positions"]["head"]) == (state["digest"], state["positions"]["head"])


def test_a_stop_waits_no_longer_than_it_may_and_leaves_the_webhook_for_the_next_start(
    served: ProcessGateway, receiver: Receiver
) -> None:
    served.signal(signal.SIGTERM)
    served.environment |= {
        "VOTEGATE_SERVER__DRAIN_SECONDS": "0.2",
        "VOTEGATE_WEBHOOKS__TIMEOUT_SECONDS": "300",
    }
    served.start()
    accept_when_released(receiver)
    caller = Caller(served).start(send_test)
    eventually(lambda: receiver.received)

    assert served.signal(signal.SIGTERM) == 0

    caller.join()
    receiver.released.set()
    served.start()
    (delivery,) = eventually(
        lambda: [
            delivery
            for delivery in served.done("GET", f"/manage/bots/{BOT}/webhook/deliveries")["deliveries"]
            if delivery["state"] == "delivered"
        ]
    )
    assert delivery["test"] is True


def test_a_kill_loses_no_vote_that_was_acknowledged(served: ProcessGateway, receiver: Receiver) -> None:
    def cast_votes(first_user: int) -> Callable[[Caller], None]:
        def cast(caller: Caller) -> None:
            for user in map(str, range(first_user, first_user + 10_000)):
                caller.cast(user=user)
                caller.acknowledged.append(user)

        return cast

    callers = [Caller(served).start(cast_votes(n * 100_000_000_000_000_000)) for n in range(1, 5)]
    eventually(lambda: min(len(caller.acknowledged) for caller in callers) >= 20)
    served.signal(signal.SIGKILL)
    for caller in callers:
        caller.join()

    served.start()
    for caller in callers:
        for start in range(0, len(caller.acknowledged), 1_000):
            users = caller.acknowledged[start : start + 1_000]
            votes = served.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": users})["votes"]
            assert [vote["user"] for vote in votes if vote["voted"] and vote["vote"] == 1] == users
    eventually(lambda: pending(served) == 0)
    told = {json.loads(received.body)["user"] for received in receiver.received}
    assert {user for caller in callers for user in caller.acknowledged} <= told
    assert served.done("POST", "/debug/verify")["equal"] is True


def test_webhooks_that_were_pending_when_the_process_was_killed_are_delivered_after_a_restart(
    served: ProcessGateway, receiver: Receiver
) -> None:
    receiver.default = receiver.hang
    users = [str(500000000000000000 + number) for number in range(5)]
    for user in users:
        served.cast(user=user)
    eventually(lambda: receiver.received)
    served.signal(signal.SIGKILL)
    receiver.received.clear()
    receiver.default = status(204)

    served.start()

    eventually(lambda: pending(served) == 0)
    delivered = [received.body.decode() for received in receiver.received]
    assert delivered == [f'{{"bot":"{BOT}","user":"{user}","test":false}}' for user in users]
    assert served.done("POST", "/debug/verify")["equal"] is True


def test_a_kill_in_the_middle_of_a_write_is_logged_and_the_gateway_serves(served: ProcessGateway) -> None:
    served.cast()
    eventually(lambda: pending(served) == 0 and idle(served))
    digest = served.done("GET", "/debug/data.json")["digest"]
    served.signal(signal.SIGKILL)
    (segment,) = served.folder.glob("journal-*")
    with segment.open("ab") as file:
        file.write(b"half a frame")

    served.start()

    assert served.done("GET", "/debug/data.json")["digest"] == digest
    assert "was set aside" in served.log
    assert set_aside(served.folder) == [b"half a frame"]
