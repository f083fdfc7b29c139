"""The receivers that bot developers already run, as published, take our votes and refuse a wrong token."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.contract import BOT_PATH, set_webhook
from tests.support.gateways import BOT, OTHER_USER, SERVER, USER, WAIT_SECONDS, ThreadGateway
from tests.support.programs import installed

HERE = Path(__file__).parent
TOKEN = "the-token-of-the-owner"
SDK = HERE / "node_modules" / "@top-gg" / "sdk"


class Published(NamedTuple):
    """A receiver as a process: its port, and how it says no."""

    process: "subprocess.Popen[str]"
    port: int
    refusal: int

    def heard(self) -> Any:
        """The next vote that its owner's code was called with; topggpy makes ids numbers."""
        assert self.process.stdout is not None
        vote = json.loads(self.process.stdout.readline())
        return {name: str(vote[name]) for name in vote}


@contextlib.contextmanager
def running(command: list[str], refusal: int) -> Iterator[Published]:
    process = subprocess.Popen([*command, TOKEN], cwd=HERE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Published(process, int(process.stdout.readline()), refusal)
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(params=["@top-gg/sdk", "topggpy"])
def published(request: pytest.FixtureRequest) -> Iterator[Published]:
    if request.param == "topggpy":
        command, refusal = [sys.executable, "topggpy_manager.py"], 401
    else:
        node = installed("node")
        if not SDK.exists():
            pytest.skip("the packages of tests/published are missing: npm could not fetch them")
        command, refusal = [node, "top_gg_sdk.js"], 403
    with running(command, refusal) as started:
        yield started


def test_a_published_receiver_takes_our_vote(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
    gateway.cast()
    vote = published.heard()
    assert (vote["bot"], vote["user"], vote["test"]) == (BOT, USER, "False")


def test_a_published_receiver_takes_our_test(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
    delivery = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": OTHER_USER})
    assert delivery["state"] == "delivered"
    test = published.heard()
    assert (test["user"], test["test"]) == (OTHER_USER, "True")


def test_a_published_receiver_refuses_a_wrong_token(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token="another")
    delivery = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": USER})
    assert (delivery["status"], delivery["error"]) == (published.refusal, f"http_{published.refusal}")


def test_a_published_receiver_of_servers_takes_our_vote(gateway: ThreadGateway) -> None:
    gateway.list_server()
    path = f"/manage/servers/{SERVER}"
    with running([sys.executable, "topggpy_manager.py"], 401) as published:
        set_webhook(gateway, f"http://127.0.0.1:{published.port}/server-votes", path, token=TOKEN)
        gateway.cast(path=path)
        vote = published.heard()
    assert (vote["guild"], vote["user"], vote["test"]) == (SERVER, USER, "False")
