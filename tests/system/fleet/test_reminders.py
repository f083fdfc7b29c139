"""Users are reminded by one node of a fleet, whichever they vote at, and by another one if that is gone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.fleet_threads import ThreadFleet, threads_of
from tests.support.gateways import BOT, Client, eventually
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, BEN, BOT_TOKEN, CHANNELS, StandIn, messages_path, standing_in
from tests.support.redis_server import RedisServer

HOME = "http://127.0.0.1:1"
"""The public address of all nodes. Only the platform's redirect goes there in these tests."""
BOT_REF = f"bots/{BOT}"
DAY = 86_400


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with standing_in(f"{HOME}/signin/callback") as stand_in:
        yield stand_in


def settings(stand_in: StandIn) -> dict[str, object]:
    return {**site_settings(HOME, stand_in), "chat_platform.bot_token": BOT_TOKEN}


def leader(redis_server: RedisServer) -> str:
    """The node that has the leader lease now, once there is one."""
    with redis_server.client() as client:
        held: bytes = eventually(lambda: client.get("votegate:reminders"))
    return held.decode().partition(".")[0]


def reminders(node: Client) -> Any:
    return node.done("GET", f"/manage/users/{BEN}/reminders")["reminders"]


def notices(node: Client, browser: Person) -> int:
    visitor = Person(node)
    visitor.cookies = browser.cookies
    return visitor.page("/me/notices").count("You can vote for <b>")


def opted_in(node: Client, user: str = BEN) -> Person:
    """The user votes at the node, and opts in there."""
    person = Person(node)
    assert person.sign_in_as(user).status_code == 303
    assert person.post(f"/{BOT_REF}/vote").status_code == 303
    form = {"listing": BOT_REF, "remind": "on"}
    assert person.post("/me/reminders", form).status_code == 303
    return person


# -- nodes whose clocks a test moves -----------------------------------------------------------------------


@pytest.fixture
def fleet(tmp_path: Path, redis_server: RedisServer, stand_in: StandIn) -> Iterator[ThreadFleet]:
    """Two nodes, which know a bot."""
    with threads_of(tmp_path, redis_server.url) as fleet:
        a, _ = (fleet.node(name, settings=settings(stand_in)) for name in "ab")
        a.list_bot()
        fleet.converge()
        yield fleet


def told_at(fleet: ThreadFleet) -> None:
    """Waits until all nodes know that Ben was told."""
    eventually(
        lambda: all([row["message"] for row in reminders(node)] == ["delivered"] for node in fleet.nodes)
    )


def test_whichever_node_a_user_votes_at_there_is_one_message_and_one_notice_at_all_of_them(
    fleet: ThreadFleet, redis_server: RedisServer, stand_in: StandIn
) -> None:
    holder = leader(redis_server)
    (other,) = (node for node in fleet.nodes if node.settings.redis.node != holder)
    browser = opted_in(other)
    fleet.converge()
    asked = stand_in.asked(CHANNELS)
    fleet.advance(DAY)
    told_at(fleet)
    fleet.converge()
    assert len(stand_in.messages(BEN)) == 1
    assert stand_in.asked(CHANNELS) - asked == 1
    assert [notices(node, browser) for node in fleet.nodes] == [1, 1]


def test_a_reminder_that_is_turned_off_at_one_node_is_sent_by_none(
    fleet: ThreadFleet, redis_server: RedisServer, stand_in: StandIn
) -> None:
    holder = leader(redis_server)
    one, other = sorted(fleet.nodes, key=lambda node: node.settings.redis.node == holder)
    browser = opted_in(other)
    opted_in(other, ADA)  # she is told after him
    fleet.converge()
    one.done("DELETE", f"/manage/users/{BEN}/reminders")
    fleet.converge()
    fleet.advance(DAY)
    eventually(lambda: stand_in.messages(ADA))
    assert [notices(node, browser) for node in fleet.nodes] == [0, 0]
    assert stand_in.messages(BEN) == []


def test_without_redis_the_notice_comes_and_the_message_waits_for_redis(
    fleet: ThreadFleet, redis_server: RedisServer, stand_in: StandIn
) -> None:
    browser = opted_in(fleet.nodes[0])
    fleet.converge()
    redis_server.stop()
    fleet.advance(DAY)
    assert [notices(node, browser) for node in fleet.nodes] == [1, 1]
    assert stand_in.messages(BEN) == []
    redis_server.start()
    told_at(fleet)
    assert len(stand_in.messages(BEN)) == 1


# -- nodes that are processes ------------------------------------------------------------------------------


def process(fleet: FleetOfEdges, name: str, stand_in: StandIn, lease_seconds: float) -> Edge:
    given = {
        **settings(stand_in),
        "redis.lease_seconds": lease_seconds,
        "votes.cooldown_seconds": 0.2,
        "chat_platform.timeout_seconds": 60,  # an attempt that hangs lasts longer than any test
    }
    return fleet.edge(
        name, **{f"VOTEGATE_{name.upper().replace('.', '__')}": str(value) for name, value in given.items()}
    )


def reminded(node: Edge) -> None:
    """Ben opts in at the node, and votes: there is something to tell in a moment."""
    person = Person(node)
    assert person.sign_in_as(BEN).status_code == 303
    assert person.post("/me/reminders", {"listing": BOT_REF, "remind": "on"}).status_code == 303
    assert person.post(f"/{BOT_REF}/vote").status_code == 303


def sent_at(*nodes: Edge) -> None:
    """Waits until all of them know that it is told."""
    eventually(lambda: all([row["message"] for row in reminders(node)] == ["delivered"] for node in nodes))


@pytest.mark.parametrize("fault", ["slow", "late"])
def test_another_node_sends_the_reminders_of_a_dead_one_and_each_arrives_once(
    redis_server: RedisServer, tmp_path: Path, stand_in: StandIn, fault: str
) -> None:
    path = CHANNELS if fault == "slow" else messages_path(BEN)
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = (process(fleet, name, stand_in, 0.5) for name in "ab")
        a.list_bot()
        fleet.converge(a, b)
        eventually(lambda: stand_in.asked(CHANNELS))  # its owner, whom the platform does not know
        holder, other = (a, b) if leader(redis_server) == "a" else (b, a)
        stand_in.goes_wrong(path, fault)
        asked = stand_in.asked(path)
        reminded(other)
        eventually(lambda: stand_in.asked(path) > asked)
        holder.kill()
        sent_at(other)
        assert len(stand_in.messages(BEN)) == 1
        holder.start()
        fleet.converge(a, b)
        sent_at(a, b)
        assert len(stand_in.messages(BEN)) == 1
        assert stand_in.asked(path) - asked == 2


def test_a_node_that_stops_leaves_the_leader_lease_to_another_one_at_once(
    redis_server: RedisServer, tmp_path: Path, stand_in: StandIn
) -> None:
    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = (process(fleet, name, stand_in, 3_600) for name in "ab")
        a.list_bot()
        fleet.converge(a, b)
        holder, other = (a, b) if leader(redis_server) == "a" else (b, a)
        holder.stop()
        reminded(other)
        sent_at(other)
        assert len(stand_in.messages(BEN)) == 1
