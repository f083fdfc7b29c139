"""Reports in a fleet: a moderator of one node settles the reports that this node knew, and no others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import NOW_MS, ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import USER, eventually
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import OTHER_USER

THIRD_USER = "500000000000000003"


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[CuttingProxy]:
    """The way of node b to Redis."""
    with CuttingProxy(redis_server.port) as proxy:
        yield proxy


@pytest.fixture
def fleet(tmp_path: Path, redis_server: RedisServer, proxy: CuttingProxy) -> Iterator[ThreadFleet]:
    """Two nodes that know a bot. The clock of the second one is ten seconds behind."""
    with threads_of(tmp_path, redis_server.url) as fleet:
        a = fleet.node("a")
        fleet.node("b", NOW_MS - 10_000, settings={"redis.url": proxy.url})
        a.list_bot()
        fleet.converge()
        for node in fleet.nodes:
            node.advance(60)
        yield fleet


def report(node: ThreadNode, user: str, text: str = "") -> None:
    node.done("POST", f"{BOT_PATH}/reports", {"user": user, "reason": "does_not_work", "text": text})


def reports(node: ThreadNode) -> Any:
    return node.done("GET", f"{BOT_PATH}/reports")["reports"]


def reporters(node: ThreadNode) -> set[str]:
    return {each["by"].removeprefix("users/") for each in reports(node)}


def test_a_report_of_another_node_that_had_not_arrived_stays_open(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    report(a, USER)
    fleet.converge()
    proxy.cut()
    report(b, OTHER_USER, "It asks for passwords.")
    a.advance(1)
    report(a, THIRD_USER)
    assert reporters(a) == {USER, THIRD_USER}
    a.done("POST", f"{BOT_PATH}/reports/settle", {})
    assert reporters(a) == set()
    proxy.restore()
    eventually(lambda: reporters(a) == {OTHER_USER})
    fleet.converge()
    assert reports(a) == reports(b)
    assert [each["text"] for each in reports(a)] == ["It asks for passwords."]


def test_reports_that_both_nodes_know_are_settled_at_both(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    report(a, USER)
    report(b, OTHER_USER)
    fleet.converge()
    proxy.cut()
    report(b, USER, "It still does not work.")  # a newer one than the one that a moderator sees at node a
    a.done("POST", f"{BOT_PATH}/reports/settle", {"seen": [each["id"] for each in reports(a)]})
    proxy.restore()
    fleet.converge()
    assert [each["text"] for each in reports(a)] == ["It still does not work."]
    b.done("POST", f"{BOT_PATH}/reports/settle", {})
    fleet.converge()
    assert reports(a) == reports(b) == []
    assert a.done("GET", "/manage/reports")["listings"] == []
