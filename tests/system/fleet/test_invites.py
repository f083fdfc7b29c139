"""The invite of a server in a fleet: all nodes know the last answer, and one of them asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import SERVER_SUBMISSION, eventually
from tests.support.page_visitor import words
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, BEN, GOOD_SERVER, StandIn, standing_in
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import OTHER_USER

HOME = "http://127.0.0.1:1"
"""The public address of all nodes. Nothing goes there in these tests."""
DAY_SECONDS = 86_400
HERE = f"/manage/servers/{GOOD_SERVER}"
BODY = {**SERVER_SUBMISSION, "id": GOOD_SERVER, "owner_id": ADA}
EDIT = {name: value for name, value in BODY.items() if name != "id"}


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in(f"{HOME}/signin/callback") as stand_in:
        yield stand_in


@pytest.fixture
def fleet(
    tmp_path: Path,
    redis_server: RedisServer,
    proxy: CuttingProxy,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ThreadFleet]:
    """Two nodes that look for due invites all the time, and know a server with an invite."""
    monkeypatch.setattr("pages.rounds.CHECK_EVERY_SECONDS", 0.05)
    monkeypatch.setattr("pages.rounds.PAUSE_SECONDS", 0)
    for code in ("server-1", "second"):
        stand_in.change_invite(code, GOOD_SERVER)
    with threads_of(tmp_path, redis_server.url) as fleet:
        for name, url in (("a", redis_server.url), ("b", proxy.url)):
            fleet.node(name, settings={**site_settings(HOME, stand_in), "redis.url": url})
        a, _ = fleet.nodes
        a.done("POST", "/manage/servers", {**BODY, "invite": "server-1"})
        a.done("POST", f"{HERE}/approve", {})
        fleet.converge()
        yield fleet


def check(node: ThreadNode) -> Any:
    return node.done("GET", HERE)["invite_check"]


def wait_for(fleet: ThreadFleet, **fields: object) -> None:
    """Wait until all nodes know this answer."""
    eventually(lambda: all(fields.items() <= (check(node) or {}).items() for node in fleet.nodes))
    fleet.converge()


def report(node: ThreadNode, user: str) -> None:
    node.done("POST", f"{HERE}/reports", {"user": user, "reason": "broken_invite"})


def notices(node: ThreadNode) -> int:
    """Count the notices about the invite that the owner sees at a node."""
    owner = Person(node)
    assert owner.sign_in_as(ADA).status_code == 303
    return words(owner.page("/me/notices")).count("The invite of Test server does not work any more")


def test_an_invite_that_is_checked_at_one_node_and_changed_at_the_other_is_the_same_at_both(
    fleet: ThreadFleet, stand_in: StandIn
) -> None:
    a, b = fleet.nodes
    assert check(a) == check(b)
    fleet.advance(60)
    asked = stand_in.asked("/invites/second")
    b.done("PUT", HERE, {**EDIT, "invite": "second"})
    wait_for(fleet, code="second", problem=None)
    assert stand_in.asked("/invites/second") == asked + 1
    assert check(a) == check(b)


def test_one_node_asks_daily_and_both_know_the_answer(fleet: ThreadFleet, stand_in: StandIn) -> None:
    for members in (2_000, 3_000):
        asked = stand_in.asked("/invites/server-1")
        stand_in.change_server(GOOD_SERVER, approximate_member_count=members)
        fleet.advance(DAY_SECONDS)
        wait_for(fleet, approximate_member_count=members)
        # A round that begins before the answer is there may note the server once more.
        assert asked < stand_in.asked("/invites/server-1") <= asked + 2
    stand_in.change_invite("server-1", "gone")
    fleet.advance(DAY_SECONDS)
    wait_for(fleet, problem="gone")
    assert [notices(node) for node in fleet.nodes] == [1, 1]


def test_two_nodes_that_find_the_same_broken_invite_make_one_notice(
    fleet: ThreadFleet, stand_in: StandIn, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    stand_in.change_invite("server-1", "gone")
    report(a, BEN)
    eventually(lambda: check(a)["problem"])
    fleet.advance(1)
    report(b, OTHER_USER)
    eventually(lambda: check(b)["problem"])
    proxy.restore()
    wait_for(fleet, problem="gone")
    assert [notices(node) for node in fleet.nodes] == [1, 1]


def test_an_answer_about_the_invite_before_leaves_the_new_one_unknown_and_it_is_asked_about(
    fleet: ThreadFleet, proxy: CuttingProxy
) -> None:
    a, b = fleet.nodes
    proxy.cut()
    b.done("PUT", HERE, {**EDIT, "invite": "second"})
    fleet.advance(60)
    report(a, BEN)  # the later answer is about the invite that is not named any more
    eventually(lambda: check(a)["checked_at"] == a.clock.now_ms())
    proxy.restore()
    wait_for(fleet, code="second", problem=None)
    assert [node.done("GET", HERE)["invite"] for node in fleet.nodes] == ["second", "second"]
