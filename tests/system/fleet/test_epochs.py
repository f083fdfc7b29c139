"""A node whose data are not what they were is another node: nothing counts twice, and nothing is lost."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, users
from tests.support.fleet_processes import SHARED_SECRETS, Edge, FleetOfEdges, fleet_of
from tests.support.gateways import ROOT, eventually
from tests.support.redis_server import RedisServer

ANYTIME = {"VOTEGATE_VOTES__COOLDOWN_SECONDS": "0.001"}
"""Users may vote again at once."""
EARLY, LATE, NEW = users(10), users(10, 10), users(10, 20)


def cast_all(node: Edge, voters: list[str]) -> None:
    for user in voters:
        node.cast(user)


def with_secrets(folder: Path, of: Path) -> None:
    folder.mkdir()
    for secret in SHARED_SECRETS:
        shutil.copy(of / secret, folder)


def assert_counts(fleet: FleetOfEdges, *nodes: Edge) -> None:
    """All nodes have the votes of before and after, once each."""
    fleet.converge(*nodes)
    for node in nodes:
        assert node.votes_of(EARLY) == [2] * len(EARLY)
        assert node.votes_of(LATE) == [1] * len(LATE)
        assert node.votes_of(NEW) == [1] * len(NEW)


# -- data that are gone, or older --------------------------------------------------------------------------


Back = Callable[[Path, Path], None]
"""Makes a node's folder of what was kept of it."""


def nothing(kept: Path, folder: Path) -> None:
    with_secrets(folder, kept)


def the_older_copy(kept: Path, folder: Path) -> None:
    shutil.copytree(kept, folder)


def the_backup(kept: Path, folder: Path) -> None:
    with_secrets(folder, kept)
    backup = str(kept / "votegate.backup")
    restore = [sys.executable, "server.py", "restore", backup, "--allow-missing"]
    restore += ["--data-dir", str(folder)]
    restored = subprocess.run(restore, cwd=ROOT, capture_output=True, text=True)
    assert restored.returncode == 0, restored.stderr


def nothing_happens(redis: RedisServer) -> None:
    del redis


BACK = [
    (nothing, nothing_happens),
    (the_older_copy, nothing_happens),
    pytest.param(the_backup, nothing_happens, marks=pytest.mark.long),
]
LOST_TOO = [
    pytest.param(nothing, RedisServer.flush, marks=pytest.mark.long),
    pytest.param(the_older_copy, RedisServer.flush, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("back", "meanwhile"), [*BACK, *LOST_TOO])
def test_a_node_that_lost_data_gets_them_back_and_its_new_votes_count_beside_its_old_ones(
    redis_server: RedisServer, tmp_path: Path, back: Back, meanwhile: Callable[[RedisServer], None]
) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "a"
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a", **ANYTIME)
        a.list_bot()
        cast_all(a, EARLY)
        backup = a.operate("GET", "/debug/snapshot").content
        if back is the_older_copy:
            a.stop()
            shutil.copytree(folder, kept)
            a = fleet.edge("a", **ANYTIME)
        else:  # a running node may remove a file while the folder is copied
            with_secrets(kept, folder)
            (kept / "votegate.backup").write_bytes(backup)
        b = fleet.edge("b")
        cast_all(a, LATE)
        fleet.converge(a, b)
        epoch = a.replication["node"]
        a.kill()
        shutil.rmtree(folder)
        meanwhile(redis_server)
        back(kept, folder)

        a = fleet.edge("a", **ANYTIME)

        fleet.converge(a, b)
        cast_all(a, [*EARLY, *NEW])
        assert_counts(fleet, a, b)
        assert a.replication["node"] != epoch


@pytest.mark.long
def test_a_node_that_has_its_data_is_the_same_after_redis_lost_everything(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **ANYTIME), fleet.edge("b")
        a.list_bot()
        cast_all(a, [*EARLY, *LATE])
        fleet.converge(a, b)
        epoch = a.replication["node"]
        a.stop()
        redis_server.flush()
        a = fleet.edge("a", **ANYTIME)
        cast_all(a, [*EARLY, *NEW])
        assert_counts(fleet, a, b)
        assert a.replication["node"] == epoch


# -- names -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_second_process_with_the_name_keeps_silent_until_the_first_is_gone(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a")
        a.list_bot()
        with_secrets(tmp_path / "second", a.folder)
        second = Edge(tmp_path / "second", "a", redis_server.url)
        fleet.edges.append(second)
        second.start()
        eventually(lambda: "another process bears the name a: nothing is sent or read" in second.log)
        b = fleet.edge("b")
        a.cast(EARLY[0])
        fleet.converge(a, b)
        assert a.replication["holds_name"]
        assert not second.replication["holds_name"]
        assert second.operate("GET", BOT_PATH).status_code == 404
        second.list_bot()
        assert second.cast(EARLY[1])["vote"] == 1
        assert b.votes_of(EARLY[:2]) == [1, 0]

        a.stop()

        fleet.converge(second, b)
        assert second.replication["holds_name"]
        assert b.votes_of(EARLY[:2]) == second.votes_of(EARLY[:2]) == [1, 1]


@pytest.mark.long
def test_a_node_that_gets_another_name_keeps_its_votes(redis_server: RedisServer, tmp_path: Path) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **ANYTIME), fleet.edge("b")
        a.list_bot()
        cast_all(a, [*EARLY, *LATE])
        fleet.converge(a, b)
        a.stop()
        renamed = Edge(a.folder, "renamed", redis_server.url, **ANYTIME)
        fleet.edges.append(renamed)
        renamed.start()
        cast_all(renamed, [*EARLY, *NEW])
        assert_counts(fleet, renamed, b)
        assert renamed.replication["node"].startswith("renamed.")
        eventually(lambda: b.replication["nodes"].get("a", {}).get("state") != "there")
