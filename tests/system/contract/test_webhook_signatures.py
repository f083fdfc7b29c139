"""Proofs of a genuine webhook: an id that stays, a timestamp of each attempt, and signatures."""

import base64
import hmac
import json
from typing import Any

import pytest

from core.version import VERSION
from tests.support.contract import BOT_PATH, attempted, idle, refusal, set_webhook, webhook
from tests.support.gateways import BOT, OTHER_USER, SERVER, USER, ThreadGateway, eventually
from tests.support.webhook_receiver import Received, Receiver, status

WEBHOOK = f"{BOT_PATH}/webhook"
SERVER_PATH = f"/manage/servers/{SERVER}"


@pytest.fixture(autouse=True)
def _listed(gateway: ThreadGateway) -> None:
    gateway.list_bot()


def first_saved(gateway: ThreadGateway, url: str, path: str = BOT_PATH, **fields: Any) -> str:
    """Save a webhook for the first time. Return its secret."""
    secret: str = gateway.done("PUT", f"{path}/webhook", {"url": url, **fields})["secret"]
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    return secret


def rotated(gateway: ThreadGateway, **fields: int) -> str:
    secret: str = gateway.done("POST", f"{WEBHOOK}/secret/rotate", fields)["secret"]
    return secret


def signature(secret: str, call: Received) -> str:
    """Return the signature of a request with the secret, by Standard Webhooks."""
    content = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def signatures(call: Received) -> list[str]:
    return call.headers["webhook-signature"].split(" ")


def sent_test(gateway: ThreadGateway, receiver: Receiver) -> Received:
    """Send a test. Return its request."""
    before = len(receiver.received)
    assert gateway.done("POST", f"{WEBHOOK}/test", {"user": USER})["state"] == "delivered"
    (call,) = receiver.received[before:]
    return call


