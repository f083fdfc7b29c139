"""docs/bots.md: each block runs, against a real gateway and a stand-in for the chat platform."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import requests

from tests.clients.chat_stand_in import ChatStandIn
from tests.support.fake_clock import FakeClock
from tests.support.gateways import BOT, OTHER_USER, ROOT, USER, WAIT_SECONDS, ThreadGateway, eventually
from tests.support.programs import installed
from tests.support.raw_receivers import unused_webhook_port
from votegate_client import errors
from votegate_client.replies import Reply

DOCUMENT = (ROOT / "docs/bots.md").read_text()
PRELOADS = ROOT / "tests/clients/preloads"
LIBRARY = ROOT / "build/clients/discord.py/bin/python"
NODE_PACKAGE = ROOT / "clients/node"
ASKED_USER = "333333333333333333"
MOST_LINES = 20
"""Lines of a user's own code up to the first reward."""
SERVERS = [(number << 22) + 5 for number in range(10**11, 10**11 + 5)]
ROW = re.compile(r"^\| (\d{3}) (.+?) \| `(\w+)` \| .+ \|$", re.MULTILINE)


def blocks(title: str, language: str) -> list[str]:
    """Return the blocks of a section."""
    section = DOCUMENT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def block(title: str, language: str) -> str:
    (only,) = blocks(title, language)
    return only


class Scene(NamedTuple):
    """A gateway with a bot whose webhook goes to a port, and the variables that the guide names."""

    gateway: ThreadGateway
    port: int
    environment: Mapping[str, str]

    def counts(self) -> dict[str, object]:
        """Return the row of the bot, with the counts that were pushed."""
        found: dict[str, object] = self.gateway.done("GET", f"/manage/bots/{BOT}")
        return found

    def set_actual(self, servers: int) -> None:
        """Let the gateway know how many servers the bot has."""
        self.gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": servers})


class Program:
    """A block that runs in a folder of its own, with its port replaced."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        """Its output so far."""
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._too_long = threading.Timer(WAIT_SECONDS, self.process.kill)
        self._too_long.start()

    def press(self, line: str) -> None:
        """Write a line to its input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def says(self, line: str) -> None:
        """Read until it says a line."""
        while not self.lines or self.lines[-1] != line:
            self._read(line)

    def says_with(self, text: str) -> str:
        """Read until it says a line with a text. Return the line."""
        while not self.lines or text not in self.lines[-1]:
            self._read(text)
        return self.lines[-1]

    def _read(self, awaited: str) -> None:
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, f"it ended without {awaited!r}: {self.lines}"
        self.lines.append(said.strip())

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self._too_long.cancel()
        self.process.terminate()
        self.process.communicate(timeout=WAIT_SECONDS)


