"""A trouble that lasts is in the log twice: as a warning when it begins, and at the level INFO when it is
over, without secrets.

tests/system/fleet/test_warnings.py does the same with a node of a fleet that is behind.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, idle, pending, users
from tests.support.gateways import BOT, ThreadGateway, eventually, running
from tests.support.watched_disk import WatchedDisk
from tests.support.webhook_receiver import Receiver, status

SECRET_PATH, TOKEN = "/votes/a-secret-path", "the-token-of-the-webhook"
ENDPOINT = f"the endpoint of bots/{BOT}"


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings so far and the lines that say that one is over, none of them with a secret."""
    assert TOKEN not in caplog.text
    assert "a-secret-path" not in caplog.text
    told = [record for record in caplog.records if not record.name.startswith(("votegate", "snapshot"))]
    return [record.getMessage() for record in told if record.levelno in {logging.WARNING, logging.INFO}]


def passing(gateway: ThreadGateway, seconds: float, condition: Callable[[], object]) -> None:
    """Lets time pass, again and again, until the condition is true."""

    def passed() -> object:
        gateway.advance(seconds)
        return condition()

    eventually(passed)


def test_a_suspension_its_probes_and_the_recovery(
    gateway: ThreadGateway, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.list_bot()
    gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url + SECRET_PATH, "token": TOKEN})
    receiver.answers = [status(410, b"the-token-of-the-webhook"), status(500)]
    for user in users(3):
        gateway.cast(user)
    suspended = f"{ENDPOINT} is suspended: http_410; its webhooks wait, and one probes it in 60 s"
    eventually(lambda: warned(caplog) == [suspended] and idle(gateway))

    gateway.advance(60)
    failed = [
        f"a webhook probes {ENDPOINT}, which is suspended: http_410",
        f"the probe of {ENDPOINT} failed: http_500; it stays suspended",
    ]
    eventually(lambda: warned(caplog) == [suspended, *failed] and idle(gateway))

    gateway.advance(120)
    passing(gateway, 1, lambda: pending(gateway) == 0)
    assert warned(caplog) == [
        suspended,
        *failed,
        f"a webhook probes {ENDPOINT}, which is suspended: http_500",
        f"the probe of {ENDPOINT} succeeded",
        f"{ENDPOINT} is no longer suspended: it took a webhook",
        f"{ENDPOINT} recovers: it is sent the webhooks that waited, 2 of them",
        f"{ENDPOINT} recovers no longer: nothing that waited is left",
    ]


def test_an_address_that_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    limits = {"limits.failures.requests": 3, "limits.failures.window_seconds": 60}
    with running(tmp_path / "data", **limits) as gateway:
        for _ in range(6):
            gateway.voters(f"wrong-{TOKEN}")
        refused = "the address 127.0.0.1 is refused for 60 s: 3 of its requests failed within 1 s"
        assert warned(caplog) == [refused]
        gateway.advance(60)
        eventually(lambda: len(warned(caplog)) > 1)
        assert warned(caplog) == [refused, "the address 127.0.0.1 is no longer refused"]


def test_a_disk_without_space(tmp_path: Path, disk: WatchedDisk, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path / "data") as gateway:
        gateway.list_bot()
        disk.fill_up()
        answers = [gateway.operate("POST", f"{BOT_PATH}/votes", {"user": user}) for user in users(3)]
        assert {answer.status_code for answer in answers} == {503}
        full = f"no space left on the disk for {gateway.folder}: writes are refused until there is"
        assert warned(caplog) == [full]
        disk.make_room()
        eventually(lambda: len(warned(caplog)) > 1)
        assert warned(caplog) == [full, "the journal takes writes again"]


def test_a_disk_that_is_slow(
    tmp_path: Path, disk: WatchedDisk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journal.journal.LOOK_SECONDS", 0.001)
    with running(tmp_path / "data") as gateway:
        gateway.list_bot()
        disk.may_sync.clear()
        with ThreadPoolExecutor(1) as voter:
            vote = voter.submit(gateway.operate, "POST", f"{BOT_PATH}/votes", {"user": users(1)[0]})
            try:
                passing(gateway, 1, lambda: warned(caplog))
            finally:
                disk.may_sync.set()
            assert vote.result().status_code == 201
        passing(gateway, 1, lambda: len(warned(caplog)) > 1)
        slow, over = warned(caplog)
        assert slow == "the disk is slow: a write has taken 2 s so far, and changes wait"
        assert over.startswith("the disk is slow no longer: it was for ")
