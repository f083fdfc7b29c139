"""GET /debug/snapshot: a backup of a running gateway, whole and of one moment, or visibly cut off."""

import asyncio
import http.client
import itertools
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
import requests

from core.failures import Unavailable
from snapshot.files import SnapshotCorrupt
from snapshot.recovery import Loaded, load_snapshot, recover
from storage.folder import Folder, kept_keys
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    WAIT_SECONDS,
    ThreadGateway,
    eventually,
)
from tests.support.memory_ledger import empty_state

BACKUP = "/debug/snapshot"
AUTHORIZATION = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
BULK_BOTS = 100


def folder_of(gateway: ThreadGateway) -> Folder:
    return Folder(gateway.folder, kept_keys(gateway.folder, needed=True))


def loaded(gateway: ThreadGateway, content: bytes) -> Loaded:
    path = gateway.folder.parent / "votegate.backup"
    path.write_bytes(content)
    return load_snapshot(path, folder_of(gateway).keys, empty_state)


@contextmanager
def asking_for_a_backup(gateway: ThreadGateway) -> Iterator[http.client.HTTPResponse]:
    with closing(
        http.client.HTTPConnection(gateway.base_url.removeprefix("http://"), timeout=WAIT_SECONDS)
    ) as asking:
        asking.request("GET", BACKUP, headers=AUTHORIZATION)
        with closing(asking.getresponse()) as response:
            yield response


def user(number: int) -> str:
    return str(500_000_000_000_000_000 + number)


@pytest.fixture
def filled(gateway: ThreadGateway) -> ThreadGateway:
    """With enough in it that a backup is sent in many pieces."""
    gateway.list_bot()
    for number in range(BULK_BOTS):
        submission = {**BOT_SUBMISSION, "id": str(int(BOT) + 1 + number), "description": "x" * 2_000}
        assert gateway.operate("POST", "/manage/bots", submission).status_code == 201
    return gateway


def test_a_backup_holds_the_state(filled: ThreadGateway) -> None:
    filled.cast(user=user(1))
    state = filled.done("GET", "/debug/data.json")

    response = filled.operate("GET", BACKUP)

    assert response.headers["content-type"] == "application/octet-stream"
    assert "attachment" in response.headers["content-disposition"]
    backup = loaded(filled, response.content)
    assert backup.state.digest() == state["digest"]
    assert backup.position == backup.durable == state["positions"]["head"]


def test_a_backup_needs_the_operator_token_and_a_head_sends_none(filled: ThreadGateway) -> None:
    assert filled.request("GET", BACKUP).status_code == 401
    head = filled.operate("HEAD", BACKUP)
    assert (head.status_code, head.content) == (200, b"")


def test_a_backup_taken_while_votes_are_cast_is_a_state_that_was(filled: ThreadGateway) -> None:
    backups: list[bytes] = []
    taken = threading.Event()

    def take() -> None:
        url = filled.base_url + BACKUP
        try:
            backups.extend(
                requests.get(url, headers=AUTHORIZATION, timeout=WAIT_SECONDS).content for _ in range(3)
            )
        finally:
            taken.set()

    taking = threading.Thread(target=take)
    taking.start()
    cast = 0
    while not taken.is_set() or cast < 20:
        cast += 1
        filled.cast(user=user(cast))
    taking.join()

    assert len(backups) == 3
    whole = [loaded(filled, content) for content in backups]
    assert [backup.position for backup in whole] == [backup.durable for backup in whole]
    for backup in whole:
        folded = recover(folder_of(filled), empty_state, until=backup.position)
        assert backup.state.digest() == folded.state.digest()


def test_a_client_that_goes_away_keeps_nobody_from_taking_snapshots(filled: ThreadGateway) -> None:
    with asking_for_a_backup(filled) as response:
        assert response.read(100)

    eventually(lambda: filled.gateway.ledger.state._copy is None)
    assert filled.operate("POST", BACKUP).status_code == 200
    assert loaded(filled, filled.operate("GET", BACKUP).content).position > 0


def test_a_backup_that_cannot_be_finished_is_cut_off_and_refused(
    filled: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    durable, asked = filled.gateway.ledger.durable, itertools.count()

    async def fail_later(position: int) -> None:
        if next(asked) > 0:
            raise Unavailable("the disk has failed")
        await durable(position)

    with monkeypatch.context() as patched:
        patched.setattr(filled.gateway.ledger, "durable", fail_later)
        with asking_for_a_backup(filled) as response, pytest.raises(http.client.IncompleteRead) as cut_off:
            response.read()
        received = cut_off.value.partial

    assert len(received) > 100_000
    with pytest.raises(SnapshotCorrupt, match="is incomplete"):
        loaded(filled, received)
    assert loaded(filled, filled.operate("GET", BACKUP).content).position > 0


def test_a_backup_of_what_cannot_become_durable_is_503(
    filled: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: int) -> None:
        raise Unavailable("no space left on the disk")

    with monkeypatch.context() as patched:
        patched.setattr(filled.gateway.ledger, "durable", refuse)
        refused = filled.operate("GET", BACKUP)

    assert (refused.status_code, refused.json()["status"]) == (503, 503)
    assert filled.operate("GET", BACKUP).status_code == 200


def test_one_backup_is_read_at_a_time(filled: ThreadGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    durable, begun, may_end = filled.gateway.ledger.durable, threading.Event(), asyncio.Event()

    async def hold(position: int) -> None:
        begun.set()
        await may_end.wait()
        await durable(position)

    first: list[int] = []
    url = filled.base_url + BACKUP
    reading = threading.Thread(
        target=lambda: first.append(
            requests.get(url, headers=AUTHORIZATION, timeout=WAIT_SECONDS).status_code
        )
    )
    with monkeypatch.context() as patched:
        patched.setattr(filled.gateway.ledger, "durable", hold)
        reading.start()
        assert begun.wait(WAIT_SECONDS)
        assert filled.operate("GET", BACKUP).status_code == 503
    filled.on_loop(may_end.set)
    reading.join()
    assert first == [200]
    assert filled.operate("GET", BACKUP).status_code == 200


def test_memory_and_disk_are_verified_equal_while_votes_are_cast(filled: ThreadGateway) -> None:
    found: list[bool] = []

    def verify() -> None:
        for _ in range(3):
            url = filled.base_url + "/debug/verify"
            found.append(requests.post(url, headers=AUTHORIZATION, timeout=WAIT_SECONDS).json()["equal"])

    verifying = threading.Thread(target=verify)
    verifying.start()
    for number in range(100):
        filled.cast(user=user(number))
    verifying.join()
    assert found == [True] * 3
