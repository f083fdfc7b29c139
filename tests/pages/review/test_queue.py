"""pages/review/queue.py: the lists of moderators, on a whole gateway."""

import re
from typing import Any

import pytest

from core.actors import user_actor
from listings.ownership import USUAL_FROM, USUAL_OF
from tests.support.gateways import BOT_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY

BOTS = [str(400000000000000000 + number) for number in range(1, 5)]


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"web.moderators": f"{CLEO},{DAN}"}


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway) -> None:
    for bot in BOTS:
        gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.clock.advance(600)


def submit(gateway: PeopleGateway, bot: str) -> None:
    form = {**BOT_SUBMISSION, "id": bot, "owner_id": ADA, "name": f"Bot {bot[-1]}"}
    gateway.done("POST", "/manage/bots", form)
    gateway.clock.advance(1)


def ids(person: Person, show: str) -> list[str]:
    answer: dict[str, Any] = person.get(f"/review.json?show={show}").json()
    return [each["id"] for each in answer["decided" if show == "decided" else "queue"]]


def order(page: str) -> list[str]:
    listed = page.partition('class="waiting"')[2].partition("</ol>")[0]
    return [each[:18] for each in listed.split('href="/review/bots/')[1:]]


def test_what_waits_for_longest_stands_first(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    assert "Nothing waits for a decision" in cleo.page("/review")
    for bot in reversed(BOTS):
        submit(gateway, bot)
    page = cleo.page("/review")
    assert order(page) == [*reversed(BOTS)]
    assert "Bot 4 Bot, not verified just now" in words(page)
    assert "Waiting 4" in words(page)
    assert ids(cleo, "waiting") == [*reversed(BOTS)]
    gateway.done("POST", f"/manage/bots/{BOTS[3]}/approve", {})
    assert order(cleo.page("/review")) == [*reversed(BOTS[:3])]


def test_the_queue_has_pages(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    for bot in BOTS:
        submit(gateway, bot)
    first = cleo.get("/review.json?limit=3").json()
    assert [each["id"] for each in first["queue"]] == BOTS[:3]
    rest = cleo.page(f"/review?after={first['next']}")
    assert order(rest) == BOTS[3:]
    assert 'href="/review?after=' not in rest
    for path in ("/review?after=1", "/review.json?limit=0"):
        assert cleo.get(path).status_code == 400


def test_mine_are_those_that_i_have_claimed(gateway: PeopleGateway) -> None:
    cleo, dan = gateway.person(CLEO), gateway.person(DAN)
    for bot in BOTS:
        submit(gateway, bot)
    assert "You have claimed nothing" in cleo.page("/review?show=mine")
    cleo.acted(f"/review/bots/{BOTS[1]}/claim")
    dan.acted(f"/review/bots/{BOTS[2]}/claim")
    assert order(cleo.page("/review?show=mine")) == [BOTS[1]]
    assert (ids(cleo, "mine"), ids(dan, "mine")) == ([BOTS[1]], [BOTS[2]])
    shown = words(cleo.page("/review"))
    assert "claimed by you" in shown
    assert "claimed by dan" in shown
    gateway.done("POST", f"/manage/bots/{BOTS[1]}/approve", {})
    assert ids(cleo, "mine") == []


def test_decided_are_the_last_decisions_the_newest_first(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    assert "Nothing is decided yet" in cleo.page("/review?show=decided")
    for bot in BOTS:
        submit(gateway, bot)
    gateway.done("POST", f"/manage/bots/{BOTS[2]}/approve", {})
    gateway.clock.advance(1)
    version = str(gateway.done("GET", f"/manage/bots/{BOTS[0]}")["updated_at"])
    cleo.acted(f"/review/bots/{BOTS[0]}/deny", {"seen": version, "words": "It is <b>silent</b>"})
    page = cleo.page("/review?show=decided")
    assert order(page) == [BOTS[0], BOTS[2]]
    assert "It is &lt;b&gt;silent&lt;/b&gt;." in page
    decided = cleo.get("/review.json?show=decided").json()["decided"]
    assert [(each["id"], each["decision"], each["by"]) for each in decided] == [
        (BOTS[0], "denied", user_actor(CLEO)),
        (BOTS[2], "approved", "operator"),
    ]


def test_a_list_that_is_none_is_the_first_one(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    submit(gateway, BOTS[0])
    assert order(cleo.page("/review?show=all")) == BOTS[:1]


def test_the_usual_wait_is_told_once_enough_is_decided(gateway: PeopleGateway) -> None:
    cleo, ada = gateway.person(CLEO), gateway.person(ADA)
    told = "Half of the last decisions came within 1 hour."
    bots = [str(500000000000000000 + number) for number in range(USUAL_FROM)]
    for bot in bots:
        submit(gateway, bot)
    gateway.clock.advance(3_599 - USUAL_FROM)
    submit(gateway, BOTS[1])
    for bot in bots:
        assert told not in words(ada.page(f"/bots/{BOTS[1]}/manage"))
        gateway.done("POST", f"/manage/bots/{bot}/deny", {"reason": "No."})
        gateway.clock.advance(1)
    for page in ("/review", f"/bots/{BOTS[1]}/manage", f"/bots/new?id={READY}"):
        visitor = cleo if page == "/review" else ada
        assert told in words(visitor.page(page)), page
    assert cleo.get("/review.json").json()["usual_wait_ms"] == 3_600_000
    assert gateway.done("GET", "/manage/queue")["usual_wait_ms"] == 3_600_000
    for bot in bots:
        gateway.done("DELETE", f"/manage/bots/{bot}")
    assert told not in words(cleo.page("/review"))


def test_decisions_that_came_at_once_came_within_a_second(gateway: PeopleGateway) -> None:
    bots = [str(500000000000000000 + number) for number in range(USUAL_OF)]
    for bot in bots:
        gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "owner_id": ADA})
        gateway.done("POST", f"/manage/bots/{bot}/deny", {"reason": "No."})
    assert "Half of the last decisions came within 1 second." in words(gateway.person(CLEO).page("/review"))
    for bot in bots:
        gateway.done("DELETE", f"/manage/bots/{bot}")


def test_the_menu_counts_for_moderators_what_waits_and_what_is_reported(gateway: PeopleGateway) -> None:
    def counted(user: str) -> str:
        page = gateway.person(user).page("/me")
        found = re.search(r"<a href=\"/review\">.*?</a>", page)
        return words(found[0]) if found else ""

    assert counted(CLEO) == "Review"
    submit(gateway, BOTS[0])
    submit(gateway, BOTS[1])
    assert counted(CLEO) == "Review 2"
    gateway.done("POST", f"/manage/bots/{BOTS[0]}/approve", {})
    gateway.done("POST", f"/manage/bots/{BOTS[0]}/reports", {"user": BEN, "reason": "does_not_work"})
    assert counted(CLEO) == "Review 2"
    gateway.done("POST", f"/manage/bots/{BOTS[0]}/reports/settle", {})
    assert (counted(CLEO), counted(BEN)) == ("Review 1", "")
