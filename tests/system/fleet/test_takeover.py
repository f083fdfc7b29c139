"""Webhooks of a node that is gone: sent by one other node, once, under the ids that they have."""

import json
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, deliveries, pending, users
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver, status

VOTERS = users(6)
PACE = {
    "VOTEGATE_REDIS__LEASE_SECONDS": "0.5",
    "VOTEGATE_WEBHOOKS__CATCH_UP_PER_SECOND": "1000",
    "VOTEGATE_WEBHOOKS__TIMEOUT_SECONDS": "60",  # an attempt that hangs lasts longer than any test
}
FOREVER = {"VOTEGATE_REDIS__LEASE_SECONDS": "3600"}


def fail_to_send(node: Edge, receiver: Receiver) -> None:
    """Leaves all votes' webhooks pending, with an attempt of one of them under way."""
    receiver.default = receiver.hang
    for user in VOTERS:
        node.cast(user)
    eventually(lambda: receiver.received)


def list_with_webhook(fleet: FleetOfEdges, receiver: Receiver) -> None:
    """A bot that all nodes know."""
    node = fleet.edges[0]
    node.list_bot()
    node.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
    fleet.converge(*fleet.edges)


def all_known(*nodes: Edge) -> list[str]:
    """The ids of all votes' deliveries, once each node has them in its log."""

    def same() -> list[str]:
        logs = [sorted(row["id"] for row in deliveries(node)) for node in nodes]
        return logs[0] if all(log == logs[0] for log in logs) and len(logs[0]) >= len(VOTERS) else []

    return eventually(same)


def die_unsent(node: Edge, fleet: FleetOfEdges, receiver: Receiver) -> tuple[list[str], int]:
    """Leaves all votes' webhooks to the other nodes, which know them. Returns their ids, and how many
    requests there were by then; those that come later are accepted."""
    list_with_webhook(fleet, receiver)
    fail_to_send(node, receiver)
    ids = all_known(*fleet.edges)
    node.kill()
    before = len(receiver.received)
    receiver.default = status(204)
    return ids, before


def all_delivered(*nodes: Edge) -> None:
    """Waits until each node has all votes' deliveries as delivered in its log."""

    def done() -> bool:
        logs = [[row["state"] for row in deliveries(node)] for node in nodes]
        return all(len(log) >= len(VOTERS) and set(log) == {"delivered"} for log in logs)

    eventually(done)


def sent_since(receiver: Receiver, before: int) -> Counter[str]:
    """Count the requests after the first `before` ones by the id of their event."""
    return Counter(call.headers["webhook-id"] for call in receiver.received[before:])


