"""pages/review/votes.py: moderators strike votes of a listing out, on a whole gateway."""

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
import requests

from tests.support.gateways import BOT, SERVER
from tests.support.owned_listings import list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, EMIL

HERE, VOTE = f"/review/bots/{BOT}/votes", f"/bots/{BOT}/vote"
REASON = "Accounts of <one> person."


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"votes.accounts_per_address": 1, "votes.challenge": False, "web.moderators": f"{CLEO},{DAN}"}


@pytest.fixture
def crowd(gateway: PeopleGateway) -> PeopleGateway:
    """Dan, Ben and Emil have voted from this address, so the votes of the last two are flagged."""
    gateway.clock.advance(86_400)
    list_bot(gateway, BOT, owner=ADA, decision="approve")
    for user in (DAN, BEN, EMIL):
        gateway.clock.advance(60)
        gateway.person(user).acted(VOTE)
    return gateway


def shown(gateway: PeopleGateway) -> Any:
    return gateway.person(CLEO).get(f"{HERE}.json").json()


def voted(gateway: PeopleGateway) -> dict[str, int]:
    body = {"users": [DAN, BEN, EMIL]}
    votes = gateway.done("POST", f"/manage/bots/{BOT}/votes/check", body)["votes"]
    return {each["user"]: each["vote"] for each in votes}


def hidden(answer: requests.Response) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', answer.text)
    return {name: unescape(value) for name, value in found}


def alert(answer: requests.Response) -> str:
    return words(answer.text.partition('role="alert"')[2].partition("</div>")[0])


def test_flagged_votes_that_are_ticked_are_counted_then_struck_out(crowd: PeopleGateway) -> None:
    cleo = crowd.person(CLEO)
    assert f'href="{HERE}"' in cleo.page("/review/votes")
    assert f'href="{HERE}"' in cleo.page(f"/review/bots/{BOT}")
    before = shown(crowd)
    assert (before["votes"], before["voters"], before["struck"]) == (3, 3, 0)
    assert [(each["by"], each["votes"]) for each in before["flags"]] == [
        (f"users/{EMIL}", 1),
        (f"users/{BEN}", 1),
    ]
    page = cleo.page(HERE)
    assert page.count('name="users"') == 2

    question = cleo.post(HERE, {"users": [BEN, EMIL], "reason": REASON})
    assert question.status_code == 200
    said = words(question.text)
    assert "2 votes, 2 voters" in said
    assert unescape(said).count(REASON) == 1
    assert voted(crowd) == {DAN: 1, BEN: 1, EMIL: 1}

    answer = cleo.post(HERE, hidden(question))
    assert (answer.status_code, answer.headers["Location"]) == (303, HERE)
    assert voted(crowd) == {DAN: 1, BEN: 0, EMIL: 0}
    assert "They are removed. The owner of the listing reads why." in cleo.page(answer.headers["Location"])
    after = shown(crowd)
    assert (after["votes"], after["voters"], after["struck"]) == (1, 1, 2)
    assert [each["votes"] for each in after["flags"]] == [0, 0]
    assert 'name="users"' not in cleo.page(HERE)


def test_the_owner_reads_why(crowd: PeopleGateway) -> None:
    cleo, ada = crowd.person(CLEO), crowd.person(ADA)
    cleo.post(HERE, hidden(cleo.post(HERE, {"ids": f" {BEN},\n{EMIL} ", "reason": REASON})))
    assert voted(crowd) == {DAN: 1, BEN: 0, EMIL: 0}
    notices = unescape(words(ada.page("/me/notices")))
    assert f"Votes for Test bot were removed: {REASON}" in notices
    assert "votes removed" in words(ada.page(f"/bots/{BOT}/manage"))
    (act, *_) = crowd.done("GET", f"/manage/bots/{BOT}/history")["history"]
    assert (act["deed"], act["by"], act["about"]) == ("votes_struck", f"users/{CLEO}", REASON)


