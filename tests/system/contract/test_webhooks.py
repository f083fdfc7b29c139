"""The vote webhook: its requests, and the answers that count as delivered."""

import json
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, attempted, deliveries, endless, pending, set_webhook
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, OWNER, SERVER, USER, ThreadGateway, eventually
from tests.support.webhook_receiver import Receiver, status

SERVER_PATH = f"/manage/servers/{SERVER}"


@pytest.fixture(autouse=True)
def _listed(gateway: ThreadGateway, receiver: Receiver) -> None:
    """An approved bot with a webhook."""
    gateway.list_bot()
    set_webhook(gateway, receiver.url + "/votes")


def sent(receiver: Receiver) -> Any:
    """The JSON of the only request received."""
    (call,) = eventually(lambda: receiver.received)
    return json.loads(call.body)


def test_a_vote_for_a_bot_sends_bot_user_and_test_false(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.cast()

    assert sent(receiver) == {"bot": BOT, "user": USER, "test": False}


def test_a_vote_for_a_server_sends_guild_user_and_test_false(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    gateway.list_server()
    set_webhook(gateway, receiver.url, SERVER_PATH)

    gateway.cast(path=SERVER_PATH)

    assert sent(receiver) == {"guild": SERVER, "user": USER, "test": False}


@pytest.mark.parametrize("path", [BOT_PATH, SERVER_PATH], ids=["bot", "server"])
def test_a_test_sends_user_and_test_true_with_no_bot_and_no_guild(
    gateway: ThreadGateway, receiver: Receiver, path: str
) -> None:
    gateway.list_server()
    set_webhook(gateway, receiver.url, SERVER_PATH)

    gateway.done("POST", f"{path}/webhook/test", {"user": USER})

    assert sent(receiver) == {"user": USER, "test": True}


@pytest.mark.parametrize("body", [None, {}, {"user": None}])
def test_a_test_without_a_user_names_the_owner_of_the_listing(
    gateway: ThreadGateway, receiver: Receiver, body: dict[str, None] | None
) -> None:
    set_webhook(gateway, receiver.url)

    tested = gateway.operate("POST", f"{BOT_PATH}/webhook/test", body)

    assert (tested.status_code, tested.json()["user"]) == (200, OWNER)
    assert sent(receiver) == {"user": OWNER, "test": True}


def test_it_is_a_post_of_json_to_the_configured_url(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url + "/hooks/votes?from=votegate&x=%2F")

    gateway.cast()

    (call,) = eventually(lambda: receiver.received)
    assert (call.method, call.path) == ("POST", "/hooks/votes?from=votegate&x=%2F")
    assert call.headers["content-type"] == "application/json"


def test_the_token_is_sent_as_the_authorization_header(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url, token="Shared secret: 42!")

    gateway.cast()

    assert eventually(lambda: receiver.received)[0].headers["authorization"] == "Shared secret: 42!"


def test_without_a_token_no_authorization_header_is_sent(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.cast()

    assert "authorization" not in eventually(lambda: receiver.received)[0].headers


def test_the_first_attempt_is_made_without_waiting(gateway: ThreadGateway) -> None:
    gateway.cast()

    (attempt,) = attempted(gateway, 1)["attempts"]
    assert attempt["at"] == gateway.clock.now_ms()


def test_every_vote_is_sent_to_the_webhook_of_its_listing_alone(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    gateway.list_bot(OTHER_BOT)
    gateway.list_server()

    gateway.cast(path=f"/manage/bots/{OTHER_BOT}")
    gateway.cast(path=SERVER_PATH)
    gateway.cast(USER)
    gateway.cast(OTHER_USER)

    eventually(lambda: len(receiver.received) == 2)
    assert {json.loads(call.body)["user"] for call in receiver.received} == {USER, OTHER_USER}
    assert deliveries(gateway, SERVER_PATH) == []


def test_a_vote_refused_by_the_cooldown_sends_nothing(gateway: ThreadGateway) -> None:
    gateway.cast()

    assert gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 409

    assert len(deliveries(gateway)) == 1


@pytest.mark.parametrize("code", [200, 201, 202, 204, 206, 299])
def test_a_status_from_200_to_299_counts_as_delivered(
    gateway: ThreadGateway, receiver: Receiver, code: int
) -> None:
    receiver.default = status(code)

    gateway.cast()

    delivery = attempted(gateway, 1)
    assert (delivery["state"], delivery["status"], delivery["error"]) == ("delivered", code, None)
    assert (delivery["next_attempt_at"], pending(gateway)) == (None, 0)


def test_an_answer_is_read_to_16_kib_and_no_further(gateway: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = endless(receiver, 20_000)

    gateway.cast()

    delivery = attempted(gateway, 1)
    assert (delivery["state"], delivery["excerpt"]) == ("delivered", "x" * 500)
