"""Deliveries that a node has finished, and forgotten, while another one could not hear of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, deliveries, users
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import NOW_MS, ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver, status

KEPT = 100
"""The fewest finished deliveries that a listing can have in its log."""
QUICK = {"webhooks.deliveries_kept": KEPT, "webhooks.in_flight_per_endpoint": 16}


def finish_and_forget(node: ThreadNode, receiver: Receiver, first: str) -> None:
    """Deliver the webhook that had failed, and so many others that the log no longer has it."""
    receiver.default = status(204)
    node.advance(5)
    eventually(lambda: deliveries(node)[0]["state"] == "delivered")
    for user in users(KEPT, 1):
        node.cast(user)
    eventually(lambda: first not in {row["id"] for row in deliveries(node)})


def owed_to_others(node: ThreadNode) -> int:
    """Return the number of webhooks that the node would send if the others were gone."""
    return node.on_loop(lambda: sum(node.gateway.ledger.state.deliveries.remote_counts.values()))


def told_late(
    fleet: ThreadFleet, wire: CuttingProxy, redis: RedisServer, receiver: Receiver, first: str
) -> None:
    """The owner reads back from its journal what it could not tell."""
    del redis
    a, _ = fleet.nodes
    wire.cut()
    finish_and_forget(a, receiver, first)
    a.restart()
    wire.restore()


def taken_as_a_copy(
    fleet: ThreadFleet, wire: CuttingProxy, redis: RedisServer, receiver: Receiver, first: str
) -> None:
    """The other one is away, and finds that the stream does not reach back."""
    del wire
    a, b = fleet.nodes
    b.stop()
    finish_and_forget(a, receiver, first)
    eventually(lambda: a.replication["unsent"] == 0)
    with redis.client() as client:
        client.xtrim("votegate:stream:a", maxlen=1, approximate=False)
    b.start()


@pytest.mark.parametrize("unheard", [told_late, taken_as_a_copy])
def test_nobody_sends_again_what_its_owner_has_finished_and_forgotten_unheard(
    redis_server: RedisServer,
    proxy: CuttingProxy,
    tmp_path: Path,
    receiver: Receiver,
    unheard: Callable[[ThreadFleet, CuttingProxy, RedisServer, Receiver, str], None],
) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a = fleet.node("a", NOW_MS, {**QUICK, "redis.url": proxy.url})
        b = fleet.node("b", NOW_MS, QUICK)
        a.list_bot()
        a.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
        fleet.converge()
        receiver.default = status(500)
        a.cast(users(1)[0])
        eventually(lambda: [len(row["attempts"]) for row in deliveries(b)] == [1])
        assert owed_to_others(b) == 1

        unheard(fleet, proxy, redis_server, receiver, deliveries(a)[0]["id"])

        fleet.converge()
        eventually(lambda: owed_to_others(b) == 0)
        assert b.done("GET", "/debug/overview.json")["counts"]["webhooks_pending"] == 0
        assert len(receiver.received) == KEPT + 2
