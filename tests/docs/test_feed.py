"""docs/feed.md: its commands are taken out of it word by word and run, and so is the site of the example."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
import requests

from handlers import vote_feed
from handlers.vote_feed import LineType
from serving.application import STALLED_SECONDS
from settings.model import VotesSettings
from tests.support.contract import refusal
from tests.support.gateways import (
    BOT,
    OPERATOR_TOKEN,
    OTHER_USER,
    ROOT,
    SERVER,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
    eventually,
)

DOCUMENT = (ROOT / "docs/feed.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
VOTER = "333333333333333333"
FIRST = 7 * 10**17


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def test_its_commands_print_the_shown_output(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast(VOTER)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "OPERATOR": f"Authorization: Bearer {OPERATOR_TOKEN}",
        "MANAGE": f"{gateway.base_url}/manage",
    }
    for number, (kind, command) in enumerate(BLOCKS):
        if kind != "sh":
            continue
        shown = BLOCKS[number + 1][1]
        done = subprocess.run(
            ["sh", "-ec", command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
        pattern = ".*".join(re.escape(part) for part in shown.strip().replace(",...", "...").split("..."))
        assert re.match(pattern, done.stdout, re.DOTALL), done.stdout


def test_the_refusal_of_a_cursor_is_the_one_that_it_shows(gateway: ThreadGateway) -> None:
    shown = [text.strip() for kind, text in BLOCKS if kind == "text"][-1]
    assert refusal(gateway.operate("GET", "/manage/votes?after=99-0-00000000")) == (410, shown)


def test_it_names_every_type_and_the_bounds_that_hold() -> None:
    table = DOCUMENT.split("## The types of lines\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(get_args(LineType))
    text = " ".join(DOCUMENT.split())
    for sentence in (
        f"A page has {vote_feed.PAGE} lines, or `limit` of them, at most {vote_feed.MAX_PAGE:,}.",
        f"Up to {vote_feed.MOST_READERS} pages are read at once",
        f"`votes.feed_streams` streams ({VotesSettings().feed_streams})",
        f"at least every {vote_feed.HEARTBEAT_SECONDS:g} seconds",
        f"reads nothing for {STALLED_SECONDS} seconds is cut off",
    ):
        assert sentence in text


class VoteSite:
    """The site of the example, as a process."""

    def __init__(self, gateway: ThreadGateway, database: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        environment = {**os.environ, "GATEWAY": gateway.base_url, "OPERATOR_TOKEN": OPERATOR_TOKEN}
        self.process = subprocess.Popen(
            [sys.executable, "examples/vote_site.py", self.url.rpartition(":")[2], str(database)],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.DEVNULL,
        )

    def get(self, path: str) -> requests.Response | None:
        with requests.Session() as session:
            session.trust_env = False
            try:
                return session.get(self.url + path, timeout=WAIT_SECONDS)
            except requests.ConnectionError:
                return None  # it is only starting

    def shows(self, *expected: tuple[str, str, int, int]) -> None:
        """Wait until it shows (kind, id, votes, voters) of these listings, in this order."""

        def is_shown() -> bool:
            answer = self.get("/top.json")
            found: list[Any] = answer.json()["top"] if answer is not None else [{}]
            return [tuple(each.values()) for each in found] == [*expected]

        eventually(is_shown)


@contextmanager
def site(gateway: ThreadGateway, database: Path) -> Iterator[VoteSite]:
    shown = VoteSite(gateway, database)
    try:
        yield shown
    finally:
        shown.process.send_signal(signal.SIGKILL)
        shown.process.wait(WAIT_SECONDS)


@pytest.fixture
def listed(gateway: ThreadGateway) -> ThreadGateway:
    gateway.list_bot()
    gateway.list_server()
    return gateway


def test_the_site_of_the_example_shows_what_the_gateway_has(listed: ThreadGateway, tmp_path: Path) -> None:
    gateway, database = listed, tmp_path / "votes.sqlite"
    gateway.cast(USER)
    gateway.cast(USER, f"/manage/servers/{SERVER}")
    with site(gateway, database) as shown:
        shown.shows(("bots", BOT, 1, 1), ("servers", SERVER, 1, 1))
        gateway.advance(86_400)
        gateway.cast(USER)
        gateway.cast(OTHER_USER)
        shown.shows(("bots", BOT, 3, 2), ("servers", SERVER, 1, 1))
        answer = shown.get("/")
        assert answer is not None
        assert f"<td>bots {BOT}<td>3<td>2" in answer.text
    gateway.cast(str(FIRST))  # while the site is down
    with site(gateway, database) as shown:
        shown.shows(("bots", BOT, 4, 3), ("servers", SERVER, 1, 1))
        gateway.done("POST", f"/manage/bots/{BOT}/votes/strike", {"users": [USER], "reason": "bought"})
        gateway.done("DELETE", f"/manage/users/{OTHER_USER}")
        gateway.done("DELETE", f"/manage/servers/{SERVER}")
        shown.shows(("bots", BOT, 1, 1))


def test_the_site_of_the_example_begins_again_once_its_cursor_is_too_old(
    listed: ThreadGateway, tmp_path: Path
) -> None:
    gateway, database = listed, tmp_path / "votes.sqlite"
    gateway.cast(USER)
    with site(gateway, database) as shown:
        shown.shows(("bots", BOT, 1, 1))
    for number in range(3):  # each snapshot deletes what is older than the one before it
        gateway.cast(str(FIRST + number))
        gateway.done("POST", "/debug/snapshot")
    with site(gateway, database) as shown:
        shown.shows(("bots", BOT, 4, 4))
