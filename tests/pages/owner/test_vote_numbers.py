"""pages/owner/vote_numbers.py: owners see votes by day, month and hour, as charts, tables and files."""

import csv
import io
import re

import pytest

from pages.owner.vote_numbers import RANGES
from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, READY

HERE = f"/bots/{READY}/manage/votes"
DAY_SECONDS = 86_400
VOTERS = [str(10**17 + number) for number in range(3)]


@pytest.fixture
def voted(gateway: PeopleGateway) -> PeopleGateway:
    """Two votes a day ago and three today."""
    list_bot(gateway, decision="approve")
    for users in (VOTERS[:2], VOTERS):
        gateway.clock.advance(DAY_SECONDS)
        for user in users:
            gateway.done("POST", f"/manage/bots/{READY}/votes", {"user": user})
    return gateway


@pytest.mark.usefixtures("voted")
@pytest.mark.parametrize(
    ("query", "heading", "bars"),
    [
        ("", "Votes per day", 30),
        ("?range=90", "Votes per day", 90),
        ("?range=months", "Votes per month", 12),
        ("?range=<b>", "Votes per day", 30),
    ],
)
def test_each_chart_has_a_table_of_its_numbers(ada: Person, query: str, heading: str, bars: int) -> None:
    page = ada.page(HERE + query)
    assert re.findall(r"<figcaption><b>([^<]+)<", page) == [heading, "Hours of the day"]
    assert page.count("<table") == 2
    assert page.count('<tr><th scope="row">') == bars + 24
    assert f"Votes in {RANGES.get(query[7:], RANGES['30']).english} 5" in words(page)  # type: ignore[call-overload]
    assert "Votes of all time 5" in words(page)
    assert "the latest vote of each voter" in words(page)
    assert " style=" not in page


@pytest.mark.usefixtures("voted")
def test_a_bar_says_what_it_stands_for(ada: Person) -> None:
    titles = re.findall(r'<input type="radio" name="days-votes"[^>]*><span>([^<]+)<', ada.page(HERE))
    assert [title.rpartition(": ")[2] for title in titles[:30]] == ["0 votes"] * 28 + ["2 votes", "3 votes"]
    assert 'height="66.67"' in ada.page(HERE), "2 on an axis up to 3"


@pytest.mark.usefixtures("voted")
def test_the_months_stand_beside_those_of_the_year_before_if_there_were_votes(
    gateway: PeopleGateway,
) -> None:
    assert "the year before" not in gateway.person(ADA).page(f"{HERE}?range=months")
    gateway.clock.advance(365 * DAY_SECONDS)
    gateway.done("POST", f"/manage/bots/{READY}/votes", {"user": VOTERS[0]})
    page = gateway.person(ADA).page(f"{HERE}?range=months")
    assert "1 vote (the year before: 5)" in page
    assert 'rect class="then"' in page
    assert "−80% on the previous period" in words(page)


def test_the_json_is_the_answer_of_the_api(voted: PeopleGateway, ada: Person) -> None:
    told = ada.get(f"{HERE}.json").json()
    assert told == voted.done("GET", f"/manage/bots/{READY}/numbers")
    assert [each["votes"] for each in told["days"][-3:]] == [0, 2, 3]
    assert (len(told["days"]), len(told["months"]), len(told["hours"])) == (90, 24, 24)
    assert sum(each["votes"] for each in told["months"]) == told["total"] == 5
    assert sum(each["voters"] for each in told["hours"]) == len(VOTERS)


