"""examples/with_chat_platform.py as a process: `make run` starts it, and no process may stay behind."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from chatplatform.authorization import new_sign_in, read_callback, sign_in_url, token_form
from core.clock import SystemClock
from gateway.delivery import open_platform
from settings.model import Settings, load_settings
from tests.support.coroutines import run
from tests.support.cutting_proxy import held_port, held_ports
from tests.support.gateways import ROOT, WAIT_SECONDS, Client, eventually
from tests.support.platform_stand_in import CLEO, decided_at
from tests.support.programs import children, command_lines

BETWEEN = 10
SIGN_IN = new_sign_in(bytes(range(64)))
GREETING = re.compile(
    r"^A stand-in for the chat platform answers at (http://127\.0\.0\.1:\d+)\.", re.MULTILINE
)


class Pair(Client):
    """The command of `make run` with its own ports and folder."""

    def __init__(self, folder: Path, *, is_moved: bool = False) -> None:
        """`is_moved` gives the port of the gateway by its variable alone."""
        super().__init__()
        self._held = held_ports(BETWEEN) if is_moved else [held_port()]
        port = self._held[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        self._log = folder / "log"
        made = re.search(r"python (examples/with_chat_platform\.py.*)", (ROOT / "Makefile").read_text())
        assert made is not None
        own = ["--data-dir", str(folder / "data")]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VOTEGATE_")}
        if is_moved:
            environment["VOTEGATE_SERVER__PORT"] = str(port)
        else:
            own += ["--port", str(port), "--platform-port", "0"]
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, *made[1].split(), *own],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def started(self) -> "Pair":
        """Wait until it says that both programs answer."""

        def greeted() -> bool:
            assert self.process.poll() is None, self.log
            found = GREETING.search(self.log)
            self.platform_url = found[1] if found else ""
            return found is not None

        eventually(greeted)
        commands = command_lines()
        self.running = {commands[pid][1]: pid for pid in children(self.process.pid)}
        return self

    def settings(self) -> Settings:
        """Return the settings of the gateway, from its environment."""
        environment = Path(f"/proc/{self.running['server.py']}/environ").read_text().split("\0")
        return load_settings(None, dict(each.split("=", 1) for each in environment if each), {})

    def ended(self) -> int:
        """Wait until all of its processes have ended. Return the exit status."""
        status = self.process.wait(WAIT_SECONDS)
        eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in self.running.values()))
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(WAIT_SECONDS)
        self.session.close()
        for each in self._held:
            each.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    yield pair
    pair.close()


def ended_by(pair: Pair, number: signal.Signals) -> None:
    assert {*pair.running} == {"server.py", "examples/chat_platform.py"}
    pair.session.close()  # otherwise the gateway would wait for it
    pair.process.send_signal(number)
    assert pair.ended() == 0
    assert "stopped at position" in pair.log
    assert "Traceback" not in pair.log


def test_both_answer_the_gateway_knows_the_stand_in_and_ctrl_c_ends_both(pair: Pair) -> None:
    pair.started()
    assert pair.request("GET", "/readyz").status_code == 200
    settings = pair.settings()
    platform, web = settings.chat_platform, settings.web
    assert web.moderators == (CLEO,)
    assert web.redirect_uri == f"{pair.base_url}/signin/callback"
    assert f"redirect URI at the chat platform: {web.redirect_uri}" in pair.log
    assert platform.cdn_url == pair.platform_url
    assert "Votegate has created a demo bot" in pair.log

    async def signed_in() -> str:
        async with open_platform(platform, web, settings.webhooks, SystemClock()) as client:
            url = sign_in_url(
                platform.authorize_url, platform.client_id or "", web.redirect_uri or "", SIGN_IN
            )
            code = read_callback(dict(parse_qsl(urlsplit(decided_at(url, CLEO)).query)), SIGN_IN)
            token = await client.token(token_form(code, web.redirect_uri or "", SIGN_IN))
            return (await client.user(token)).id

    assert run(signed_in()) == CLEO
    ended_by(pair, signal.SIGINT)


def test_the_variable_of_the_gateways_port_moves_the_stand_in_too(tmp_path: Path) -> None:
    pair = Pair(tmp_path, is_moved=True)
    try:
        pair.started()
        gateway, platform = (urlsplit(each).port for each in (pair.base_url, pair.platform_url))
        assert gateway is not None
        assert platform == gateway + BETWEEN
    finally:
        pair.close()


def test_the_end_of_the_terminal_ends_both(pair: Pair) -> None:
    ended_by(pair.started(), signal.SIGHUP)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("server.py", "stopped: the gateway has ended with status -9"),
        ("examples/chat_platform.py", "stopped: the stand-in has ended with status -9"),
    ],
)
def test_when_one_ends_the_other_one_is_stopped(pair: Pair, command: str, told: str) -> None:
    pair.started()
    os.kill(pair.running[command], signal.SIGKILL)
    assert pair.ended() == 1
    assert told in pair.log
    assert ("stopped at position" in pair.log) is (command != "server.py"), "a gateway drains"


def test_a_gateway_that_cannot_start_leaves_no_stand_in(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    pair = Pair(tmp_path)
    try:
        assert pair.process.wait(WAIT_SECONDS) == 1
        assert "votegate cannot serve: " in pair.log
        assert "stopped: the gateway has ended with status 1" in pair.log
        assert [
            each for each in command_lines().values() if any(pair.base_url in word for word in each)
        ] == []
    finally:
        pair.close()
