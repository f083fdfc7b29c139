"""Owners hear of a decision from one node of a fleet, and from its successor if that node is gone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH
from tests.support.fleet_processes import Edge, fleet_of
from tests.support.gateways import BOT_SUBMISSION, eventually
from tests.support.people_gateway import site_settings
from tests.support.platform_stand_in import ADA, BOT_TOKEN, CHANNELS, StandIn, standing_in
from tests.support.redis_server import RedisServer

PUBLIC_URL = "http://127.0.0.1:8080"
LEASE = {"VOTEGATE_REDIS__LEASE_SECONDS": "0.5"}


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


def site(stand_in: StandIn) -> dict[str, str]:
    """The settings of a node, as its environment gives them."""
    settings = {**site_settings(PUBLIC_URL, stand_in), "chat_platform.bot_token": BOT_TOKEN}
    return {f"VOTEGATE_{name.upper().replace('.', '__')}": str(value) for name, value in settings.items()}


def message(node: Edge) -> Any:
    return node.done("GET", f"{BOT_PATH}/history")["message"]


def told_at(*nodes: Edge) -> None:
    """Waits until all of them know that the owner was told."""
    eventually(lambda: all((message(node) or {}).get("state") == "delivered" for node in nodes))


def test_an_owner_is_told_by_the_node_of_the_decision_and_all_nodes_know(
    redis_server: RedisServer, tmp_path: Path, stand_in: StandIn
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = (fleet.edge(name, **site(stand_in)) for name in "ab")
        a.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        fleet.converge(a, b)
        b.done("POST", f"{BOT_PATH}/approve", {})
        told_at(a, b)
        fleet.converge(a, b)
        assert message(a) == message(b)
        assert len(stand_in.messages(ADA)) == 1
        assert stand_in.asked(CHANNELS) == 1


def test_another_node_sends_the_messages_of_a_dead_one(
    redis_server: RedisServer, tmp_path: Path, stand_in: StandIn
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b, c = (fleet.edge(name, **site(stand_in), **LEASE) for name in "abc")
        stand_in.goes_wrong(CHANNELS, "slow")
        a.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
        a.done("POST", f"{BOT_PATH}/approve", {})
        eventually(lambda: stand_in.asked(CHANNELS))
        eventually(
            lambda: all((node.operate("GET", f"{BOT_PATH}/history").json().get("message")) for node in (b, c))
        )
        a.kill()
        told_at(b, c)
        fleet.converge(b, c)
        assert len(stand_in.messages(ADA)) == 1
        assert stand_in.asked(CHANNELS) == 2
        successors = [node.name for node in (b, c) if "sending its 0 webhooks and 1 messages" in node.log]
        assert len(successors) == 1

        a.start()
        fleet.converge(a, b, c)
        assert message(a)["state"] == "delivered"
        assert stand_in.asked(CHANNELS) == 2