def test_a_request_is_exactly_what_the_contract_says(gateway: ThreadGateway, receiver: Receiver) -> None:
    secret = first_saved(gateway, receiver.url + "/votes", token="my-webhook-token")

    gateway.cast()

    (call,) = eventually(lambda: receiver.received)
    assert (call.method, call.path) == ("POST", "/votes")
    assert call.body == f'{{"bot":"{BOT}","user":"{USER}","test":false}}'.encode()
    assert call.headers == {
        "host": receiver.url.removeprefix("http://"),
        "content-type": "application/json",
        "content-length": str(len(call.body)),
        "user-agent": f"Votegate/{VERSION}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "authorization": "my-webhook-token",
        "webhook-id": attempted(gateway, 1)["id"],
        "webhook-timestamp": str(gateway.clock.now_ms() // 1_000),
        "webhook-signature": signature(secret, call),
    }


def test_the_webhook_of_a_server_is_signed_with_its_own_secret(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    gateway.list_server()
    of_bot = first_saved(gateway, receiver.url)
    of_server = first_saved(gateway, receiver.url, SERVER_PATH)

    gateway.cast(path=SERVER_PATH)

    (call,) = eventually(lambda: receiver.received)
    assert call.body == f'{{"guild":"{SERVER}","user":"{USER}","test":false}}'.encode()
    assert signatures(call) == [signature(of_server, call)] != [signature(of_bot, call)]


def test_a_test_is_signed_like_a_vote(gateway: ThreadGateway, receiver: Receiver) -> None:
    secret = first_saved(gateway, receiver.url)

    call = sent_test(gateway, receiver)

    assert call.body == f'{{"user":"{USER}","test":true}}'.encode()
    assert signatures(call) == [signature(secret, call)]


def test_the_id_stays_over_attempts_restarts_and_redeliveries_and_every_attempt_has_its_own_signature(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    secret = first_saved(gateway, receiver.url)
    receiver.answers = [status(500)] * 3
    gateway.cast()
    attempted(gateway, 1)
    gateway.advance(5)
    attempted(gateway, 2)
    gateway.restart()
    gateway.advance(5)
    attempted(gateway, 3)
    gateway.advance(5)
    delivery = attempted(gateway, 4)
    assert delivery["state"] == "delivered"
    gateway.advance(3_600)

    gateway.done("POST", f"{WEBHOOK}/deliveries/{delivery['id']}/redeliver")

    assert {call.headers["webhook-id"] for call in receiver.received} == {delivery["id"]}
    assert len({call.body for call in receiver.received}) == 1
    attempts = attempted(gateway, 5)["attempts"]
    sent_at = [call.headers["webhook-timestamp"] for call in receiver.received]
    assert sent_at == [str(attempt["at"] // 1_000) for attempt in attempts]
    assert len(set(sent_at)) == 5
    assert all(signatures(call) == [signature(secret, call)] for call in receiver.received)


def test_events_have_ids_of_their_own(gateway: ThreadGateway, receiver: Receiver) -> None:
    set_webhook(gateway, receiver.url)

    gateway.cast(USER)
    gateway.cast(OTHER_USER)

    eventually(lambda: len(receiver.received) == 2)
    assert len({call.headers["webhook-id"] for call in receiver.received}) == 2


def test_the_secret_is_shown_once_and_stays_when_the_settings_are_saved_again(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    secret = first_saved(gateway, receiver.url)

    again = gateway.done("PUT", WEBHOOK, {"url": receiver.url + "/votes", "token": "t"})
    call = sent_test(gateway, receiver)

    assert (again["secret"], again["signed"]) == (None, True)
    assert signatures(call) == [signature(secret, call)]
    pages = [
        WEBHOOK,
        BOT_PATH,
        f"{WEBHOOK}/deliveries",
        "/debug/overview.json",
        f"/debug/listings/bots/{BOT}.json",
    ]
    shown = "".join(gateway.operate("GET", page).text for page in pages)
    assert secret.removeprefix("whsec_") not in shown


def test_during_the_overlap_of_a_rotation_both_secrets_sign_and_then_only_the_new_one(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    old = first_saved(gateway, receiver.url)
    new = rotated(gateway, overlap_seconds=60)
    until = gateway.clock.now_ms() + 60_000
    assert new != old
    assert webhook(gateway)["old_secret_until"] == until

    gateway.advance(59.999)
    during = sent_test(gateway, receiver)
    gateway.advance(0.001)
    after = sent_test(gateway, receiver)

    assert signatures(during) == [signature(new, during), signature(old, during)]
    assert signatures(after) == [signature(new, after)]
    assert webhook(gateway)["old_secret_until"] is None


def test_an_overlap_survives_saving_the_settings_and_a_restart(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    old, new = first_saved(gateway, receiver.url), rotated(gateway, overlap_seconds=60)
    set_webhook(gateway, receiver.url + "/elsewhere")
    gateway.restart(seconds_down=1)

    call = sent_test(gateway, receiver)

    assert signatures(call) == [signature(new, call), signature(old, call)]


def test_without_an_overlap_the_old_secret_stops_at_once(gateway: ThreadGateway, receiver: Receiver) -> None:
    old, new = first_saved(gateway, receiver.url), rotated(gateway)

    call = sent_test(gateway, receiver)

    assert signatures(call) == [signature(new, call)] != [signature(old, call)]


def test_of_two_rotations_the_last_two_secrets_sign(gateway: ThreadGateway, receiver: Receiver) -> None:
    first_saved(gateway, receiver.url)
    second, third = rotated(gateway, overlap_seconds=60), rotated(gateway, overlap_seconds=60)

    call = sent_test(gateway, receiver)

    assert signatures(call) == [signature(third, call), signature(second, call)]


def test_an_attempt_after_a_rotation_is_signed_with_the_new_secret(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    old = first_saved(gateway, receiver.url)
    receiver.answers = [status(500)]
    gateway.cast()
    attempted(gateway, 1)

    new = rotated(gateway)
    gateway.advance(5)
    attempted(gateway, 2)

    first, second = receiver.received
    assert (signatures(first), signatures(second)) == ([signature(old, first)], [signature(new, second)])


def test_a_webhook_that_was_removed_comes_back_with_another_secret(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    first = first_saved(gateway, receiver.url)
    gateway.done("DELETE", WEBHOOK)

    assert first_saved(gateway, receiver.url) != first


@pytest.mark.parametrize("overlap", [-1, 604_801, 1.5, "60", True])
def test_an_overlap_is_at_most_a_week_of_whole_seconds(gateway: ThreadGateway, overlap: object) -> None:
    set_webhook(gateway, "https://example.com/")

    refused = gateway.operate("POST", f"{WEBHOOK}/secret/rotate", {"overlap_seconds": overlap})

    assert (refused.status_code, list(refused.json()["fields"])) == (400, ["overlap_seconds"])


def test_the_secret_of_a_listing_without_a_webhook_is_404(gateway: ThreadGateway) -> None:
    response = gateway.operate("POST", f"{WEBHOOK}/secret/rotate")

    assert refusal(response) == (404, "The listing has no webhook.")


def test_secrets_that_a_receiver_echoes_are_not_in_the_log(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    token = "a-token-that-nobody-may-see"
    secret = first_saved(gateway, receiver.url, token=token)
    receiver.default = status(200, json.dumps([token, secret, "seen"]).encode())

    gateway.cast()

    assert attempted(gateway, 1)["excerpt"] == '["[secret]", "[secret]", "seen"]'
    assert eventually(lambda: idle(gateway))
