"""pages/review/votes.py: flagged votes as moderators see them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.events import ListingRemoved, VoteFlagged
from pages.review.votes import ON_A_PAGE
from tests.support.gateways import BOT
from tests.support.owned_listings import list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, EMIL

VOTE, FLAGS = f"/bots/{BOT}/vote", "/review/votes"
CROWDED: dict[str, object] = {"votes.accounts_per_address": 1, "votes.challenge": False}


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return CROWDED


@pytest.fixture
def crowd(gateway: PeopleGateway) -> PeopleGateway:
    """Dan has voted from this address."""
    gateway.clock.advance(86_400)
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    gateway.person(DAN).acted(VOTE)
    return gateway


def flagged(gateway: PeopleGateway) -> list[Any]:
    shown: list[Any] = gateway.person(CLEO).get(f"{FLAGS}.json").json()["flags"]
    return shown


def test_moderators_see_flagged_votes_the_newest_first_with_the_rule_in_words(crowd: PeopleGateway) -> None:
    assert "No vote is flagged" in crowd.person(CLEO).page(FLAGS)
    for user in (BEN, EMIL):
        crowd.clock.advance(1)
        crowd.person(user).acted(VOTE)
    newest, older = flagged(crowd)
    now_ms = crowd.clock.now_ms()
    expected = {"ref": f"bots/{BOT}", "name": "Test bot", "rule": "crowded_address", "votes": 1}
    assert newest == {**expected, "id": newest["id"], "at": now_ms, "by": f"users/{EMIL}"}
    assert older == {**expected, "id": older["id"], "at": now_ms - 1_000, "by": f"users/{BEN}"}
    cleo = crowd.person(CLEO)
    page = cleo.page(FLAGS)
    assert "Many accounts voted from the same address." in words(page)
    assert words(page).index("Emil") < words(page).index("Ben")
    assert f'href="{FLAGS}"' in cleo.page("/review")


def test_accounts_that_press_at_once_are_counted_one_by_one(
    gateway: PeopleGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.clock.advance(86_400)
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    people = [gateway.person(user) for user in (ADA, BEN, CLEO, DAN, EMIL)]
    ledger, durable = gateway.gateway.ledger, gateway.gateway.ledger.durable
    waiting, all_wait = list[int](), asyncio.Event()

    async def wait_for_all(position: int) -> None:
        waiting.append(position)
        if len(waiting) == len(people):
            all_wait.set()
        await all_wait.wait()
        await durable(position)

    with ThreadPoolExecutor(len(people)) as threads, monkeypatch.context() as patch:
        patch.setattr(ledger, "durable", wait_for_all)
        answers = list(threads.map(lambda person: person.post(VOTE).status_code, people))
    assert answers == [303] * len(people)
    assert len(flagged(gateway)) == len(people) - 1


def test_an_erased_voter_has_no_name_among_flagged_votes(crowd: PeopleGateway) -> None:
    crowd.person(BEN).acted(VOTE)
    crowd.done("DELETE", f"/manage/users/{BEN}")
    assert [(each["by"], each["votes"]) for each in flagged(crowd)] == [("erased", 0)]
    page = crowd.person(CLEO).page(FLAGS)
    assert BEN not in page
    assert "somebody who was erased" in words(page)


def test_who_asks_for_the_own_data_gets_the_flags_too(crowd: PeopleGateway) -> None:
    ben = crowd.person(BEN)
    ben.acted(VOTE)
    (flag,) = ben.get("/me/data.json").json()["flagged_votes"]
    assert flag == {"listing": f"bots/{BOT}", "at_ms": crowd.clock.now_ms(), "rule": "crowded_address"}


def test_flagged_votes_outlive_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path, **CROWDED) as gateway:
        list_bot(gateway, BOT, owner=ADA, decision="approve")
        for user in (ADA, BEN):
            gateway.person(user).acted(VOTE)
        before = flagged(gateway)
        assert [each["by"] for each in before] == [f"users/{BEN}"]
        for _ in range(2):  # the second start reads a snapshot alone
            gateway.restart()
            assert flagged(gateway) == before


def test_all_flagged_votes_are_on_pages_each_once(crowd: PeopleGateway) -> None:
    ledger, now_ms = crowd.gateway.ledger, crowd.clock.now_ms()
    refs = [f"bots/{700_000_000_000_000_000 + number}" for number in range(3)]
    for ref in refs:
        list_bot(crowd, ref.removeprefix("bots/"), owner=ADA, decision="approve")
    many = [VoteFlagged(ref, BEN, "burst", f"f{number}", now_ms) for number in range(40) for ref in refs]
    crowd.on_loop(lambda: ledger.commit(many))
    cleo = crowd.person(CLEO)
    seen, query, pages = list[tuple[str, str]](), dict[str, str](), 0
    while pages == 0 or query:
        page = cleo.request("GET", f"{FLAGS}.json", params=query).json()
        assert len(page["flags"]) <= ON_A_PAGE
        seen += [(each["ref"], each["id"]) for each in page["flags"]]
        query, pages = ({"before": page["next"]} if page["next"] else {}), pages + 1
    assert pages == 3
    assert sorted(seen) == sorted((event.ref, event.flag_id) for event in many)
    assert f'href="{FLAGS}?before=' in cleo.page(FLAGS)
    assert "only the newest 50 flags are kept. Older ones are gone" in words(cleo.page(FLAGS))
    here = f"/review/{refs[0]}/votes"
    assert "flags are kept" not in cleo.page(here)
    more = [VoteFlagged(refs[0], BEN, "burst", f"g{number}", now_ms + 1) for number in range(11)]
    crowd.on_loop(lambda: ledger.commit(more))
    assert len(cleo.get(f"{here}.json").json()["flags"]) == 50
    assert "only the newest 50 flags are kept. Older ones are gone" in words(cleo.page(here))
    crowd.on_loop(lambda: ledger.commit([ListingRemoved(ref) for ref in refs]))
    assert flagged(crowd) == []


def test_a_cursor_that_is_none_is_refused(gateway: PeopleGateway) -> None:
    cleo = gateway.person(CLEO)
    for cursor in ("x", "1", "-1~bots/1~f", "\u0661~bots/1~f", "9" * 17 + "~bots/1~f"):
        answer = cleo.request("GET", f"{FLAGS}.json", params={"before": cursor})
        assert (answer.status_code, [*answer.json()["fields"]]) == (400, ["before"]), cursor
