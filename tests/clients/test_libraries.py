"""AutoPoster in bots of the published libraries, each in an environment that `make clients` makes."""

import json
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import votegate_client
from tests.clients.chat_stand_in import ChatStandIn
from tests.clients.scripted_server import ScriptedServer
from tests.clients.stories import DEFAULTS
from tests.support.gateways import WAIT_SECONDS
from tests.support.programs import installed

HERE = Path(__file__).parent
PACKAGES = Path(votegate_client.__file__).parent.parent
ENVIRONMENTS = HERE.parent.parent / "build/clients"
MODULES = {"discord.py": "discord", "disnake": "disnake", "nextcord": "nextcord", "py-cord": "discord"}
KEY: str = DEFAULTS["client"]["key"]
SERVERS = [(number << 22) + 5 for number in range(10**11, 10**11 + 5)]
"""Five; three of them are on the first of two shards."""


ENOUGH = 200
"""Pushes, of which each comes a fifth of a second after the one before it."""
PUSH = {"method": "PATCH"}
WRONG_KEY = {"status": 401, "json": {"success": False, "error": "Invalid API key.", "status": 401}}
OK = {"status": 200, "json": {"success": True}}


PYRIGHT = HERE / "pyright/node_modules/pyright/index.js"
TYPED_BOTS = """
import MODULE
from MODULE.ext import commands
from votegate_client import AutoPoster, Client

client = Client("key", 111111111111111111, "https://votes.example")
intents = MODULE.Intents.default()
AutoPoster(MODULE.Client(intents=intents), client).start()
AutoPoster(commands.Bot(command_prefix="!", intents=intents), client, command_count=lambda: 42)
AutoPoster(commands.AutoShardedBot(command_prefix="!", intents=intents), client)
"""


@pytest.fixture(params=MODULES)
def library(request: pytest.FixtureRequest) -> tuple[Path, str]:
    """Return the interpreter of an environment, and the module of its library."""
    python = ENVIRONMENTS / request.param / "bin/python"
    if not python.exists():
        pytest.skip(f"{request.param} is missing: `make clients` installs it")
    return python, MODULES[request.param]


@contextmanager
def running(library: tuple[Path, str], kind: str, *addresses: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a bot until it gets ^C. Then it must have ended in order."""
    python, module = library
    process = subprocess.Popen(
        [python, HERE / "library_bot.py", module, kind, *addresses, KEY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(PACKAGES)},
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=WAIT_SECONDS)
        sys.stderr.write(log)  # pytest shows it if the test fails
    assert "The counts were not pushed" in log
    for complaint in ("Unclosed", "was destroyed", "never retrieved", "Traceback", KEY):
        assert complaint not in log, log


@pytest.mark.parametrize(("kind", "shards"), [("Bot", 1), ("AutoShardedBot", 2)])
def test_the_servers_of_all_shards_are_pushed_and_a_failure_is_no_trouble(
    library: tuple[Path, str], kind: str, shards: int
) -> None:
    pushed: queue.Queue[int] = queue.Queue()
    gateway = ScriptedServer(
        [{"request": PUSH, "answer": each} for each in [WRONG_KEY, *[OK] * ENOUGH]],
        lambda _, request: pushed.put(json.loads(request["body"])["server_count"]),
    )
    with (
        ChatStandIn(int(DEFAULTS["client"]["bot_id"]), list(SERVERS), shards) as chat,
        running(library, kind, chat.address, gateway.address) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert pushed.get(timeout=WAIT_SECONDS) == 5
        assert pushed.get(timeout=WAIT_SECONDS) == 5
        chat.join((10**12 << 22) + 5)
        later = (pushed.get(timeout=WAIT_SECONDS) for _ in range(ENOUGH))
        assert next(count for count in later if count != 5) == 6
    gateway.close()


def test_a_type_checker_accepts_the_bots(library: tuple[Path, str], tmp_path: Path) -> None:
    node = installed("node")
    if not PYRIGHT.exists():
        pytest.skip("pyright is missing: `make clients` installs it")
    python, module = library
    (tmp_path / "bots.py").write_text(TYPED_BOTS.replace("MODULE", module))
    settings = {"include": ["bots.py"], "extraPaths": [str(PACKAGES)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checked = subprocess.run(
        [node, PYRIGHT, "--project", tmp_path, "--pythonpath", python], capture_output=True, text=True
    )
    assert checked.stdout.startswith("0 errors, 0 warnings"), checked.stdout
