"""One vote a user over the whole fleet: what nodes make of claims."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import OTHER_BOT, OTHER_USER, USER, WAIT_SECONDS, eventually
from tests.support.redis_server import RedisServer

PATIENCE = {"VOTEGATE_REDIS__CLAIM_TIMEOUT_SECONDS": "5"}
"""For nodes whose Redis answers, but on a machine that may be busy."""
FAR = "for its claim, not redis.claim_timeout_seconds (0.1)"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetOfEdges]:
    """Three nodes, with two bots."""
    folder = tmp_path_factory.mktemp("claims")
    (folder / "redis").mkdir()
    redis = RedisServer(folder / "redis").start()
    try:
        with fleet_of(folder, redis.url) as fleet:
            nodes = [fleet.edge(name, **PATIENCE) for name in "abc"]
            nodes[0].list_bot()
            nodes[0].list_bot(OTHER_BOT)
            fleet.converge(*nodes)
            yield fleet
    finally:
        redis.close()


def vote_at_once(nodes: list[Edge], users: list[str]) -> list[list[Any]]:
    """Let each user vote at all nodes at the same time, and return the answers of each node."""
    start = threading.Barrier(len(nodes))

    def vote(node: Edge) -> list[Any]:
        answers = []
        for user in users:
            start.wait(WAIT_SECONDS)
            answers.append(node.operate("POST", f"{BOT_PATH}/votes", {"user": user}))
        return answers

    with ThreadPoolExecutor(len(nodes)) as threads:
        return [list(of_user) for of_user in zip(*threads.map(vote, nodes), strict=True)]


def test_a_user_who_votes_at_all_nodes_at_once_has_one_vote(fleet: FleetOfEdges) -> None:
    users = [str(700_000_000_000_000_000 + number) for number in range(50)]

    answers = vote_at_once(fleet.edges, users)

    for of_user in answers:
        (taken,) = (answer.json() for answer in of_user if answer.status_code == 201)
        refused = [answer.json() for answer in of_user if answer.status_code == 409]
        assert len(refused) == 2
        assert {each["nextVoteAt"] > taken["lastVote"] for each in refused} == {True}
    fleet.converge(*fleet.edges)
    for node in fleet.edges:
        assert node.votes_of(users) == [1] * len(users)


def test_a_user_who_voted_at_one_node_is_refused_by_all(fleet: FleetOfEdges) -> None:
    a, b, c = fleet.edges
    taken = a.cast(OTHER_USER)
    for node in (a, b, c):
        refused = node.operate("POST", f"{BOT_PATH}/votes", {"user": OTHER_USER})
        assert (refused.status_code, refused.json()["nextVoteAt"]) == (409, taken["nextVoteAt"])


@pytest.mark.parametrize("path", [f"/manage/users/{USER}", f"/manage/bots/{OTHER_BOT}"])
def test_an_erased_user_and_a_removed_listing_start_from_nothing_at_every_node(
    fleet: FleetOfEdges, path: str
) -> None:
    a, b, _ = fleet.edges
    a.cast(path=f"/manage/bots/{OTHER_BOT}")
    a.done("DELETE", path)
    fleet.converge(*fleet.edges)
    if b.operate("GET", f"/manage/bots/{OTHER_BOT}").status_code == 404:
        b.list_bot(OTHER_BOT)
    assert b.cast(path=f"/manage/bots/{OTHER_BOT}")["vote"] == 1
    b.done("DELETE", f"/manage/users/{USER}")
    fleet.converge(*fleet.edges)


def test_votes_are_taken_while_redis_hangs(redis_server: RedisServer, tmp_path: Path) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a")
        a.list_bot()
        redis_server.freeze()
        try:
            assert [a.cast(user)["vote"] for user in (USER, OTHER_USER)] == [1, 1]
            eventually(lambda: "votes are not claimed: Redis does not answer" in a.log)
        finally:
            redis_server.thaw()
        eventually(lambda: a.replication["unsent"] == 0)


def test_users_who_vote_at_two_nodes_at_once_have_one_vote_however_far_redis_is(
    proxy: CuttingProxy, tmp_path: Path
) -> None:
    users = [str(800_000_000_000_000_000 + number) for number in range(40)]
    bounds = {"VOTEGATE_REDIS__CLAIM_LONGEST_SECONDS": "10", "VOTEGATE_REDIS__BEAT_SECONDS": "0.5"}
    with fleet_of(tmp_path, proxy.url) as fleet:
        a, b = fleet.edge("a", **bounds), fleet.edge("b", **bounds)
        a.list_bot()
        fleet.converge(a, b)
        proxy.delay(requests=0.25, answers=0.25)
        eventually(lambda: all(FAR in "".join(node.concerns("fleet")) for node in (a, b)))

        def vote(user: str) -> list[int]:
            with ThreadPoolExecutor(2) as both:
                asked = [
                    both.submit(node.operate, "POST", f"{BOT_PATH}/votes", {"user": user}) for node in (a, b)
                ]
                return sorted(each.result().status_code for each in asked)

        with ThreadPoolExecutor(len(users)) as threads:
            assert list(threads.map(vote, users)) == [[201, 409]] * len(users)
        proxy.delay(requests=0, answers=0)
        fleet.converge(a, b)
        assert a.votes_of(users) == [1] * len(users)