@pytest.mark.usefixtures("voted")
def test_the_file_has_a_line_for_each_number(ada: Person) -> None:
    answer = ada.get(f"{HERE}.csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert f'filename="votes-{READY}.csv"' in answer.headers["Content-Disposition"]
    lines = list(csv.reader(io.StringIO(answer.text)))
    assert lines[0] == ["what", "when", "count"]
    told = ada.get(f"{HERE}.json").json()
    assert lines[90] == ["votes_of_day", told["days"][-1]["day"], "3"]
    assert len(lines) == 1 + 90 + 24 + 24


def test_a_listing_without_votes_has_one_empty_state_and_no_chart(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_server(gateway)
    page = ada.page(f"/servers/{SERVER}/manage/votes")
    assert "<figure" not in page
    assert page.count('class="empty"') == 1
    assert "Votes will show up here" in words(page)


def test_who_may_not_see_the_listing_sees_no_numbers(voted: PeopleGateway) -> None:
    stranger = voted.person(BEN)
    assert {stranger.get(f"{HERE}{end}").status_code for end in ("", ".json", ".csv")} == {404}


@pytest.mark.usefixtures("voted")
def test_a_voter_is_among_the_top_only_after_choosing_so(gateway: PeopleGateway, ada: Person) -> None:
    ben = gateway.person(BEN)
    gateway.done("POST", f"/manage/bots/{READY}/votes", {"user": BEN})
    assert ada.get(f"{HERE}.json").json()["top_voters"] == []
    assert "Top voters" not in words(ada.page(HERE))

    before = words(ben.page("/me/votes"))
    assert "If you show it, its owners, moderators and operators see it there, with your user ID" in before
    told = words(ben.acted("/me/naming", {"name": "on"}))
    assert "Owners, moderators and operators may see your name now." in told
    assert "The owners of a listing, moderators and operators see your name, your user ID" in told
    assert ben.get("/me/votes.json").json()["is_named"] is True
    (top,) = ada.get(f"{HERE}.json").json()["top_voters"]
    assert gateway.person(CLEO).get(f"{HERE}.json").json()["top_voters"] == [top]  # she moderates
    assert top == {"user": BEN, "name": top["name"], "votes": 1}
    assert f"Top voters only those who show their name Top voters Voter Votes {top['name']} 1" in words(
        ada.page(HERE)
    )
    assert top["name"] not in ada.get(f"{HERE}.csv").text

    assert "Nobody sees your name among top voters any more." in words(
        ben.acted("/me/naming", {"name": "off"})
    )
    assert ada.get(f"{HERE}.json").json()["top_voters"] == []
    assert top["name"] not in ada.page(HERE)


@pytest.mark.usefixtures("voted")
def test_the_choice_is_part_of_what_is_known_of_a_person(gateway: PeopleGateway) -> None:
    ben = gateway.person(BEN)
    ben.acted("/me/naming", {"name": "on"})
    assert ben.get("/me/data.json").json()["account"]["naming"] == {"set_ms": gateway.clock.now_ms()}
    ben.acted("/me/naming", {"name": "off"})


def test_the_counts_that_a_bot_pushes_stand_beside_its_votes(voted: PeopleGateway, ada: Person) -> None:
    assert "the highest count pushed each day" not in ada.page(HERE)
    key = voted.done("POST", f"/manage/bots/{READY}/keys", {"name": "main"})["key"]
    for day in ({"server_count": 40, "command_count": 7}, {"server_count": 43}):
        voted.clock.advance(DAY_SECONDS)
        voted.done("PUT", f"/manage/bots/{READY}/actual-server-count", {"server_count": 41})
        assert voted.stats(key, day, READY).status_code == 200
        assert voted.stats(key, {"server_count": 5}, READY).status_code == 200
    pushes = ada.get(f"{HERE}.json").json()["pushes"]
    assert [(each["server_count"], each["command_count"]) for each in pushes] == [(40, 7), (43, 7)]
    page = ada.page(HERE)
    assert page.count("<figure") == 3
    assert ": 43 servers</span>" in page
    assert "Servers Day Servers Commands" in words(page)
    lines = list(csv.reader(io.StringIO(ada.get(f"{HERE}.csv").text)))
    assert [line[0] for line in lines[-4:]] == ["server_count", "command_count"] * 2
    assert lines[-2:] == [["server_count", pushes[1]["day"], "43"], ["command_count", pushes[1]["day"], "7"]]
