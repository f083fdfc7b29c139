"""A node that joins a fleet, as a load balancer sees it."""

import signal
from pathlib import Path

import redis

from tests.support.contract import users
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import fleet_of
from tests.support.fleet_threads import threads_of
from tests.support.gateways import Client, eventually
from tests.support.redis_server import RedisServer


def readiness(node: Client) -> tuple[int, str]:
    answer = node.request("GET", "/readyz")
    return answer.status_code, answer.json().get("error", "")


def next_status(client: "redis.Redis", name: str) -> None:
    before = client.hget("votegate:nodes", name)
    eventually(lambda: client.hget("votegate:nodes", name) != before)


def test_a_new_node_is_ready_when_it_has_a_copy(redis_server: RedisServer, tmp_path: Path) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a = fleet.edge("a")
        eventually(lambda: readiness(a) == (200, ""))
        key = a.list_bot()
        for user in users(20):
            a.cast(user)
        eventually(lambda: not a.replication["unsent"])
        with redis_server.client() as client:
            for _ in range(2):  # until a heartbeat has told how far the stream goes
                next_status(client, "a")
            client.xtrim("votegate:stream:a", maxlen=1, approximate=False)
        a.process.send_signal(signal.SIGSTOP)
        b = fleet.edge("b")
        eventually(lambda: b.replication["nodes"].get("a", {}).get("behind"))
        assert readiness(b) == (503, "Not ready: this node has no copy of its fleet yet.")
        assert b.voters(key).status_code == 404
        a.process.send_signal(signal.SIGCONT)
        eventually(lambda: readiness(b) == (200, ""))
        assert b.voters(key, user=users(20)[0]).json()["vote"] == 1


def test_a_node_starts_ready_without_redis_if_it_has_what_a_fleet_knew(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with CuttingProxy(redis_server.port) as proxy, threads_of(tmp_path, proxy.url) as fleet:
        a, b = fleet.node("a"), fleet.node("b")
        a.list_bot()
        fleet.converge()
        eventually(lambda: readiness(b) == (200, ""))
        b.stop()
        proxy.cut()
        b.start()
        assert readiness(b) == (200, "")


def test_a_node_that_was_alone_becomes_ready_without_redis_and_an_empty_one_does_not(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with CuttingProxy(redis_server.port) as proxy, threads_of(tmp_path, proxy.url) as fleet:
        proxy.cut()
        alone = fleet.node("alone")
        alone.list_bot()
        alone.stop()
        alone.start()
        empty = fleet.node("empty")
        why = "Not ready: this node has no copy of its fleet yet, and Redis has not answered."
        assert readiness(alone) == readiness(empty) == (503, why)
        for node in (alone, empty):
            node.advance(10)
        assert readiness(alone) == (200, "")
        assert readiness(empty) == (503, why)
