"""Fifty voters press the button of the vote page at two nodes: no vote twice, none lost, every page answers.

While Redis is away, each voter stays at one node, as browsers do: two nodes that do not reach each other
cannot know of a vote at both.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from core.events import UserSignedIn
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, ThreadNode, threads_of
from tests.support.gateways import BOT, WAIT_SECONDS
from tests.support.page_visitor import PageVisitor
from tests.support.people import signed_in
from tests.support.people_gateway import site_settings
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import standing_in
from tests.support.redis_server import RedisServer

HOME = "http://127.0.0.1:1"
"""The public address of all nodes. Nothing goes there in these tests."""
VOTE, TWIN = f"/bots/{BOT}/vote", f"/bots/{BOT}/vote.json"
VOTERS = [str(700_000_000_000_000_000 + number) for number in range(50)]
THANKS = f"{VOTE}?from=vote"
AT_ONCE = 10
CUT_BY = 20
"""The voter at whose turn Redis is cut off."""
ENOUGH = 1_000_000
FROM_HERE_ALONE = {
    "votes.per_minute_of_address": ENOUGH,
    "votes.accounts_per_address": ENOUGH,
    "votes.burst_per_minute": ENOUGH,
    "redis.claim_timeout_seconds": 5,
}
"""All come from this machine, which is busy."""


class Place(NamedTuple):
    fleet: ThreadFleet
    proxy: CuttingProxy

    @property
    def nodes(self) -> list[ThreadNode]:
        return self.fleet.nodes


@pytest.fixture
def place(tmp_path: Path, redis_server: RedisServer) -> Iterator[Place]:
    """Two nodes with a bot, at which the voters are signed in, and their wire to Redis."""
    with (
        standing_in(f"{HOME}/signin/callback") as stand_in,
        CuttingProxy(redis_server.port) as proxy,
        threads_of(tmp_path, proxy.url) as fleet,
    ):
        for name in ("rome", "oslo"):
            fleet.node(name, settings={**site_settings(HOME, stand_in), **FROM_HERE_ALONE})
        first = fleet.nodes[0]
        first.list_bot()
        sessions = [session_of(first, user) for user in VOTERS]
        first.on_loop(lambda: first.gateway.ledger.commit(sessions))
        fleet.converge()
        yield Place(fleet, proxy)


def value_of(user: str) -> str:
    """The value of a voter's session: as long as a real one."""
    return user.rjust(43, "0")


def session_of(node: ThreadNode, user: str) -> UserSignedIn:
    return signed_in(user, node.gateway.digester.digest(value_of(user)), node.clock.now_ms())


def browser(node: ThreadNode, user: str) -> PageVisitor:
    visitor = PageVisitor(node)
    visitor.cookies[SESSION] = value_of(user)
    return visitor


def look(tab: PageVisitor, *, is_first: bool) -> None:
    """Ask for all that a browser asks for to show the page, and for what a script in it asks for."""
    files = re.findall('(?:src|href)="(/static/[^"]+)"', tab.page(VOTE)) if is_first else []
    for answer in (*map(tab.get, {TWIN, *files}), tab.get(THANKS)):
        assert answer.status_code == 200, answer.url


def pressed_at_once(user: str, nodes: Sequence[ThreadNode]) -> list[int]:
    """The answers to a voter who has a tab at each of the nodes and presses all buttons together."""
    start = threading.Barrier(len(nodes))

    def press(node: ThreadNode) -> int:
        tab = browser(node, user)
        look(tab, is_first=True)
        start.wait(WAIT_SECONDS)
        answer = tab.post(VOTE).status_code
        look(tab, is_first=False)
        return answer

    with ThreadPoolExecutor(len(nodes)) as threads:
        return sorted(threads.map(press, nodes))


def counted(place: Place) -> list[dict[str, int]]:
    """Return the number of votes of each voter, as each node knows it."""
    place.fleet.converge()
    found = []
    for node in place.nodes:
        checked = node.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": VOTERS})["votes"]
        found.append({each["user"]: each["vote"] for each in checked})
    return found


def test_a_voter_who_presses_at_two_nodes_at_once_has_one_vote(place: Place) -> None:
    voters = VOTERS[:10]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(lambda user: pressed_at_once(user, place.nodes), voters))
    assert answers == [[303, 409]] * len(voters)
    assert counted(place) == [{user: int(user in voters) for user in VOTERS}] * 2


def test_fifty_voters_lose_no_vote_and_have_none_twice_when_redis_is_cut(place: Place) -> None:
    def press_twice(number: int) -> list[int]:
        if number == CUT_BY:
            place.proxy.cut()
        return pressed_at_once(VOTERS[number], [place.nodes[number % 2]] * 2)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(press_twice, range(len(VOTERS))))
    assert answers == [[303, 409]] * len(VOTERS)
    assert [node.replication["claims_votes"] for node in place.nodes] == [False, False]

    place.proxy.restore()
    assert counted(place) == [dict.fromkeys(VOTERS, 1)] * 2
    elsewhere = [browser(place.nodes[1 - number % 2], user) for number, user in enumerate(VOTERS)]
    assert {tab.post(VOTE).status_code for tab in elsewhere} == {409}
