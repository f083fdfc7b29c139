"""Situations that operators meet: clocks that are apart, an erasure that is not heard of, a full disk,
a Redis that is far away or drops data. What docs/replication.md says of each is shown here."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, deliveries, users
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import NOW_MS, ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import OTHER_USER, USER, eventually
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import DAY_MS, HOUR_MS
from tests.support.webhook_receiver import Receiver, status

ANYTIME = {"votes.cooldown_seconds": 0.001}
"""Users may vote again at once."""


@pytest.fixture
def fleet(redis_server: RedisServer, tmp_path: Path) -> Iterator[ThreadFleet]:
    with threads_of(tmp_path, redis_server.url) as fleet:
        yield fleet


def vote_of(node: ThreadNode, user: str = USER) -> dict[str, Any]:
    checked = node.done("POST", f"{BOT_PATH}/votes/check", {"users": [user]})["votes"]
    return dict(checked[0])


def refused(node: ThreadNode, user: str = USER) -> Any:
    """When the user may vote again, says the node that refuses the vote."""
    response = node.operate("POST", f"{BOT_PATH}/votes", {"user": user})
    assert response.status_code == 409, response.text
    return response.json()["nextVoteAt"]


# -- clocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("apart_ms", [HOUR_MS, pytest.param(DAY_MS - 1, marks=pytest.mark.long)])
def test_a_vote_at_a_node_whose_clock_is_ahead_lasts_longer_at_the_others(
    fleet: ThreadFleet, apart_ms: int
) -> None:
    a, b = fleet.node("a"), fleet.node("b", NOW_MS + apart_ms)
    a.list_bot()
    fleet.converge()
    b.cast()
    fleet.converge()
    assert vote_of(a) == vote_of(b)
    assert vote_of(a)["voted"]
    assert refused(a) == refused(b) == NOW_MS + apart_ms + DAY_MS
    a.advance(DAY_MS / 1_000)
    assert vote_of(a)["voted"]
    a.advance(apart_ms / 1_000)
    assert not vote_of(a)["voted"]
    assert a.cast()["vote"] == 2


@pytest.mark.parametrize("apart_ms", [HOUR_MS, DAY_MS])
def test_a_vote_at_a_node_whose_clock_is_behind_ends_earlier_at_the_others(
    fleet: ThreadFleet, apart_ms: int
) -> None:
    a, b = fleet.node("a"), fleet.node("b", NOW_MS - apart_ms)
    a.list_bot()
    fleet.converge()
    b.cast()
    fleet.converge()
    ends_ms = NOW_MS - apart_ms + DAY_MS
    assert vote_of(a)["voted"] is (ends_ms > NOW_MS)
    if ends_ms > NOW_MS:
        assert refused(a) == ends_ms
        a.advance((ends_ms - NOW_MS) / 1_000)
    assert a.cast()["vote"] == 2
    fleet.converge()
    assert vote_of(b)["vote"] == 2
    refused(b)


@pytest.mark.parametrize("apart_ms", [HOUR_MS, pytest.param(-DAY_MS, marks=pytest.mark.long)])
def test_edits_and_removals_are_in_their_order_for_who_has_heard_of_them_whatever_the_clocks_say(
    fleet: ThreadFleet, apart_ms: int
) -> None:
    a, b = fleet.node("a"), fleet.node("b", NOW_MS + apart_ms)
    for number in range(2):
        for node, other in ((a, b), (b, a)):
            node.list_bot()
            fleet.converge()
            other.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": number})
            fleet.converge()
            assert node.done("GET", BOT_PATH)["actual_server_count"] == number
            other.done("DELETE", BOT_PATH)
            fleet.converge()
            assert node.operate("GET", BOT_PATH).status_code == 404


@pytest.mark.parametrize("apart_ms", [DAY_MS, pytest.param(-DAY_MS, marks=pytest.mark.long)])
def test_webhooks_of_a_node_whose_clock_was_apart_are_sent_at_once_by_their_heir(
    fleet: ThreadFleet, receiver: Receiver, apart_ms: int
) -> None:
    a, b = fleet.node("a", NOW_MS + apart_ms), fleet.node("b")
    a.list_bot()
    a.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
    fleet.converge()
    receiver.default = status(500)
    a.cast()
    eventually(lambda: [len(row["attempts"]) for row in deliveries(b)] == [1])
    a.stop()
    fleet.nodes.remove(a)
    receiver.default = status(204)

    def sent() -> bool:
        b.advance(10)  # less than what a process that was stopped would notice
        return [row["state"] for row in deliveries(b)] == ["delivered"]

    eventually(sent)
    assert len({call.headers["webhook-id"] for call in receiver.received}) == 1


# -- an erasure that another node has not heard of ---------------------------------------------------------


def test_a_vote_that_its_node_took_before_it_heard_of_an_erasure_goes_with_it_even_if_it_came_later(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.node("a", NOW_MS, ANYTIME), fleet.node("b", NOW_MS, {**ANYTIME, "redis.url": proxy.url})
    a.list_bot()
    fleet.converge()
    for user in (USER, OTHER_USER):
        a.cast(user)
    fleet.converge()
    proxy.cut()
    a.done("DELETE", f"/manage/users/{USER}")
    b.clock.advance_ms(HOUR_MS)
    for user in (USER, OTHER_USER):
        b.cast(user)
    assert (vote_of(b)["vote"], vote_of(b, OTHER_USER)["vote"]) == (2, 2)
    proxy.restore()

    eventually(lambda: vote_of(b)["vote"] == 0)
    fleet.converge()
    for node in (a, b):
        assert (vote_of(node)["vote"], vote_of(node, OTHER_USER)["vote"]) == (0, 2)
    a.clock.advance_ms(2 * HOUR_MS)
    assert a.cast()["vote"] == 1
    eventually(lambda: vote_of(b)["vote"] == 1)


# -- a full disk -------------------------------------------------------------------------------------------


def test_a_node_whose_disk_is_full_reads_on_where_it_stopped_and_holds_nobody_up(
    fleet: ThreadFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = fleet.node("a"), fleet.node("b")
    key = a.list_bot()
    fleet.converge()
    pwrite = os.pwrite

    def full_at_b(file: int, content: Any, offset: int) -> int:
        if Path(f"/proc/self/fd/{file}").readlink().is_relative_to(b.folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(file, content, offset)

    voters = users(3)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full_at_b)
        eventually(lambda: b.operate("POST", f"{BOT_PATH}/votes", {"user": OTHER_USER}).status_code == 503)
        for user in voters:
            a.cast(user)
        eventually(lambda: b.replication["nodes"]["a"]["behind"] > 0)
        assert b.voters(key, user=voters[0]).json()["vote"] in {0, 1}
        assert b.request("GET", "/healthz").status_code == 200
        eventually(lambda: a.replication["unsent"] == 0)

    eventually(lambda: [vote_of(b, user)["vote"] for user in voters] == [1, 1, 1])
    eventually(lambda: b.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 201)
    fleet.converge()
    assert vote_of(a)["vote"] == 1


# -- a Redis that is far away, or drops data ---------------------------------------------------------------


def test_a_redis_200_ms_away_makes_votes_wait_or_go_unclaimed_and_nothing_is_missing(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    far = {"redis.url": proxy.url, "redis.claim_timeout_seconds": 5}
    a, b = fleet.node("a", NOW_MS, far), fleet.node("b")
    a.list_bot()
    fleet.converge()
    proxy.delay(answers=0.2)
    voters = users(3)
    for user in voters:
        a.cast(user)
    assert a.replication["claims_votes"]
    eventually(lambda: [vote_of(b, user)["vote"] for user in voters] == [1, 1, 1])
    assert refused(b, voters[0])
    b.cast()
    eventually(lambda: vote_of(a)["vote"] == 1)
    assert a.replication["failing"] == {}


def test_a_redis_that_drops_the_oldest_when_it_is_full_costs_copies_and_no_votes(
    redis_server: RedisServer, fleet: ThreadFleet
) -> None:
    a, b = fleet.node("a"), fleet.node("b")
    a.list_bot()
    fleet.converge()
    voters = users(60)
    with redis_server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 500_000)
        client.config_set("maxmemory-policy", "allkeys-lru")
        for number, user in enumerate(voters):
            (a, b)[number % 2].cast(user)
            client.set(f"something else {number}", "x" * 40_000)  # so that it has to drop something
        assert client.info("stats")["evicted_keys"] > 0
    fleet.converge()
    for node in (a, b):
        assert [vote_of(node, user)["vote"] for user in voters] == [1] * len(voters)
