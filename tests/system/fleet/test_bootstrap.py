"""Joining: a new node ends up with what the others have, and they with what it has."""

import shutil
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.support.contract import BOT_PATH, deliveries, users, webhook
from tests.support.fake_clock import FakeClock
from tests.support.fleet_processes import SHARED_SECRETS, fleet_of
from tests.support.gateways import OTHER_BOT, OTHER_USER, SERVER, USER, ThreadGateway, eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver, status

VOTERS = users(100)
ANYTIME = {"VOTEGATE_VOTES__COOLDOWN_SECONDS": "0.001"}
"""Users may vote again at once."""
LATER = {"VOTEGATE_WEBHOOKS__RETRY_DELAY_SECONDS": "3600"}


@pytest.fixture
def alone(tmp_path: Path) -> ThreadGateway:
    """A gateway that is in no fleet, in the folder of node a; not started yet."""
    gateway = ThreadGateway(tmp_path / "a")
    gateway.clock = FakeClock(SystemClock().now_ms())
    return gateway


def test_an_empty_node_gets_all_that_the_fleet_has(
    redis_server: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a", **ANYTIME, **LATER), fleet.edge("b", **ANYTIME)
        key = a.list_bot()
        a.list_bot(OTHER_BOT)
        a.list_server()
        fleet.converge(a, b)
        for user in VOTERS:
            a.cast(user)
        for user in VOTERS[:10]:
            b.cast(user)
        b.cast(OTHER_USER)
        a.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url, "token": "a-token"})
        a.cast(USER)
        eventually(lambda: deliveries(a)[0]["state"] == "delivered")
        receiver.default = status(500)
        a.cast(VOTERS[0])
        eventually(lambda: len(receiver.received) == 2)
        fleet.converge(a, b)
        b.done("DELETE", f"/manage/bots/{OTHER_BOT}")
        b.done("DELETE", f"/manage/users/{OTHER_USER}")
        b.done("POST", f"{BOT_PATH}/votes/strike", {"users": VOTERS[99:], "reason": "Bought."})

        c = fleet.edge("c")

        fleet.converge(a, b, c)
        assert c.votes_of([*VOTERS, USER, OTHER_USER]) == [3] + [2] * 9 + [1] * 89 + [0, 1, 0]
        assert c.voters(key, user=VOTERS[1]).json()["vote"] == 2
        assert a.votes_of(VOTERS[98:]) == [1, 0]
        assert c.operate("GET", f"/manage/bots/{OTHER_BOT}").status_code == 404
        assert c.done("GET", f"/manage/servers/{SERVER}") == a.done("GET", f"/manage/servers/{SERVER}")
        for path in (BOT_PATH, f"{BOT_PATH}/keys"):
            assert c.done("GET", path) == a.done("GET", path)
        assert webhook(c)["url"] == receiver.url
        eventually(lambda: deliveries(c) == deliveries(a))
        assert {row["state"] for row in deliveries(c)} == {"pending", "delivered"}
        assert len(receiver.received) == 2


def test_a_gateway_with_data_becomes_the_first_node_of_a_fleet(
    redis_server: RedisServer, tmp_path: Path, alone: ThreadGateway
) -> None:
    alone.start()
    key = alone.list_bot()
    for user in VOTERS:
        alone.cast(user)
    alone.stop()

    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a"), fleet.edge("b")
        fleet.converge(a, b)
        assert b.votes_of(VOTERS) == [1] * len(VOTERS)
        assert b.voters(key, user=VOTERS[0]).json()["voted"]
        assert b.operate("POST", f"{BOT_PATH}/votes", {"user": VOTERS[0]}).status_code == 409
        b.cast()
        fleet.converge(a, b)
        assert a.votes_of([USER]) == [1]


@pytest.mark.long
def test_gateways_with_different_data_become_one_fleet(
    redis_server: RedisServer, tmp_path: Path, alone: ThreadGateway
) -> None:
    alone.start()
    alone.list_bot()
    alone.list_server()
    for user in (*VOTERS, USER):
        alone.cast(user)
    alone.stop()
    other = ThreadGateway(tmp_path / "b")
    other.clock = FakeClock(SystemClock().now_ms())
    other.folder.mkdir()
    for secret in SHARED_SECRETS:
        shutil.copy(alone.folder / secret, other.folder)
    other.start()
    other.list_bot()
    key = other.list_bot(OTHER_BOT)
    for path in (BOT_PATH, f"/manage/bots/{OTHER_BOT}"):
        other.cast(USER, path)
    other.cast(OTHER_USER)
    other.stop()

    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a"), fleet.edge("b")
        fleet.converge(a, b)
        for node in (a, b):
            assert node.votes_of([*VOTERS, USER, OTHER_USER]) == [1] * len(VOTERS) + [2, 1]
            assert node.voters(key, OTHER_BOT).json()["vote"] == 1
            assert len(node.done("GET", f"{BOT_PATH}/keys")["keys"]) == 2
            assert node.done("GET", "/manage/servers")["servers"]
