"""Changes while a request waits: of the key, the bot, the state, the disk."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from storage.folder import FolderUnusable
from tests.support.contract import set_webhook
from tests.support.gateways import BOT, BOT_SUBMISSION, OWNER, ThreadGateway, eventually, running
from tests.support.webhook_receiver import Receiver, status


@pytest.fixture
def looking_up(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway with a lookup that waits until the receiver is released."""

    def later(handler: BaseHTTPRequestHandler) -> None:
        receiver.released.wait()
        status(200, b'{"server_count": 1000}')(handler)

    receiver.default = later
    source = {"guild_counts.source": "http", "guild_counts.url": receiver.url + "/{id}"}
    with running(tmp_path / "data", **source) as gateway:
        yield gateway
        receiver.released.set()


class Update(threading.Thread):
    """A stats update that is under way."""

    def __init__(self, gateway: ThreadGateway, key: str, receiver: Receiver) -> None:
        super().__init__()
        self._gateway, self._key = gateway, key
        self.start()
        eventually(lambda: receiver.received)

    def run(self) -> None:
        self.answer = self._gateway.stats(self._key, {"server_count": 1000})


def test_a_key_deleted_during_the_look_up_updates_nothing(
    looking_up: ThreadGateway, receiver: Receiver
) -> None:
    key = looking_up.list_bot(actual=None)
    (kept,) = looking_up.done("GET", f"/manage/bots/{BOT}/keys")["keys"]
    update = Update(looking_up, key, receiver)

    looking_up.done("DELETE", f"/manage/bots/{BOT}/keys/{kept['id']}")
    receiver.released.set()
    update.join()

    assert (update.answer.status_code, update.answer.json()["error"]) == (401, "Invalid API key.")
    assert looking_up.done("GET", f"/manage/bots/{BOT}")["server_count"] is None


def test_a_bot_that_is_listed_again_during_the_lookup_is_not_updated_by_its_old_key(
    looking_up: ThreadGateway, receiver: Receiver
) -> None:
    key = looking_up.list_bot(actual=None)
    update = Update(looking_up, key, receiver)

    looking_up.done("DELETE", f"/manage/bots/{BOT}")
    looking_up.done("POST", "/manage/bots", BOT_SUBMISSION)
    receiver.released.set()
    update.join()

    assert update.answer.status_code == 401
    assert looking_up.done("GET", f"/manage/bots/{BOT}")["server_count"] is None


def test_the_headers_tell_what_is_left_when_the_answer_leaves(
    looking_up: ThreadGateway, receiver: Receiver
) -> None:
    key = looking_up.list_bot(actual=None)
    update = Update(looking_up, key, receiver)
    assert looking_up.stats(key, {"command_count": 1}).headers["ratelimit-remaining"] == "0"

    receiver.released.set()
    update.join()

    assert update.answer.headers["ratelimit-remaining"] == "0"


def test_verify_is_right_while_votes_and_snapshots_go_on(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    done = threading.Event()

    def vote() -> None:
        for user in range(10**17, 10**17 + 10_000):
            if done.is_set():
                return
            gateway.cast(str(user))

    voting = threading.Thread(target=vote)
    voting.start()
    try:
        for _ in range(10):
            gateway.done("POST", "/debug/snapshot")
            verified = gateway.done("POST", "/debug/verify")
            assert verified["equal"], verified
    finally:
        done.set()
        voting.join()


def test_a_receiver_that_echoes_the_token_does_not_bring_it_into_the_log(
    gateway: ThreadGateway, receiver: Receiver
) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        status(500, f"you sent {handler.headers['Authorization']}".encode())(handler)

    gateway.list_bot()
    set_webhook(gateway, receiver.url, token="the-webhook-token")
    receiver.default = echo

    delivery = gateway.done("POST", f"/manage/bots/{BOT}/webhook/test", {"user": OWNER})

    assert delivery["excerpt"] == "you sent [secret]"
    assert "the-webhook-token" not in gateway.operate("GET", f"/debug/listings/bots/{BOT}.json").text


def test_a_start_without_the_secret_of_its_keys_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder) as gateway:
        gateway.list_bot()
    (folder / "key-digest.secret").unlink()

    with pytest.raises(FolderUnusable, match="no API key works without it"):
        ThreadGateway(folder).start()

    assert not (folder / "key-digest.secret").exists()


def test_a_dot_in_a_path_stands_for_itself(gateway: ThreadGateway) -> None:
    assert gateway.request("GET", "/openapiXjson").status_code == 404
