"""pages/public/rankings.py and home.py: the rankings of months, what is trending, and a random listing."""

from functools import partial

import pytest

from core.clock import month_of
from core.events import VoteCast
from pages.public.rankings import MONTHS_KEPT, month_name, month_named
from search.list_orders import STALE_SECONDS
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import BEN
from tests.support.public_scene import BOTS, SERVERS, list_many


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_many(gateway)
    return gateway


@pytest.fixture
def stranger(gateway: PeopleGateway) -> Person:
    return gateway.person(None)


def this_month(gateway: PeopleGateway) -> int:
    return month_of(gateway.clock.now_ms())


def test_a_month_is_named_as_people_write_it() -> None:
    assert month_name(0) == "1970-01"
    assert month_named("2026-11") == 56 * 12 + 10
    assert all(month_named(month_name(month)) == month for month in range(700))
    assert [month_named(text) for text in ("2026-13", "2026-00", "26-11", "2026-1", "x")] == [None] * 5


def test_the_ranking_of_this_month_has_those_with_votes_and_leads_to_the_month_before(
    gateway: PeopleGateway, stranger: Person
) -> None:
    gateway.cast(BEN, f"/manage/bots/{BOTS[3]}")
    gateway.clock.advance(STALE_SECONDS)
    month = this_month(gateway)
    answer = stranger.get("/bots/ranking")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/bots/ranking/{month_name(month)}")
    ranking = stranger.get(f"/bots/ranking/{month_name(month)}.json").json()
    votes = [each["votes"] for each in ranking["listings"]]
    assert votes == sorted(votes, reverse=True)
    assert 0 not in votes
    assert all(each["votes"] == each["listing"]["votes_this_month"] for each in ranking["listings"])
    places = {each["votes"]: each["place"] for each in reversed(ranking["listings"])}
    assert [each["place"] for each in ranking["listings"]] == [places[each] for each in votes]
    page = stranger.page(f"/bots/ranking/{month_name(month)}")
    assert f'href="/bots/ranking/{month_name(month - 1)}" rel="prev"' in page
    assert 'rel="next"' not in page


def test_the_ranking_of_a_past_month_counts_the_votes_of_that_month(
    gateway: PeopleGateway, stranger: Person
) -> None:
    gateway.clock.advance(40 * 86_400)
    gateway.cast(BEN, f"/manage/bots/{BOTS[4]}")
    gateway.clock.advance(STALE_SECONDS)
    month = this_month(gateway)

    def ranked(month: int) -> list[tuple[int, int, str]]:
        ranking = stranger.get(f"/bots/ranking/{month_name(month)}.json").json()["listings"]
        return [(each["place"], each["votes"], each["listing"]["id"]) for each in ranking]

    assert ranked(month) == [(1, 1, BOTS[4])]
    assert ranked(month - 1) == [(1, 3, BOTS[0]), (2, 2, BOTS[1]), (3, 1, BOTS[2]), (3, 1, BOTS[3])]


def test_a_month_that_is_not_kept_or_still_to_come_is_not_found(
    gateway: PeopleGateway, stranger: Person
) -> None:
    month = this_month(gateway)
    for each in (month + 1, month - MONTHS_KEPT):
        assert stranger.get(f"/bots/ranking/{month_name(each)}").status_code == 404
    assert stranger.get("/bots/ranking/2026-13.json").status_code == 404
    oldest = stranger.page(f"/bots/ranking/{month_name(month - MONTHS_KEPT + 1)}")
    assert "Nobody has voted in this month" in words(oldest)
    assert 'rel="prev"' not in oldest
    assert 'rel="next"' in oldest


def test_what_grows_is_trending_and_ten_votes_are_no_trend(gateway: PeopleGateway, stranger: Person) -> None:
    assert stranger.get("/index.json").json()["trending_bots"] == []
    assert "Trending bots" not in words(stranger.page("/"))
    now_ms = gateway.clock.now_ms()
    votes = [
        VoteCast(f"bots/{bot}", str(810_000_000_000_000_000 + number), 1, now_ms, "", number, number)
        for bot, count in ((BOTS[1], 40), (BOTS[2], 10))
        for number in range(1, count + 1)
    ]
    gateway.on_loop(partial(gateway.gateway.ledger.commit, votes))
    gateway.clock.advance(STALE_SECONDS)
    trending = stranger.get("/index.json").json()["trending_bots"]
    assert [each["id"] for each in trending] == [BOTS[1]]
    assert "Trending bots" in words(stranger.page("/"))


def test_a_random_listing_is_one_of_the_public_ones(gateway: PeopleGateway, stranger: Person) -> None:
    met = set()
    for _ in range(20):
        answer = stranger.get("/servers/random")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (303, "no-store")
        met.add(answer.headers["Location"])
    assert met <= {f"/servers/{each}" for each in SERVERS}
    assert len(met) > 1
    for server in SERVERS:
        gateway.done("DELETE", f"/manage/servers/{server}")
    assert stranger.get("/servers/random").headers["Location"] == "/servers"
