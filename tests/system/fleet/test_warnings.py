"""Nodes of a fleet warn their operators while something is wrong."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replication.warnings import BEHIND_SECONDS
from storage.folder import DIGEST_SECRET, KEYS
from tests.support.contract import users
from tests.support.fleet_processes import SHARED_SECRETS
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import HOUR_MS, NOW_MS
from tests.support.warned import warned

DAY_MS = 24 * HOUR_MS


def passing(node: ThreadNode, condition: Callable[[], object]) -> None:
    """Lets time pass for the node until the condition is true."""

    def passed() -> object:
        node.advance(1)
        return condition()

    eventually(passed)


def state_of(node: ThreadNode, other: str) -> str:
    return str(node.replication["nodes"].get(other, {}).get("state"))


@contextmanager
def differing(folder: Path, url: str) -> Iterator[ThreadFleet]:
    """Nodes a and b that have heard of each other; the clock of b is a day ahead."""
    with threads_of(folder, url) as fleet:
        fleet.node("a").list_bot()
        fleet.node("b", NOW_MS + DAY_MS, settings={"votes.cooldown_seconds": 43_200})
        fleet.converge()
        eventually(lambda: {state_of(fleet.nodes[0], "b"), state_of(fleet.nodes[1], "a")} == {"there"})
        yield fleet


@pytest.fixture
def pair(redis_server: RedisServer, tmp_path: Path) -> Iterator[ThreadFleet]:
    with differing(tmp_path, redis_server.url) as fleet:
        yield fleet


def test_two_nodes_that_differ_say_so_to_both_operators(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    setting = (
        "votes.cooldown_seconds is {} at this node ({}) and {} at node {}: give all nodes the same value"
    )
    wanted = {
        setting.format("86400", "a", "43200", "b"),
        setting.format("43200", "b", "86400", "a"),
        "the clock of node b is 86400 s ahead of that of this node (a): votes end at the wrong time; "
        "synchronise the clocks",
        "the clock of node a is 86400 s behind that of this node (b): votes end at the wrong time; "
        "synchronise the clocks",
    }
    with differing(tmp_path, redis_server.url) as pair:  # no fixture: pytest misses lines between its phases
        a, b = pair.nodes
        eventually(lambda: {*a.concerns("fleet"), *b.concerns("fleet")} == wanted)
        lines = warned(caplog)
    assert all(lines.count(line) == 1 for line in wanted)


@pytest.mark.parametrize(("lost", "named"), [(KEYS, "sealing.keys"), (DIGEST_SECRET, "key-digest.secret")])
def test_nodes_with_different_secrets_say_so_at_once_with_the_secret_and_both_nodes(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, lost: str, named: str
) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a = fleet.node("a")
        folder = tmp_path / "b"
        folder.mkdir()
        for secret in {*SHARED_SECRETS} - {lost}:
            shutil.copy(a.folder / secret, folder)
        b = fleet.node("b")
        eventually(lambda: named in a.replication["refused"].get("b", ""))
        eventually(lambda: named in b.replication["refused"].get("a", ""))
        told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        for here, there in (("a", "b"), ("b", "a")):
            (line,) = (line for line in told if line.startswith(f"nothing is taken from node {there} "))
            assert f"at this one ({here})" in line
            assert named in line


def test_without_redis_nobody_knows_who_is_there_and_who_has_much_to_tell_is_behind(
    pair: ThreadFleet, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    a, _ = pair.nodes
    redis_server.stop()
    eventually(lambda: state_of(a, "b") == "unknown")
    assert a.replication["nodes"]["b"]["silent_ms"] is None
    assert a.concerns("redis")
    a.cast(users(1)[0])
    behind = f"this node (a) is behind: what it did {BEHIND_SECONDS:g} s ago is not told yet"
    passing(a, lambda: [line for line in a.concerns("fleet") if line.startswith(behind)])

    redis_server.start()

    pair.converge()
    eventually(lambda: state_of(a, "b") == "there")
    eventually(lambda: not a.concerns("redis"))
    eventually(lambda: not [line for line in a.concerns("fleet") if line.startswith(behind)])
    lines = warned(caplog)
    assert [line.partition(":")[0] for line in lines if "is behind" in line] == [
        "this node (a) is behind",
        "this node (a) is behind no more",
    ]


def test_a_node_that_says_nothing_for_long_is_told_and_so_is_its_return(
    pair: ThreadFleet, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = pair.nodes
    b.stop()
    silent = f"node b has said nothing for {BEHIND_SECONDS:g} s"
    passing(a, lambda: silent in a.concerns("fleet"))
    eventually(lambda: state_of(a, "b") == "silent")
    b.start()
    eventually(lambda: silent not in a.concerns("fleet"))
    assert [line for line in warned(caplog) if line.startswith("node b")] == [silent, "node b is there again"]
