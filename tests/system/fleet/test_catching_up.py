"""Catching up: whatever a node has missed, it ends up with what the others have."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, deliveries, users
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import BOT_SUBMISSION, OTHER_USER, USER, eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver

VOTERS = users(100)
BULK_BOTS = 60
SMALL_STREAM = {"VOTEGATE_REDIS__STREAM_BYTES": "65536"}


def add_bulk(node: Edge) -> None:
    """More than a small stream has room for."""
    for number in range(BULK_BOTS):
        bot = str(800_000_000_000_000_000 + number)
        node.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "description": "x" * 2_000})


def cut_off(redis: RedisServer, name: str) -> None:
    """The stream keeps nothing but its top."""
    with redis.client() as client:
        client.xtrim(f"votegate:stream:{name}", maxlen=1, approximate=False)


Lost = Callable[[FleetOfEdges, RedisServer], None]


@pytest.fixture
def redis_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "redis"
    folder.mkdir()
    return folder


def copies_taken(node: Edge) -> int:
    return node.log.count("took a copy of node")


def trimmed(fleet: FleetOfEdges, redis: RedisServer) -> None:
    """The stream is cut by the node itself, because it takes too much room."""
    del redis
    a = fleet.edges[0]
    add_bulk(a)
    eventually(lambda: "a node that has not read it yet will take a copy" in a.log)


def flushed(fleet: FleetOfEdges, redis: RedisServer) -> None:
    """Redis loses everything while nobody is there who knows what was read."""
    fleet.edges[0].stop()
    redis.flush()
    fleet.edge("a")


@pytest.mark.parametrize(
    ("end", "lost"), [(Edge.stop, trimmed), pytest.param(Edge.kill, flushed, marks=pytest.mark.long)]
)
def test_a_node_takes_a_copy_of_what_is_in_no_stream_any_more(
    redis_server: RedisServer, tmp_path: Path, end: Callable[[Edge], None], lost: Lost
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **SMALL_STREAM), fleet.edge("b")
        a.list_bot()
        fleet.converge(a, b)
        b.cast(OTHER_USER)
        fleet.converge(a, b)
        end(b)
        for user in VOTERS:
            a.cast(user)
        eventually(lambda: a.replication["unsent"] == 0)
        lost(fleet, redis_server)

        a, b = fleet.edges[-1] if lost is flushed else a, fleet.edge("b")

        fleet.converge(a, b)
        eventually(lambda: copies_taken(b) == 1)
        assert b.votes_of([*VOTERS, OTHER_USER]) == [1] * len(VOTERS) + [1]
        b.cast(USER)
        fleet.converge(a, b)


@pytest.mark.long
def test_a_node_that_was_away_erases_users_who_were_erased_meanwhile(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a"), fleet.edge("b")
        a.list_bot()
        a.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
        fleet.converge(a, b)
        for user in (USER, OTHER_USER):
            b.cast(user)
        eventually(lambda: [row["state"] for row in deliveries(a)] == ["delivered"] * 2)
        b.kill()
        a.done("DELETE", f"/manage/users/{USER}")
        a.cast(VOTERS[0])
        eventually(lambda: a.replication["unsent"] == 0)
        cut_off(redis_server, "a")

        b = fleet.edge("b")

        fleet.converge(a, b)
        eventually(lambda: copies_taken(b) == 1)
        assert b.votes_of([USER, OTHER_USER]) == [0, 1]
        assert USER not in [row["user"] for row in deliveries(b)]
        assert b.cast(USER)["vote"] == 1


@pytest.mark.long
def test_a_user_whom_a_node_erased_unheard_does_not_come_back_with_a_copy(
    tmp_path: Path, redis_folder: Path
) -> None:
    keys = ("nodes", "alive:*", "stream:a", "uses", "copy:*", "successor:*", "vote:*")
    muted = ("--user", "b", "on", ">of-b", "+@all", *(f"~votegate:{key}" for key in keys))
    redis = RedisServer(redis_folder, *muted).start()
    try:
        with fleet_of(tmp_path, redis.url) as fleet:
            a = fleet.edge("a")
            a.list_bot()
            for user in (USER, OTHER_USER):
                a.cast(user)
            b = fleet.edge("b", redis.url.replace("//", "//b:of-b@"))
            eventually(lambda: b.replication["failing"].get("publishing"))
            eventually(lambda: b.operate("GET", BOT_PATH).json().get("state") == "approved")
            eventually(lambda: b.votes_of([USER, OTHER_USER]) == [1, 1])
            b.done("DELETE", f"/manage/users/{USER}")
            b.kill()
            for user in VOTERS[:2]:
                a.cast(user)
            eventually(lambda: a.replication["unsent"] == 0)
            cut_off(redis, "a")

            b = fleet.edge("b", redis.url.replace("//", "//b:of-b@"))

            eventually(lambda: b.votes_of(VOTERS[:2]) == [1, 1])
            eventually(lambda: copies_taken(b) == 1)
            assert b.votes_of([USER, OTHER_USER]) == [0, 1]
            assert a.votes_of([USER, OTHER_USER]) == [1, 1]
            with redis.client() as client:
                client.acl_setuser("b", enabled=True, keys=["votegate:stream:b"])
            fleet.converge(a, b)
            assert a.votes_of([USER, OTHER_USER]) == [0, 1]
    finally:
        redis.close()


# -- copies that break off ---------------------------------------------------------------------------------


@pytest.mark.long
def test_a_copy_that_breaks_off_is_taken_again(
    redis_server: RedisServer, proxy: CuttingProxy, tmp_path: Path
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a")
        a.list_bot()
        add_bulk(a)
        for user in VOTERS:
            a.cast(user)
        redis_server.flush()
        a.stop()
        a = fleet.edge("a")
        proxy.bytes_cut_after(BULK_BOTS * 1_000)

        b = fleet.edge("b", proxy.url)

        fleet.converge(a, b)
        assert "Redis: reading other nodes fails" in b.log
        eventually(lambda: copies_taken(b) == 1)
        assert b.log.count("taking a copy of node a") > 1
        assert b.votes_of(VOTERS) == [1] * len(VOTERS)


@pytest.mark.long
def test_a_copy_whose_donor_dies_is_taken_of_another_node(
    redis_server: RedisServer, proxy: CuttingProxy, tmp_path: Path
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a", proxy.url)
        a.list_bot()
        add_bulk(a)
        c = fleet.edge("c")
        fleet.converge(a, c)
        a.cast()
        fleet.converge(a, c)
        proxy.delay(requests=0.05)

        b = fleet.edge("b")

        donor = eventually(lambda: b.replication["copying_from"])
        other = c if donor == "a" else a
        (a if donor == "a" else c).kill()
        proxy.restore()
        fleet.converge(b, other)
        assert b.votes_of([USER]) == [1]
