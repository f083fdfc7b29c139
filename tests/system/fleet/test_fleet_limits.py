"""Limits over a fleet: exact for updates of statistics once they are heard of, near for vote checks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.support.contract import TOO_MANY, limit, refusal
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer

VOTERS_LIMIT = 20
LIMITS = {
    "VOTEGATE_LIMITS__VOTERS__REQUESTS": str(VOTERS_LIMIT),
    "VOTEGATE_LIMITS__FAILURES__REQUESTS": "1000000",
}
NO_USER = "not-a-user"
"""A question about it is answered with the limit as it is, and counts for nothing."""


class Limited(NamedTuple):
    redis: RedisServer
    fleet: FleetOfEdges
    a: Edge
    b: Edge

    def bot(self, bot: str) -> str:
        """A bot that both nodes know; returns its key."""
        key = self.a.list_bot(bot)
        self.fleet.converge(self.a, self.b)
        return key


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    folder = tmp_path_factory.mktemp("limits")
    (folder / "redis").mkdir()
    redis = RedisServer(folder / "redis").start()
    try:
        with fleet_of(folder, redis.url) as fleet:
            yield Limited(redis, fleet, fleet.edge("a", **LIMITS), fleet.edge("b", **LIMITS))
    finally:
        redis.close()


def remaining(node: Edge, key: str, bot: str) -> int:
    answer = node.voters(key, bot, NO_USER)
    left = limit(answer).remaining
    assert answer.status_code == (400 if left else 429)
    return left


def use_up(node: Edge, key: str, bot: str) -> int:
    """Check votes until the node refuses, and return the number of answers. Fail if it never refuses."""
    for allowed in range(10 * VOTERS_LIMIT):
        answer = node.voters(key, bot)
        if answer.status_code != 200:
            assert refusal(answer) == TOO_MANY
            assert limit(answer).remaining == 0
            assert int(answer.headers["retry-after"]) > 0
            return allowed
    return 10 * VOTERS_LIMIT


def use_up_at_once(nodes: Limited, key: str, bot: str) -> list[int]:
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda node: use_up(node, key, bot), (nodes.a, nodes.b)))


def test_updates_of_statistics_are_counted_over_the_fleet(nodes: Limited) -> None:
    bot = "100000000000000001"
    key = nodes.bot(bot)
    first = nodes.a.stats(key, {"server_count": 1_000}, bot)
    assert (first.status_code, limit(first).remaining) == (200, 1)
    nodes.fleet.converge(nodes.a, nodes.b)
    second = nodes.b.stats(key, {"server_count": 1_001}, bot)
    assert (second.status_code, limit(second).remaining) == (200, 0)
    nodes.fleet.converge(nodes.a, nodes.b)
    for node in (nodes.a, nodes.b):
        third = node.stats(key, {"server_count": 1_002}, bot)
        assert refusal(third) == TOO_MANY
        assert limit(third).remaining == 0
        assert 0 < int(third.headers["retry-after"]) <= 7_200
        assert node.done("GET", f"/manage/bots/{bot}")["server_count"] == 1_001


def test_an_update_that_was_refused_counts_nowhere(nodes: Limited) -> None:
    bot = "100000000000000002"
    key = nodes.bot(bot)
    assert nodes.a.stats(key, {"server_count": -1}, bot).status_code == 400
    assert nodes.a.stats(key, {"server_count": 1_000}, bot).status_code == 200
    nodes.fleet.converge(nodes.a, nodes.b)
    assert limit(nodes.b.stats(key, {"server_count": -1}, bot)).remaining == 1


def test_vote_checks_count_at_the_other_node_too(nodes: Limited) -> None:
    bot = "100000000000000003"
    key = nodes.bot(bot)
    for used in range(1, 6):
        assert limit(nodes.a.voters(key, bot)).remaining == VOTERS_LIMIT - used
    eventually(lambda: remaining(nodes.b, key, bot) == VOTERS_LIMIT - 5)
    assert use_up(nodes.b, key, bot) == VOTERS_LIMIT - 5
    eventually(lambda: remaining(nodes.a, key, bot) == 0)
    assert use_up(nodes.a, key, bot) == 0


def test_a_check_that_fails_counts_nowhere(nodes: Limited) -> None:
    bot = "100000000000000004"
    key = nodes.bot(bot)
    assert nodes.a.voters(key, bot, NO_USER).status_code == 400
    assert nodes.a.voters(key, bot).status_code == 200
    eventually(lambda: remaining(nodes.b, key, bot) < VOTERS_LIMIT)
    assert remaining(nodes.b, key, bot) == VOTERS_LIMIT - 1


def test_a_limit_of_its_own_holds_at_both_nodes(nodes: Limited) -> None:
    bot = "100000000000000005"
    key = nodes.bot(bot)
    nodes.a.done("PUT", f"/manage/bots/{bot}/limits", {"voters": {"requests": 3, "window_seconds": 60}})
    nodes.fleet.converge(nodes.a, nodes.b)
    assert use_up(nodes.a, key, bot) == 3
    eventually(lambda: remaining(nodes.b, key, bot) == 0)
    assert use_up(nodes.b, key, bot) == 0


def test_a_fleet_never_allows_more_than_the_limit_of_each_node(nodes: Limited) -> None:
    bot = "100000000000000006"
    key = nodes.bot(bot)
    allowed = use_up_at_once(nodes, key, bot)
    assert max(allowed) <= VOTERS_LIMIT <= sum(allowed)


def test_while_redis_is_down_each_node_has_the_limit_for_itself(nodes: Limited) -> None:
    bot = "100000000000000007"
    key = nodes.bot(bot)
    nodes.redis.stop()
    try:
        assert use_up_at_once(nodes, key, bot) == [VOTERS_LIMIT] * 2
        for node in (nodes.a, nodes.b):
            assert [node.stats(key, {"server_count": 1_000}, bot).status_code for _ in range(3)] == [
                200,
                200,
                429,
            ]
    finally:
        nodes.redis.start()
    nodes.fleet.converge(nodes.a, nodes.b)
    for node in (nodes.a, nodes.b):
        assert limit(node.stats(key, {"server_count": -1}, bot)).remaining == 0
