"""Reviews by users in a fleet: of two writings the later one stands, at all nodes alike."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import OTHER_USER, USER
from tests.support.redis_server import RedisServer

RATINGS = f"{BOT_PATH}/ratings"
MINE = f"{RATINGS}/{USER}"
WORDS = "It counts well, and its owner helps."


@pytest.fixture
def fleet(fleet: ThreadFleet) -> ThreadFleet:
    """Two nodes that know a bot with two voters."""
    a, _ = fleet.nodes
    a.list_bot()
    for user in (USER, OTHER_USER):
        a.done("POST", f"{BOT_PATH}/votes", {"user": user})
    fleet.converge()
    return fleet


def shown(node: ThreadNode) -> list[tuple[str, int, str | None]]:
    found: list[dict[str, Any]] = node.done("GET", RATINGS)["ratings"]
    return [
        (each["user"], each["stars"], each["answer"]["text"] if each["answer"] else None) for each in found
    ]


def everywhere(fleet: ThreadFleet) -> list[tuple[str, int, str | None]]:
    fleet.converge()
    first, *others = (shown(node) for node in fleet.nodes)
    assert others == [first] * len(others)
    return first


def rate(node: ThreadNode, stars: int) -> None:
    node.done("PUT", MINE, {"stars": stars, "text": WORDS})


def test_a_review_of_one_node_is_edited_answered_and_taken_back_at_another(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    rate(a, 4)
    assert everywhere(fleet) == [(USER, 4, None)]
    fleet.advance(1)
    rate(b, 5)
    b.done("PUT", f"{MINE}/answer", {"text": "Thanks!"})
    assert everywhere(fleet) == [(USER, 5, "Thanks!")]
    fleet.advance(1)
    a.done("DELETE", MINE)
    assert everywhere(fleet) == []
    fleet.advance(1)
    rate(b, 1)
    assert everywhere(fleet) == [(USER, 1, None)]


def test_of_two_edits_at_once_the_later_one_stands(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    rate(a, 3)
    fleet.converge()
    proxy.cut()
    fleet.advance(1)
    rate(b, 1)
    fleet.advance(1)
    rate(a, 5)
    proxy.restore()
    assert everywhere(fleet) == [(USER, 5, None)]


def test_two_reviews_that_were_written_at_two_nodes_at_once_are_one(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    rate(a, 2)
    fleet.advance(1)
    rate(b, 4)
    proxy.restore()
    assert everywhere(fleet) == [(USER, 4, None)]
    assert [node.done("GET", RATINGS)["count"] for node in fleet.nodes] == [1, 1]


def test_an_answer_and_an_edit_at_once_both_stand(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    rate(a, 3)
    fleet.converge()
    proxy.cut()
    fleet.advance(1)
    b.done("PUT", f"{MINE}/answer", {"text": "Thanks!"})
    rate(a, 5)
    proxy.restore()
    assert everywhere(fleet) == [(USER, 5, "Thanks!")]


def test_a_removal_at_one_node_holds_at_all(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    rate(a, 1)
    fleet.converge()
    proxy.cut()
    fleet.advance(1)
    a.done("PUT", f"{MINE}/answer", {"text": "Why?"})
    b.done("POST", f"{MINE}/remove", {"reason": "It insults."})
    proxy.restore()
    assert everywhere(fleet) == []
    for node in fleet.nodes:
        assert node.operate("PUT", MINE, {"stars": 5, "text": WORDS}).status_code == 403


def test_an_erasure_at_one_node_takes_the_review_at_all(fleet: ThreadFleet, proxy: CuttingProxy) -> None:
    a, b = fleet.nodes
    rate(a, 4)
    a.done("PUT", f"{RATINGS}/{OTHER_USER}", {"stars": 2, "text": WORDS})
    fleet.converge()
    proxy.cut()
    fleet.advance(1)
    report = {"user": OTHER_USER, "reason": "other", "text": "He is paid."}
    assert a.operate("POST", f"{MINE}/reports", report).status_code == 201
    fleet.advance(1)
    b.done("DELETE", f"/manage/users/{USER}")
    proxy.restore()
    assert everywhere(fleet) == [(OTHER_USER, 2, None)]
    assert [node.done("GET", f"{BOT_PATH}/reports")["reports"] for node in fleet.nodes] == [[], []]


def test_a_node_that_offers_no_reviews_keeps_those_of_others(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a = fleet.node("a")
        b = fleet.node("b", settings={"ratings.enabled": False})
        a.list_bot()
        a.done("POST", f"{BOT_PATH}/votes", {"user": USER})
        rate(a, 4)
        fleet.converge()
        assert b.operate("GET", RATINGS).status_code == 404
