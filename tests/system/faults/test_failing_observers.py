"""Observers of a gateway may lack everything: vote checks and votes go on, and the process lives."""

import contextlib
import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.contract import users
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import BOT, WAIT_SECONDS, ProcessGateway, eventually
from tests.support.raw_http_client import OPERATOR, calling, request
from tests.support.webhook_receiver import Receiver

POINTS = 1
"""The times that the timeline must look and find nothing to read: it looks every two seconds."""
WITHOUT_PROC = 'mount -t tmpfs -o ro none /proc && exec "$@"'


class Blind(ProcessGateway):
    """A gateway without /proc."""

    def opened(self, arguments: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        command = ["unshare", "--mount", "sh", "-c", WITHOUT_PROC, "sh", sys.executable, *self.program]
        return subprocess.Popen(
            [*command, *arguments], env=self.environment, stdout=output, stderr=subprocess.STDOUT
        )


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[Blind]:
    unshare = shutil.which("unshare") or "unshare"
    trying = [unshare, "--mount", "sh", "-c", WITHOUT_PROC, "sh", "true"]
    with contextlib.suppress(FileNotFoundError):
        tried = subprocess.run(trying, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
        if tried.returncode == 0:
            gateway = Blind(tmp_path / "data")
            yield gateway
            gateway.close()
            return
    pytest.skip("needs a mount namespace of its own")


def test_without_proc_votes_are_cast_and_checked_and_the_memory_is_unknown(blind: Blind) -> None:
    blind.start()
    key = blind.list_bot()
    eventually(lambda: len(blind.done("GET", "/debug/overview.json")["series"]["at"]) >= POINTS)
    for user in users(5):
        assert blind.cast(user)["vote"] == 1
        assert blind.voters(key, user=user).json()["voted"] is True
    assert blind.done("GET", "/debug/overview.json")["memory"]["resident_bytes"] is None
    assert "memory ([Errno 2]" in "".join(blind.concerns("observers"))
    assert blind.log.count("the observer memory fails; everything else goes on") == 1
    blind.session.close()
    assert blind.signal(signal.SIGTERM) == 0


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[ForkedGateway]:
    gateway = ForkedGateway(tmp_path / "data")
    yield gateway
    gateway.close()


def test_without_a_free_descriptor_votes_are_cast_and_checked(
    crowded: ForkedGateway, receiver: Receiver
) -> None:
    crowded.start()
    key = crowded.list_bot()
    crowded.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": receiver.url})
    descriptors = Path(f"/proc/{crowded.process.pid}/fd")
    with calling(crowded.base_url) as caller, contextlib.ExitStack() as crowd:
        assert caller.ask(request("GET", "/healthz")).status == 200
        most = max(int(each.name) for each in descriptors.iterdir()) + 8
        resource.prlimit(crowded.process.pid, resource.RLIMIT_NOFILE, (most, most))
        before = len(crowded.done("GET", "/debug/overview.json")["series"]["at"])
        for _ in range(most):
            crowd.enter_context(calling(crowded.base_url))
        eventually(lambda: len([*descriptors.iterdir()]) == most)

        def points() -> int:
            answer = caller.ask(request("GET", "/debug/overview.json", OPERATOR))
            return len(json.loads(answer.body)["series"]["at"])

        eventually(lambda: points() >= before + POINTS)
        for user in users(5):
            body = json.dumps({"user": user}).encode()
            cast = caller.ask(request("POST", f"/manage/bots/{BOT}/votes", OPERATOR, body=body))
            assert cast.status == 201
            check = caller.ask(request("GET", f"/bots/{BOT}/voters/{user}", f"Authorization: {key}"))
            assert json.loads(check.body)["voted"] is True
        assert len([*descriptors.iterdir()]) == most
        assert "the observer memory fails; everything else goes on" in crowded.log
    crowded.session.close()
    assert crowded.signal(signal.SIGTERM) == 0
