"""Clients of other lists, as published: each line of docs/coming-from.md."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from tests.support.contract import BOT_PATH, attempted, set_webhook
from tests.support.gateways import BOT, OTHER_USER, ROOT, SERVER, USER, WAIT_SECONDS, ThreadGateway
from tests.support.programs import installed

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/coming-from.md").read_text()
TOKEN = "the-token-of-the-owner"
NODE_PACKAGES = HERE / "node_modules"
PYTHON = ROOT / "build/published/bin/python"
REFUSALS = {"@top-gg/sdk": 403, "dblapi.js": 403, "discordbotlist": 401, "topggpy": 401}
"""The receivers that accept our votes, and how they refuse a wrong token."""
RATING = {"type": "rating.posted", "bot": BOT, "user": OTHER_USER, "stars": 4, "at": 1_750_000_000_000}
ELSEWHERE = "http://elsewhere.invalid"


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


def node(program: str, *arguments: str) -> list[str]:
    """Return the command of a program that needs the packages for Node."""
    found = installed("node")
    if not NODE_PACKAGES.exists():
        pytest.skip("the packages of tests/published are missing: npm could not fetch them")
    return [found, program, *arguments]


def python(*arguments: str) -> list[str]:
    """Return a command of python_packages.py, in the environment of these packages."""
    if not PYTHON.exists():
        pytest.skip("build/published is missing: `make processes` makes it")
    return [str(PYTHON), "python_packages.py", *arguments]


@contextlib.contextmanager
def running(command: list[str], refusal: int, **environment: str) -> Iterator[Published]:
    process = subprocess.Popen(
        command, cwd=HERE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        assert process.stdout is not None
        yield Published(process, int(process.stdout.readline()), refusal)
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def said(command: list[str]) -> str:
    """Run a program, and return its output."""
    done = subprocess.run(
        command, cwd=HERE, stdout=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=True
    )
    return done.stdout.strip()


@pytest.fixture(params=REFUSALS, scope="module")
def published(request: pytest.FixtureRequest) -> Iterator[Published]:
    if request.param == "topggpy":
        command = [sys.executable, "topggpy_manager.py", TOKEN]
    else:
        command = node("receivers.js", request.param, TOKEN)
    with running(command, REFUSALS[request.param]) as started:
        yield started


def test_a_published_receiver_takes_our_vote(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
    gateway.cast()
    vote = published.heard()
    assert (vote["bot"], vote["user"], vote["test"]) == (BOT, USER, "False")
    assert not {"type", "id", "username"} & set(vote)


def test_a_published_receiver_takes_our_test(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
    delivery = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": OTHER_USER})
    assert delivery["state"] == "delivered"
    test = published.heard()
    assert (test["user"], test["test"]) == (OTHER_USER, "True")
    assert "type" not in test


def test_a_published_receiver_refuses_a_wrong_token(published: Published, gateway: ThreadGateway) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token="another")
    delivery = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": USER})
    assert (delivery["status"], delivery["error"]) == (published.refusal, f"http_{published.refusal}")


def test_a_published_receiver_of_servers_takes_our_vote(gateway: ThreadGateway) -> None:
    gateway.list_server()
    path = f"/manage/servers/{SERVER}"
    with running([sys.executable, "topggpy_manager.py", TOKEN], 401) as published:
        set_webhook(gateway, f"http://127.0.0.1:{published.port}/server-votes", path, token=TOKEN)
        gateway.cast(path=path)
        vote = published.heard()
    assert (vote["guild"], vote["user"], vote["test"]) == (SERVER, USER, "False")


def test_a_vote_that_is_sent_again_is_a_second_vote_to_a_published_receiver(
    published: Published, gateway: ThreadGateway
) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
    gateway.cast()
    first = published.heard()
    delivery = attempted(gateway, 1)
    gateway.done("POST", f"{BOT_PATH}/webhook/deliveries/{delivery['id']}/redeliver", {})
    again = published.heard()
    assert (again["user"], again["test"]) == (first["user"], first["test"])


def test_another_event_is_a_vote_to_a_published_receiver(
    published: Published, gateway: ThreadGateway
) -> None:
    gateway.list_bot()
    set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN, events=["review.denied"])
    gateway.done("POST", f"{BOT_PATH}/withdraw", {"reason": "It answers no command."})
    vote = published.heard()
    assert (vote["type"], "test" in vote) == ("review.denied", False)


def test_top_py_refuses_our_votes(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    with running(python("receiver", "top.py", TOKEN), 422) as published:
        set_webhook(gateway, f"http://127.0.0.1:{published.port}/votes", token=TOKEN)
        delivery = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": USER})
    assert delivery["error"] == "http_422"
    assert "malformed" in delivery["excerpt"]


def test_dblpy_cannot_be_imported() -> None:
    done = subprocess.run(python("host", "dblpy", ELSEWHERE), cwd=HERE, stderr=subprocess.PIPE, text=True)
    assert "module 'asyncio' has no attribute 'coroutine'" in done.stderr


@pytest.mark.parametrize(
    ("package", "host"),
    [("@top-gg/sdk", "top.gg"), ("dblapi.js", "top.gg"), ("discordbotlist", "discordbotlist.com")],
)
def test_a_published_client_for_node_has_a_fixed_address(package: str, host: str) -> None:
    assert said(node("clients.js", package, ELSEWHERE)) == host


@pytest.mark.parametrize("package", ["topggpy", "top.py"])
def test_a_published_client_for_python_has_a_fixed_address(package: str) -> None:
    assert said(python("host", package, ELSEWHERE)) == "top.gg"


@pytest.mark.parametrize(
    ("package", "answer"),
    [("topggpy", "POST /bots/stats 404"), ("top.py", f"POST /bots/{BOT}/stats 405")],
)
def test_an_overwritten_address_does_not_help(gateway: ThreadGateway, package: str, answer: str) -> None:
    gateway.list_bot()
    assert answer in said(python("overwritten", package, gateway.base_url)).splitlines()


def blocks(language: str) -> list[str]:
    """Return the programs of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_check_of_the_page_for_node_lets_only_votes_through(gateway: ThreadGateway) -> None:
    listening = 'const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port))'
    program = blocks("js")[0].replace("app.listen(9000)", listening)
    program += "function reward(user) { console.log(JSON.stringify({ user })); }"
    gateway.list_bot()
    with running(node("-e", program), 403, WEBHOOK_TOKEN=TOKEN) as published:
        url = f"http://127.0.0.1:{published.port}/votes"
        set_webhook(gateway, url, token=TOKEN, events=["vote", "rating.posted"])
        assert gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": OTHER_USER})["state"] == "delivered"
        requests.post(url, json=RATING, headers={"Authorization": TOKEN}, timeout=WAIT_SECONDS)
        gateway.cast()
        assert published.heard() == {"user": USER}


def test_the_check_of_the_page_for_python_lets_only_votes_through() -> None:
    (program,) = blocks("python")
    bodies = [{"user": OTHER_USER, "test": True}, RATING, {"bot": BOT, "user": USER, "test": False}]
    assert said(python("rewarded", program, json.dumps(bodies))) == USER


def test_the_page_names_the_versions_that_are_tested() -> None:
    pinned = json.loads((HERE / "package.json").read_text())["dependencies"]
    pinned |= json.loads((ROOT / "clients/node/package.json").read_text())["devDependencies"]
    pinned |= dict(re.findall(r"^([\w.-]+)==(\S+)$", (HERE / "requirements.in").read_text(), re.MULTILINE))
    named = set(re.findall(r"`([\w@/.-]+)` (\d[\d.]*\d)", PAGE))
    assert {name for name, _ in named} >= {*REFUSALS, "top.py", "dblpy", "topgg-autoposter"}
    assert named == {(name, pinned[name]) for name, _ in named}
