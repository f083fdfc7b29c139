"""A node that hears nothing from Redis, where the operator chose that it refuses (`redis.cut_off`)."""

from pathlib import Path

from tests.support.contract import BOT_PATH
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, fleet_of
from tests.support.gateways import BOT, USER, eventually
from tests.support.redis_server import RedisServer

REFUSE = {"VOTEGATE_REDIS__CUT_OFF": "refuse", "VOTEGATE_REDIS__CUT_OFF_SECONDS": "60"}
SOON = {**REFUSE, "VOTEGATE_REDIS__CUT_OFF_SECONDS": "0.5"}
"""On a busy machine, a node with this may be cut off for a moment although its connection is up."""


def statuses(node: Edge, key: str) -> dict[str, int]:
    """The statuses of a node's answers to a bot and to the platform."""
    vote = node.operate("POST", f"{BOT_PATH}/votes", {"user": USER})
    return {
        "check": node.voters(key).status_code,
        "stats": node.stats(key, {"command_count": 1}).status_code,
        "vote": vote.status_code,
        "edit": node.operate("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": 5}).status_code,
        "ready": node.request("GET", "/readyz").status_code,
        "alive": node.request("GET", "/healthz").status_code,
        "debug": node.operate("GET", "/debug/overview.json").status_code,
    }


def voted(node: Edge) -> int:
    """Return the votes of the user after one more, or 0 if the node refuses it."""
    answer = node.operate("POST", f"{BOT_PATH}/votes", {"user": USER})
    return int(answer.json()["vote"]) if answer.ok else 0


def is_ready(node: Edge) -> bool:
    return node.request("GET", "/readyz").status_code == 200


def test_a_node_that_is_cut_off_refuses_and_comes_back_knowing_which_keys_were_revoked(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with CuttingProxy(redis_server.port) as proxy, fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **REFUSE), fleet.edge("b", proxy.url, **SOON)
        eventually(lambda: is_ready(a) and is_ready(b))
        key = a.list_bot()
        fleet.converge(a, b)
        eventually(lambda: b.voters(key).status_code == 200)
        (kept,) = a.done("GET", f"{BOT_PATH}/keys")["keys"]

        proxy.cut()
        a.done("DELETE", f"{BOT_PATH}/keys/{kept['id']}")
        eventually(lambda: b.voters(key).status_code == 503)
        assert statuses(b, key) == {
            **dict.fromkeys(("check", "stats", "vote", "edit", "ready"), 503),
            **dict.fromkeys(("alive", "debug"), 200),
        }
        refused = b.voters(key)
        assert (refused.headers["retry-after"], refused.headers["ratelimit-limit"]) == ("5", "300")
        (concern,) = (each for each in b.concerns("fleet") if "it refuses requests" in each)
        assert concern.startswith("this node (b) has heard nothing from Redis for more than 0.5 s")
        assert is_ready(a)
        assert a.voters(key).status_code == 401

        proxy.restore()
        assert eventually(lambda: (status := b.voters(key).status_code) != 503 and status) == 401
        eventually(lambda: is_ready(b))
        eventually(lambda: not [each for each in b.concerns("fleet") if "it refuses requests" in each])
        assert eventually(lambda: voted(b)) == 1


def test_a_node_that_starts_cut_off_refuses_from_the_beginning(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with CuttingProxy(redis_server.port) as proxy, fleet_of(tmp_path, proxy.url) as fleet:
        a = fleet.edge("a", **REFUSE)
        eventually(lambda: is_ready(a))
        key = a.list_bot()
        a.stop()
        proxy.cut()
        a.start()
        assert a.voters(key).status_code == 503
        proxy.restore()
        eventually(lambda: a.voters(key).status_code == 200)


def test_a_node_that_serves_when_cut_off_goes_on(redis_server: RedisServer, tmp_path: Path) -> None:
    with CuttingProxy(redis_server.port) as proxy, fleet_of(tmp_path, proxy.url) as fleet:
        a = fleet.edge("a", VOTEGATE_REDIS__CUT_OFF_SECONDS="0.5")
        eventually(lambda: is_ready(a))
        key = a.list_bot()
        proxy.cut()
        eventually(lambda: "registry" in a.replication["failing"])
        assert set(statuses(a, key).values()) == {200, 201}
        assert a.request("GET", f"/bots/{BOT}/voters/{USER}").status_code == 401
