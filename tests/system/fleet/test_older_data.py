"""A node whose data are older than what it told, or whose clock was: every vote counts, and counts once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import users
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import NOW_MS, ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import BOT, eventually
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import HOUR_MS

DAY_MS = 24 * HOUR_MS
ANYTIME = {"votes.cooldown_seconds": 0.001}
"""Users may vote again at once."""
OLD, LATE, NEW = users(3), users(3, 3), users(3, 6)


@pytest.fixture
def fleet(redis_server: RedisServer, tmp_path: Path) -> Iterator[ThreadFleet]:
    with threads_of(tmp_path, redis_server.url) as fleet:
        yield fleet


def cast_all(node: ThreadNode, voters: list[str]) -> None:
    for user in voters:
        node.clock.advance_ms(1)
        node.cast(user)


def votes_of(node: ThreadNode, voters: list[str]) -> list[int]:
    checked = node.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": voters})["votes"]
    return [vote["vote"] for vote in checked]


def copies(caplog: pytest.LogCaptureFixture, donor: str) -> int:
    return sum(record.getMessage() == f"taking a copy of node {donor}" for record in caplog.records)


def test_a_node_that_starts_from_nothing_with_an_earlier_clock_after_redis_lost_its_data_is_streamed_again(
    fleet: ThreadFleet, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    a = fleet.node("a", NOW_MS + DAY_MS, ANYTIME)
    b = fleet.node("b", NOW_MS, ANYTIME)
    a.list_bot()
    cast_all(a, OLD)
    fleet.converge()
    a.stop()
    fleet.nodes.remove(a)
    redis_server.flush()
    shutil.rmtree(a.folder)

    a = fleet.node("a", NOW_MS, ANYTIME)

    fleet.converge()
    cast_all(a, NEW)
    fleet.converge()
    caplog.clear()
    for user in LATE:
        cast_all(a, [user])
        fleet.converge()
        eventually(lambda: b.replication["nodes"]["a"]["behind"] == 0)
    assert copies(caplog, "a") == 0
    for node in (a, b):
        assert votes_of(node, [*OLD, *NEW, *LATE]) == [1] * 9


def test_votes_that_an_older_folder_takes_before_it_reaches_redis_count_beside_those_it_had_told(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    wired = {**ANYTIME, "redis.url": proxy.url}
    a = fleet.node("a", NOW_MS, wired)
    b = fleet.node("b", NOW_MS, ANYTIME)
    a.list_bot()
    cast_all(a, [*OLD, *OLD])
    fleet.converge()
    a.stop()
    shutil.copytree(a.folder, a.folder.parent / "older")
    a.start()
    cast_all(a, [*OLD, *LATE])  # which the older folder does not know of
    fleet.converge()
    label = a.replication["node"]
    a.stop()
    shutil.rmtree(a.folder)
    shutil.copytree(a.folder.parent / "older", a.folder)
    proxy.cut()

    a.start()
    cast_all(a, [*OLD, *NEW, *OLD])
    assert votes_of(a, OLD) == [4] * 3
    proxy.restore()

    eventually(lambda: a.replication["node"] != label)
    fleet.converge()
    for node in (a, b):
        assert votes_of(node, [*OLD, *LATE, *NEW]) == [5] * 3 + [1] * 6


def test_votes_of_two_processes_with_one_name_and_copies_of_one_folder_all_count(fleet: ThreadFleet) -> None:
    first = fleet.node("a", NOW_MS, ANYTIME)
    b = fleet.node("b", NOW_MS, ANYTIME)
    first.list_bot()
    cast_all(first, OLD)
    fleet.converge()
    first.stop()
    shutil.copytree(first.folder, first.folder.parent / "clone")
    first.start()
    eventually(lambda: first.replication["holds_name"])
    clone = ThreadNode(first.folder.parent / "clone", "a", fleet.url, NOW_MS + HOUR_MS, **ANYTIME)
    fleet.nodes.append(clone)
    clone.start()
    for node in (first, clone):
        cast_all(node, [*OLD, *LATE])
    eventually(lambda: votes_of(b, OLD) == [2] * 3)
    assert not clone.replication["holds_name"]

    first.stop()
    fleet.nodes.remove(first)

    eventually(lambda: clone.replication["holds_name"])
    eventually(lambda: votes_of(b, OLD) == [3] * 3)
    fleet.converge()
    assert [votes_of(node, [*OLD, *LATE]) for node in (b, clone)] == [[3] * 3 + [2] * 3] * 2