Start = Callable[..., Program]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    gateway = ThreadGateway(tmp_path / "data")
    gateway.clock = FakeClock(time.time_ns() // 1_000_000)  # signatures have its time
    gateway.start()
    port = unused_webhook_port()
    key = gateway.list_bot(actual=1_200)
    url = f"http://127.0.0.1:{port}/votes"
    secret = gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": url})["secret"]
    given = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    own = {"API": gateway.base_url, "BOT_ID": BOT, "API_KEY": key, "WEBHOOK_SECRET": secret}
    package = {"PYTHONPATH": str(ROOT / "clients/python"), "DISCORD_TOKEN": "the.bots.token"}
    yield Scene(gateway, port, {**given, **own, **package})
    gateway.stop()


@pytest.fixture
def start(scene: Scene, tmp_path: Path) -> Iterator[Start]:
    """Run a block of a language, with more variables."""
    with contextlib.ExitStack() as programs:

        def started(text: str, language: str, interpreter: str = sys.executable, **more: str) -> Program:
            path = tmp_path / ("bot.py" if language == "python" else "index.js")
            path.write_text(text.replace("9000", str(scene.port)))
            command = [interpreter if language == "python" else installed("node"), str(path)]
            if language == "js":
                link_packages(tmp_path)
            return programs.enter_context(Program(command, tmp_path, {**scene.environment, **more}))

        yield started


def link_packages(folder: Path) -> None:
    """Install the Node package and discord.js where Node looks for them from the folder."""
    if (
        not (NODE_PACKAGE / "dist/index.js").exists()
        or not (NODE_PACKAGE / "node_modules/discord.js").exists()
    ):
        pytest.skip("the Node package is not built: `make clients`")
    packages = folder / "node_modules"
    if not packages.exists():
        packages.mkdir()
        (packages / "votegate-client").symlink_to(NODE_PACKAGE)
        (packages / "discord.js").symlink_to(NODE_PACKAGE / "node_modules/discord.js")


@pytest.fixture
def chat() -> Iterator[ChatStandIn]:
    """The chat platform, where the bot is in five servers."""
    with ChatStandIn(int(BOT), list(SERVERS), 1) as chat:
        yield chat


def with_discord_py(chat: ChatStandIn, scene: Scene) -> dict[str, str]:
    if not LIBRARY.exists():
        pytest.skip("discord.py is missing: `make clients` installs it")
    path = os.pathsep.join([str(PRELOADS), scene.environment["PYTHONPATH"]])
    return {"interpreter": str(LIBRARY), "CHAT": chat.address, "PYTHONPATH": path}


def with_discord_js(chat: ChatStandIn, folder: Path) -> dict[str, str]:
    options = f"--require {PRELOADS / 'discord.js'}"
    return {"CHAT": chat.address, "BOT_FOLDER": str(folder), "NODE_OPTIONS": options}


def rewards_votes_alone(scene: Scene, program: Program) -> None:
    """A vote is rewarded once; a test and the same webhook again are not."""
    gateway, path = scene.gateway, f"/manage/bots/{BOT}/webhook"
    gateway.done("POST", f"{path}/test", {"user": OTHER_USER})
    gateway.cast(USER)
    program.says(f"{USER} has voted: 100 coins")
    eventually(lambda: delivered(gateway, 2))
    vote = next(each for each in delivered(gateway, 2) if each["user"] == USER)
    gateway.done("POST", f"{path}/deliveries/{vote['id']}/redeliver")
    eventually(lambda: delivered(gateway, 3))
    gateway.cast(OTHER_USER)
    program.says(f"{OTHER_USER} has voted: 100 coins")
    assert [line for line in program.lines if "coins" in line] == [
        f"{USER} has voted: 100 coins",
        f"{OTHER_USER} has voted: 100 coins",
    ]


def delivered(gateway: ThreadGateway, attempts: int) -> list[dict[str, object]]:
    """Return the deliveries once they have had so many attempts together, all of them well."""
    gateway.advance(1)  # webhooks that wait leave at a pace
    found: list[dict[str, object]] = gateway.done("GET", f"/manage/bots/{BOT}/webhook/deliveries")[
        "deliveries"
    ]
    tried = [each for row in found for each in row["attempts"]]  # type: ignore[attr-defined]
    assert all(each["status"] == 204 for each in tried), tried
    return found if len(tried) == attempts else []


def is_open(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def survives_strangers(port: int) -> None:
    """Strangers send headers that no gateway sends, too much, or a half, and go away."""
    signature = b"webhook-id: x\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,\xc3\xa9 \xff\r\n"
    for length, body in ((2, b"{}"), (100, b"{"), (1_000_000, b"x" * 1_000_000), (0, b"")):
        head = b"POST /votes HTTP/1.1\r\nHost: bot\r\n%sContent-Length: %d\r\n\r\n" % (signature, length)
        with socket.create_connection(("127.0.0.1", port)) as stranger, contextlib.suppress(OSError):
            stranger.sendall(head + body)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(65_536):
                pass


def pushes_five_servers(scene: Scene) -> None:
    eventually(lambda: scene.counts()["server_count"] == len(SERVERS))


def test_a_bot_with_discord_py_pushes_and_rewards(scene: Scene, start: Start, chat: ChatStandIn) -> None:
    scene.set_actual(len(SERVERS))
    program = start(block("discord.py", "python"), "python", **with_discord_py(chat, scene))
    pushes_five_servers(scene)
    eventually(lambda: is_open(scene.port))
    survives_strangers(scene.port)
    rewards_votes_alone(scene, program)


def test_a_bot_with_discord_js_pushes_and_rewards(
    scene: Scene, start: Start, chat: ChatStandIn, tmp_path: Path
) -> None:
    scene.set_actual(len(SERVERS))
    program = start(block("discord.js", "js"), "js", **with_discord_js(chat, tmp_path))
    pushes_five_servers(scene)
    eventually(lambda: is_open(scene.port))
    survives_strangers(scene.port)
    rewards_votes_alone(scene, program)


FIRST = "Try it without the platform"
"""The section with the smallest programs."""


@pytest.mark.parametrize(
    ("title", "language"), [("discord.py", "python"), ("discord.js", "js"), (FIRST, "python"), (FIRST, "js")]
)
def test_a_first_reward_takes_20_lines_of_code(title: str, language: str) -> None:
    lines = [line for line in block(title, language).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize(
    ("title", "language"),
    [
        (FIRST, "python"),
        (FIRST, "js"),
        ("Without the package: aiohttp", "python"),
        ("Without the package: fetch", "js"),
    ],
)
def test_a_refused_push_does_not_end_the_receiver(
    scene: Scene, start: Start, title: str, language: str
) -> None:
    program = start(block(title, language), language, API_KEY="vg_" + "x" * 43)
    refusal = program.says_with("Invalid API key.")
    assert refusal.startswith(("not pushed: 401", "failed: "))
    scene.gateway.cast(USER)
    program.says(f"{USER} has voted: 100 coins")


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_bot_asks_whether_a_user_has_voted(scene: Scene, start: Start, language: str) -> None:
    text = block("Ask whether a user has voted", language)
    start(text, language).says(f"Vote first: {scene.gateway.base_url}/bots/{BOT}/vote")
    scene.gateway.cast(ASKED_USER)
    start(text, language).says("Thank you for your vote.")


def test_one_of_several_processes_pushes_for_all(scene: Scene, start: Start, chat: ChatStandIn) -> None:
    start(block("Sharding", "python"), "python", **with_discord_py(chat, scene))
    eventually(lambda: scene.counts()["server_count"] == 1_210)


def test_a_sharding_manager_pushes_for_its_shards(
    scene: Scene, start: Start, chat: ChatStandIn, tmp_path: Path
) -> None:
    scene.set_actual(len(SERVERS))
    (tmp_path / "bot.js").write_text(
        'const { Client, GatewayIntentBits } = require("discord.js");\n'
        "new Client({ intents: [GatewayIntentBits.Guilds] }).login(process.env.DISCORD_TOKEN);\n"
    )
    start(block("Sharding", "js"), "js", **with_discord_js(chat, tmp_path))
    pushes_five_servers(scene)


@pytest.mark.parametrize(("library", "language"), [("aiohttp", "python"), ("fetch", "js")])
def test_without_the_package_a_bot_pushes_asks_and_rewards(
    scene: Scene, start: Start, library: str, language: str
) -> None:
    program = start(block(f"Without the package: {library}", language), language)
    program.says("not voted")
    assert (scene.counts()["server_count"], scene.counts()["command_count"]) == (1_210, 42)
    survives_strangers(scene.port)
    rewards_votes_alone(scene, program)
    headers = {"webhook-id": "x", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    with requests.Session() as session:
        session.trust_env = False
        url = f"http://127.0.0.1:{scene.port}/votes"
        assert session.post(url, b"{}", headers=headers, timeout=WAIT_SECONDS).status_code == 401


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_first_reward_needs_no_platform(tmp_path: Path, language: str) -> None:
    """The commands of the guide, with `votegate`, `python3` and the port of this test."""
    port = unused_webhook_port()
    dev = f'{ROOT}/server.py "$@" --port 0 --webhook http://127.0.0.1:{port}/votes'
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    for name, arguments in (("votegate", dev), ("python3", '"$@"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\nexec {sys.executable} {arguments}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    given = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    path = f"{tmp_path / 'bin'}{os.pathsep}{given['PATH']}"
    environment = {**given, "PATH": path, "PYTHONPATH": str(ROOT / "clients/python")}
    serve, run_python, run_node = blocks(FIRST, "sh")
    run_bot = run_python.replace("python3", "exec python3")
    if language == "js":
        link_packages(tmp_path)
        assert run_node.startswith("node ")
        run_bot = run_node.replace("node", f"exec {installed('node')}", 1)
    name = "bot.py" if language == "python" else "bot.js"
    (tmp_path / name).write_text(block(FIRST, language).replace("9000", str(port)))

    with Program(["sh", "-c", f"exec {serve}"], tmp_path, environment) as platform:
        eventually((tmp_path / ".env").exists)
        with Program(["bash", "-c", run_bot], tmp_path, environment) as bot:
            bot.says("pushed")
            for keys, voter in (("v", USER), ("r\nt\nv", OTHER_USER)):
                platform.press(f"{keys} {voter}")
                bot.says(f"{voter} has voted: 100 coins")

    assert bot.lines == ["pushed", *(f"{each} has voted: 100 coins" for each in (USER, OTHER_USER))]


def test_the_tests_of_a_bot_run(tmp_path: Path) -> None:
    path = tmp_path / "test_bot.py"
    path.write_text(block("Test your own code", "python"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        str(path),
    ]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert "2 passed" in run.stdout, run.stdout + run.stderr


def test_the_packages_that_are_installed_have_these_names() -> None:
    python = (ROOT / "clients/python/pyproject.toml").read_text()
    node = json.loads((NODE_PACKAGE / "package.json").read_text())
    by_pip, by_npm = blocks("Begin", "sh")
    assert by_pip.splitlines()[-1].split()[2] == tomllib.loads(python)["project"]["name"]
    assert by_npm.split()[2] == node["name"]


def test_every_error_of_the_api_is_in_a_table() -> None:
    api = (ROOT / "docs/api.md").read_text().split("## Errors\n")[1].split("\n## ")[0]
    wanted = set(re.findall(r"^\| (\d{3}) \| (.*?) \|", api, re.MULTILINE))
    assert len(wanted) > 15
    assert {(status, text) for status, text, _ in ROW.findall(DOCUMENT)} == wanted


@pytest.mark.parametrize(("status", "text", "name"), ROW.findall(DOCUMENT))
def test_an_error_has_the_class_that_the_table_names(status: str, text: str, name: str) -> None:
    body = {"success": False, "error": text, "status": int(status)}
    reply = Reply(int(status), {}, body, at=0)
    assert type(reply.error()) is getattr(errors, name)


def test_the_reasons_of_failed_webhooks_are_those_of_the_delivery_log() -> None:
    table = DOCUMENT.split("### Webhooks that fail\n")[1]
    named = {name for name in re.findall(r"`([a-z]+)`", table) if name != "votegate"}
    logged = (ROOT / "docs/webhooks.md").read_text().split("| error | what happened |")[1].split("\n\n")[0]
    assert named <= set(re.findall(r"`([a-z]+)`", logged))