def field(at_ms: int) -> str:
    """A time as a browser sends it."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def test_votes_within_a_time_are_struck_out(crowd: PeopleGateway) -> None:
    cleo, now_ms = crowd.person(CLEO), crowd.clock.now_ms()
    time = {"since": field(now_ms - 60_000), "until": field(now_ms - 1_000)}
    question = cleo.post(HERE, {**time, "reason": REASON})
    assert "1 vote, 1 voter" in words(question.text)
    assert cleo.post(HERE, hidden(question)).status_code == 303
    assert voted(crowd) == {DAN: 1, BEN: 0, EMIL: 1}
    cleo.post(HERE, hidden(cleo.post(HERE, {"since": field(now_ms - 600_000), "reason": REASON})))
    assert voted(crowd) == {DAN: 0, BEN: 0, EMIL: 0}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": REASON}, "IDs of voters : Choose users, the flagged votes or a time: one of the three."),
        ({"ids": BEN, "since": "2026-01-01T00:00", "reason": REASON}, "one of the three"),
        ({"ids": BEN}, "Reason : Fill this in."),
        ({"ids": "me", "reason": REASON}, "IDs of voters : Enter the ID: 17 to 20 digits"),
        ({"since": "yesterday", "reason": REASON}, "From (UTC) : Write a time such as 2026-01-31T18:00."),
        ({"ids": CLEO, "reason": REASON}, "Nothing matches this. Nothing is removed."),
        (
            {"until": "2026-01-01T00:00", "ids": BEN, "reason": REASON},
            "Choose the beginning of the time, too.",
        ),
    ],
)
def test_a_form_that_means_no_votes_is_shown_again(
    crowd: PeopleGateway, fields: dict[str, str], said: str
) -> None:
    answer = crowd.person(CLEO).post(HERE, fields)
    assert answer.status_code == 400
    assert said in unescape(alert(answer))
    for name in {"ids", "since", "until"} & fields.keys():
        assert fields[name] in answer.text
    assert voted(crowd) == {DAN: 1, BEN: 1, EMIL: 1}


def test_nobody_strikes_out_votes_of_a_listing_of_their_own(crowd: PeopleGateway) -> None:
    list_bot(crowd, BOT, owner=ADA, extra=[DAN], decision="approve")
    crowd.clock.advance(86_400)
    crowd.person(BEN).acted(VOTE)
    dan = crowd.person(DAN)
    assert "Another moderator decides about it." in dan.page(HERE)
    answer = dan.post(HERE, {"ids": BEN, "reason": REASON, "sure": "yes"})
    assert answer.status_code == 403
    assert "Another moderator decides about it." in alert(answer)
    assert voted(crowd)[BEN] == 1


def test_a_struck_vote_does_not_give_a_second_one(crowd: PeopleGateway) -> None:
    crowd.person(CLEO).post(HERE, {"ids": BEN, "reason": REASON, "sure": "yes"})
    ben = crowd.person(BEN)
    assert "Your last vote does not count any more: a moderator removed it" in words(ben.page(VOTE))
    again = ben.post(VOTE)
    assert again.status_code == 409
    assert alert(again).endswith("Your vote was not counted.")
    assert "a moderator removed it" in words(again.text)
    dan = crowd.person(DAN)
    assert "You have voted already" in words(dan.post(VOTE).text)
    assert "does not count any more" not in dan.page(VOTE)
    crowd.clock.advance(86_400)
    crowd.person(BEN).acted(VOTE)
    assert voted(crowd)[BEN] == 1


@pytest.mark.parametrize("path", ["bots/1", "cats/" + BOT, "servers/" + SERVER])
def test_what_is_not_there_is_404(crowd: PeopleGateway, path: str) -> None:
    cleo = crowd.person(CLEO)
    for method, end in (("GET", "votes"), ("GET", "votes.json"), ("POST", "votes")):
        assert cleo.request(method, f"/review/{path}/{end}").status_code == 404