def test_one_of_the_others_sends_what_a_dead_node_did_not(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b, c = (fleet.edge(name, **PACE) for name in "abc")
        list_with_webhook(fleet, receiver)
        fail_to_send(a, receiver)
        ids = all_known(a, b, c)
        assert (pending(b), pending(c)) == (0, 0)
        tried = {call.headers["webhook-id"] for call in receiver.received}
        assert tried <= set(ids)
        receiver.default = status(204)

        a.kill()
        before = len(receiver.received)

        all_delivered(b, c)
        assert sent_since(receiver, before) == dict.fromkeys(ids, 1)
        assert sorted(json.loads(call.body)["user"] for call in receiver.received[before:]) == VOTERS
        successors = [node.name for node in (b, c) if "is gone: sending its 6 webhooks" in node.log]
        assert len(successors) == 1


@pytest.mark.long
def test_nobody_sends_what_another_node_has_claimed(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet, redis_server.client() as redis:
        a, b = fleet.edge("a", **PACE), fleet.edge("b", **PACE)
        list_with_webhook(fleet, receiver)
        fail_to_send(a, receiver)
        ids = all_known(a, b)
        claim = f"votegate:successor:{a.replication['node']}"
        redis.set(claim, "another-node.1")
        a.kill()
        before = len(receiver.received)
        receiver.default = status(204)
        eventually(lambda: b.replication["nodes"]["a"]["silent_ms"] > 1_500)
        assert (pending(b), len(receiver.received)) == (0, before)

        redis.delete(claim)

        all_delivered(b)
        assert sent_since(receiver, before) == dict.fromkeys(ids, 1)


@pytest.mark.long
def test_nobody_sends_for_a_node_that_is_not_gone_for_a_lease(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **PACE), fleet.edge("b", **FOREVER)
        ids, before = die_unsent(a, fleet, receiver)

        eventually(lambda: b.replication["nodes"]["a"]["state"] == "silent")
        eventually(lambda: b.replication["nodes"]["a"]["silent_ms"] > 1_500)
        assert (pending(b), len(receiver.received)) == (0, before)

        a = fleet.edge("a", **PACE)
        all_delivered(a, b)
        assert sent_since(receiver, before) == dict.fromkeys(ids, 1)


def test_a_node_that_comes_back_sends_nothing_that_was_sent_for_it(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **PACE), fleet.edge("b", **PACE)
        ids, before = die_unsent(a, fleet, receiver)
        all_delivered(b)

        a = fleet.edge("a", **PACE)

        all_delivered(a, b)
        (new,) = users(1, len(VOTERS))
        a.cast(new)
        eventually(lambda: len(deliveries(a)) == len(VOTERS) + 1)
        all_delivered(a, b)
        sent = sent_since(receiver, before)
        assert sent == dict.fromkeys(all_known(a, b), 1)
        assert set(ids) < set(sent)
        assert pending(a) == pending(b) == 0


@pytest.mark.long
def test_a_node_that_is_back_within_the_lease_sends_for_itself(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    slow = {"VOTEGATE_REDIS__LEASE_SECONDS": "60", "VOTEGATE_SERVER__DRAIN_SECONDS": "0.1"}
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **{**PACE, **slow}), fleet.edge("b", **{**PACE, **slow})
        list_with_webhook(fleet, receiver)
        fail_to_send(a, receiver)
        ids = all_known(a, b)
        a.stop()
        before = len(receiver.received)
        receiver.default = status(204)
        a = fleet.edge("a", **{**PACE, **slow})
        all_delivered(a, b)
        assert sent_since(receiver, before) == dict.fromkeys(ids, 1)
        assert "is gone" not in b.log


@pytest.mark.long
def test_webhooks_of_a_lost_folder_are_sent_although_the_node_is_there_again(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        b, a = fleet.edge("b", **PACE), fleet.edge("a", **PACE)
        ids, before = die_unsent(a, fleet, receiver)
        shutil.rmtree(a.folder)

        a = fleet.edge("a", **PACE)

        fleet.converge(a, b)
        all_delivered(a, b)
        assert sent_since(receiver, before) == dict.fromkeys(ids, 1)


@pytest.mark.long
def test_any_node_can_send_again_what_another_one_has_sent(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **PACE), fleet.edge("b", **PACE)
        list_with_webhook(fleet, receiver)
        for user in VOTERS:
            a.cast(user)
        all_delivered(a, b)
        assert deliveries(a) == deliveries(b)
        again = deliveries(b)[0]["id"]
        a.kill()

        b.done("POST", f"{BOT_PATH}/webhook/deliveries/{again}/redeliver", {})

        eventually(lambda: len(deliveries(b)[0]["attempts"]) == 2)
        assert sent_since(receiver, len(VOTERS)) == {again: 1}
        a = fleet.edge("a", **PACE)
        eventually(lambda: deliveries(a) == deliveries(b))


def test_an_owner_that_was_stopped_sends_nothing_again_but_what_was_under_way(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **PACE), fleet.edge("b", **PACE)
        list_with_webhook(fleet, receiver)
        receiver.default = receiver.holding(status(204))
        for user in VOTERS:
            a.cast(user)
        eventually(lambda: receiver.received)
        ids = all_known(a, b)
        a.process.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: "is gone: sending its 6 webhooks" in b.log)
        finally:
            a.process.send_signal(signal.SIGCONT)
        receiver.released.set()

        all_delivered(a, b)

        sent = sent_since(receiver, 0)
        assert sorted(sent) == sorted(ids)
        assert sent.total() == len(ids) + 1  # one request at a time goes to an endpoint
        assert "this process did not run for" in a.log
        assert pending(a) == pending(b) == 0
