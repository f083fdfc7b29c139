"""Sessions of people in a fleet: opened at one node, known at all, ended at any."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.actors import OPERATOR
from people.quarantine import impose
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import BOT, ThreadGateway
from tests.support.people_gateway import Person, site_settings
from tests.support.people_scene import SESSION, SIGN_IN
from tests.support.platform_stand_in import ADA, BEN, StandIn, decided_at, standing_in
from tests.support.redis_server import RedisServer

HOME = "http://127.0.0.1:1"
"""The public address of all nodes. Only the platform's redirect goes there in these tests."""


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in(f"{HOME}/signin/callback") as stand_in:
        yield stand_in


@pytest.fixture
def fleet(tmp_path: Path, redis_server: RedisServer, stand_in: StandIn) -> Iterator[ThreadFleet]:
    with threads_of(tmp_path, redis_server.url) as fleet:
        for name in "ab":
            fleet.node(name, settings=site_settings(HOME, stand_in))
        yield fleet


def same_browser(node: ThreadGateway, browser: Person) -> Person:
    """The browser as it meets another node behind the one address of all."""
    other = Person(node)
    other.cookies = browser.cookies
    return other


def statuses(fleet: ThreadFleet, browser: Person) -> list[int]:
    fleet.converge()
    return [same_browser(node, browser).get("/me").status_code for node in fleet.nodes]


def signed_in(fleet: ThreadFleet, node: ThreadNode, user: str = ADA) -> Person:
    browser = Person(node)
    assert browser.sign_in_as(user).status_code == 303
    assert statuses(fleet, browser) == [200, 200]
    return browser


def test_a_user_who_signs_in_at_one_node_is_known_at_the_other(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    signed_in(fleet, a)
    signed_in(fleet, b)


def test_a_sign_in_may_end_at_another_node_than_it_began(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    browser = Person(a)
    back = decided_at(browser.started("/me"), ADA)
    answer = same_browser(b, browser).come_back(back)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/me")
    assert statuses(fleet, browser) == [200, 200]


def test_a_return_from_the_platform_counts_once_in_the_whole_fleet(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    browser, thief = Person(a), Person(b)
    address = browser.started()
    thief.keep(SIGN_IN, browser.cookies[SIGN_IN])
    assert browser.come_back(decided_at(address, ADA)).status_code == 303
    again = thief.come_back(decided_at(address, BEN))
    assert (again.status_code, "or was already used" in again.text) == (400, True)
    assert SESSION not in thief.cookies


def test_the_page_of_another_node_shows_a_notice_once(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    browser = signed_in(fleet, a)
    assert browser.post("/me/naming", {"name": "on"}).status_code == 303
    other = same_browser(b, browser)
    assert "may see your name now." in other.page("/me/votes")
    assert "may see your name now." not in other.page("/me/votes")


@pytest.mark.parametrize("at", [0, 1])
def test_a_session_that_is_ended_at_one_node_is_ended_at_both(fleet: ThreadFleet, at: int) -> None:
    stays, goes = signed_in(fleet, fleet.nodes[0]), signed_in(fleet, fleet.nodes[1])
    thief = Person(fleet.nodes[at])
    thief.cookies = dict(goes.cookies)
    same_browser(fleet.nodes[at], goes).post("/signout")
    assert SESSION not in goes.cookies
    assert statuses(fleet, thief) == [303, 303]
    assert statuses(fleet, stays) == [200, 200]


def test_a_user_put_under_quarantine_at_one_node_is_signed_out_at_both(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    browser, other = signed_in(fleet, a), signed_in(fleet, a, BEN)
    ledger, now_ms = b.gateway.ledger, b.clock.now_ms()
    b.on_loop(lambda: ledger.commit(impose(ledger.state, ADA, "sign_in", "Spam.", None, now_ms, by=OPERATOR)))
    assert statuses(fleet, browser) == [303, 303]
    assert statuses(fleet, other) == [200, 200]
    assert browser.sign_in_as(ADA).status_code == 403


def test_a_user_who_erases_the_account_at_one_node_is_erased_at_both(fleet: ThreadFleet) -> None:
    a, b = fleet.nodes
    browser, other = signed_in(fleet, a), signed_in(fleet, b, BEN)
    same_browser(b, browser).acted("/me/data", {"word": "erase"})
    fleet.converge()
    assert [f"users/{ADA}" in node.gateway.ledger.state.users for node in fleet.nodes] == [False, False]
    assert statuses(fleet, other) == [200, 200]


def test_a_user_erased_at_one_node_votes_again_at_none_before_the_cooldown_is_over(
    fleet: ThreadFleet, redis_server: RedisServer
) -> None:
    a, b = fleet.nodes
    a.list_bot()
    fleet.converge()
    browser = signed_in(fleet, a)
    early = a.cast(ADA)["nextVoteAt"]
    fleet.converge()
    same_browser(b, browser).acted("/me/data", {"word": "erase"})
    fleet.converge()
    b.cast(BEN)  # alone in the last entry of the stream, which stays
    fleet.converge()
    with redis_server.client() as client:
        for name in "ab":
            client.xtrim(f"votegate:stream:{name}", maxlen=1, approximate=False)
    c = fleet.node("c")  # which takes a copy
    fleet.converge()
    for node in (a, b, c):
        assert node.gateway.ledger.state.votes.get(f"bots/{BOT}", int(ADA)) is None
        refused = node.operate("POST", f"/manage/bots/{BOT}/votes", {"user": ADA})
        assert (refused.status_code, refused.json()["nextVoteAt"]) == (409, early)
