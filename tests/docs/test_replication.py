"""docs/replication.md: its walk-through runs word by word over `make fleet`, and its numbers are the
defaults.

Only ports and the folder are replaced. A json or text block must be the output of the sh block before it,
where `...` stands for any text.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import redis
import requests

from gateway.fleet_node import READY_SECONDS, alike
from replication.claims import PAUSE_SECONDS
from replication.follower import REFUSED_SECONDS
from replication.members import ALIVE_BEATS, LISTENED_BEATS
from replication.redis_link import KeyKind
from replication.warnings import BEHIND_SECONDS, CLOCK_SECONDS, LOOK_BEATS, SILENT_SECONDS
from settings.model import RedisSettings, Settings
from storage.folder import DIGEST_SECRET, KEYS
from tests.support.cutting_proxy import held_port
from tests.support.gateways import ROOT, WAIT_SECONDS, eventually, running
from tests.support.programs import children
from tests.support.redis_server import RedisServer, binary

DOCUMENT = (ROOT / "docs/replication.md").read_text()
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(DOCUMENT)
FOLDER = "examples/data"
NEXT = "--- next block ---"
DEFAULT = RedisSettings()
PATIENT = {"VOTEGATE_REDIS__CLAIM_TIMEOUT_SECONDS": "2"}
"""Votes wait longer for a claim than a busy machine needs."""


def section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


class MadeFleet:
    """The command of `make fleet` with its own ports and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ""
        self._held = held_port()
        make_fleet = re.search(r"python (examples/two_nodes\.py.*)", (ROOT / "Makefile").read_text())
        assert make_fleet is not None
        redis_port: int = self._held.getsockname()[1]
        own = ["--folder", str(folder), "--ports", "0", "0", "--redis-port", str(redis_port)]
        path = f"{Path(binary()).parent}:{os.environ.get('PATH', '')}"
        names = {name: value for name, value in os.environ.items() if not name.startswith("VOTEGATE_")}
        self.process = subprocess.Popen(
            [sys.executable, *make_fleet[1].split(), *own],
            cwd=ROOT,
            env={**names, "PATH": path, **PATIENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addresses = dict(re.findall(r"^node (\w): (http\S+),", self._until("Ctrl-C"), re.MULTILINE))
        self._reader = threading.Thread(target=self._until, args=("this is never said",))
        self._reader.start()

    def _until(self, words: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.log += line
            if words in line:
                break
        return self.log

    def interrupt(self) -> int:
        """Press Ctrl-C and wait. Return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.interrupt()
        self._reader.join(WAIT_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._held.close()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[MadeFleet]:
    fleet = MadeFleet(tmp_path / "fleet")
    yield fleet
    fleet.close()


def test_the_walk_through_works_word_by_word_and_leaves_nothing_running(fleet: MadeFleet) -> None:
    blocks = BLOCK.findall(section("Two nodes on one machine"))
    commands = [text for kind, text in blocks if kind == "sh"]
    script = f"\necho; echo '{NEXT}'\n".join(commands).replace(FOLDER, str(fleet.folder))
    for documented, name in (("http://127.0.0.1:8080", "a"), ("http://127.0.0.1:8081", "b")):
        assert documented in script
        script = script.replace(documented, fleet.addresses[name])

    bash = shutil.which("bash")
    assert bash is not None
    run = subprocess.run(
        [bash, "-eu"], input=script, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_SECONDS
    )

    assert run.returncode == 0, run.stderr + fleet.log
    outputs = run.stdout.split(NEXT)
    assert len(outputs) == len(commands)
    before = -1
    for kind, text in blocks:
        if kind == "sh":
            before += 1
        else:
            wanted = re.escape("".join(text.split())).replace(re.escape("..."), ".*")
            assert re.fullmatch(wanted, "".join(outputs[before].split())), (text, outputs[before])

    running = children(fleet.process.pid)
    assert len(running) == 3, "two gateways and a Redis"
    assert fleet.interrupt() == 0, fleet.log
    assert not [pid for pid in running if Path(f"/proc/{pid}").exists()]
    assert sorted(path.name for path in fleet.folder.iterdir()) == ["a", "b"]
    for address in fleet.addresses.values():
        with pytest.raises(requests.ConnectionError):
            requests.get(address + "/healthz", timeout=WAIT_SECONDS)


def test_the_user_of_redis_has_the_commands_of_a_fleet_and_no_others(tmp_path: Path) -> None:
    (line,) = [text for _, text in BLOCKS if text.strip().startswith("user edge")]
    server = RedisServer(tmp_path, "--user", *line.replace("SECRET", "of-the-test").split()[1:]).start()
    url = server.url.replace("redis://", "redis://edge@").removesuffix("/0")
    settings = {"redis.url": url, "redis.password": "of-the-test", "redis.beat_seconds": 0.05}
    allowed = {word[1:].split("|")[0] for word in line.split() if word.startswith("+")}
    try:
        with running(tmp_path / "one", **settings, **{"redis.node": "one"}) as one:
            key = one.list_bot()
            one.cast()
            assert one.voters(key).status_code == 200
            (tmp_path / "two").mkdir()
            for secret in (KEYS, DIGEST_SECRET):
                shutil.copy(one.folder / secret, tmp_path / "two")
            with running(tmp_path / "two", **settings, **{"redis.node": "two"}) as two:
                eventually(lambda: two.voters(key).status_code == 200 and two.voters(key).json()["voted"])
                fields = two.done("GET", "/debug/overview.json")["replication"]
                with server.client() as client:
                    eventually(lambda: allowed <= used_commands(client))
                    assert client.acl_log() == []
    finally:
        server.close()
    assert [*fields] == re.findall(r"^\| `(\w+)` \|", section("Watching it"), re.MULTILINE)
    for field in fields["nodes"]["one"]:
        assert f"`{field}`" in section("Watching it"), field


def used_commands(client: redis.Redis) -> set[str]:
    return {name.removeprefix("cmdstat_") for name in client.info("commandstats")}


def test_every_setting_is_named_with_its_default() -> None:
    rows = re.findall(r"^\| `redis\.(\w+)` \| (\S+) \|", section("Tuning"), re.MULTILINE)
    assert rows == [
        (name, str(value)) for name, value in DEFAULT.model_dump().items() if isinstance(value, int | float)
    ]
    for name in RedisSettings.model_fields:
        assert f"`redis.{name}`" in DOCUMENT or f"VOTEGATE_REDIS__{name.upper()}" in DOCUMENT, name


def test_every_kind_of_key_is_in_the_table_of_readable_data() -> None:
    rows = [row.split("|")[1] for row in section("What Redis sees").splitlines() if row.startswith("| `")]
    named = {key for row in rows for key in re.findall(r"`([a-z:<>]+)`", row)}
    assert {key.partition(":")[0] for key in named} == {
        kind for part in get_args(KeyKind) for kind in get_args(part)
    }


def test_the_numbers_are_the_defaults() -> None:
    sentences = [
        f"`redis.claim_timeout_seconds` ({DEFAULT.claim_timeout_seconds:g}) at most",
        f"`redis.lease_seconds` ({DEFAULT.lease_seconds:g}), another one",
        f"`redis.usage_seconds` ({DEFAULT.usage_seconds:g}) and the way",
        f"at most once in `redis.pace_seconds` ({DEFAULT.pace_seconds:g})",
        f"`redis.stream_bytes` ({DEFAULT.stream_bytes >> 20} MiB)",
        f"keeps a name for {ALIVE_BEATS} heartbeats for a process that says nothing",
        f"at most, {(ALIVE_BEATS + 1) * DEFAULT.beat_seconds:g} seconds after it was killed",
        f"status changed in the last {ALIVE_BEATS} heartbeats",
        f"again every {REFUSED_SECONDS:g} seconds",
        f"at most {READY_SECONDS:g} seconds: somebody else",
        f"in place of `{DEFAULT.prefix}`",
        f"what it did {BEHIND_SECONDS:g} s ago is not told yet",
        f"not come there {BEHIND_SECONDS:g} seconds later, it is behind",
        f"come to a later end within {BEHIND_SECONDS / 2:g} seconds",
        f"said nothing for {SILENT_SECONDS:g} seconds",
        f"by more than {CLOCK_SECONDS:g} seconds and a heartbeat",
        f"within {LOOK_BEATS} heartbeats",
        f"sent for it, or for {READY_SECONDS:g} seconds",
    ]
    text = " ".join(DOCUMENT.split())
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert PAUSE_SECONDS == 1, "only one a second waits"
    assert LISTENED_BEATS == 2, "waits for two heartbeats for what the others know of it"
    for setting in alike(Settings()):
        assert f"`{setting}`" in section("Watching it"), setting
