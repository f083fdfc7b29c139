"""pages/voting/vote_challenges.py: suspicious votes on a real gateway, and wrong solutions."""

import asyncio
import base64
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from altcha import Challenge, Payload, solve_challenge
from hypothesis import assume, given
from hypothesis import strategies as st

from pages.voting import vote_challenges
from pages.voting.vote_challenges import VoteChallenges
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock
from tests.support.gateways import BOT, OTHER_BOT
from tests.support.owned_listings import list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, EMIL

VOTE, OTHER_VOTE = f"/bots/{BOT}/vote", f"/bots/{OTHER_BOT}/vote"
HOUR = 3_600


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"votes.accounts_per_address": 2}


@pytest.fixture(scope="module", autouse=True)
def _little_work() -> Iterator[None]:
    """Let a proof take milliseconds: tests/browser has a browser that does the whole work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_challenges, "COST", 20)
        yield


@pytest.fixture
def crowd(gateway: PeopleGateway) -> PeopleGateway:
    """Two accounts have voted from this address a moment ago."""
    gateway.clock.advance(24 * HOUR)
    for bot in (BOT, OTHER_BOT):
        list_bot(gateway, bot, owner=ADA, decision="approve")
    for user in (ADA, DAN):
        gateway.person(user).acted(VOTE)
    return gateway


def challenge_of(person: Person, path: str = VOTE) -> dict[str, Any]:
    found = re.search('data-challenge="([^"]*)"', person.page(path))
    assert found
    challenge: dict[str, Any] = json.loads(unescape(found[1]))
    return challenge


def solved(challenge: dict[str, Any]) -> str:
    """The solution that the script of the page sends."""
    read = Challenge.from_dict(challenge)
    solution = solve_challenge(read)
    assert solution is not None
    return Payload(read, solution).to_base64()


def flagged(gateway: PeopleGateway, bot: str = BOT) -> list[tuple[str, str]]:
    """The flagged users with their rules, the newest first, from the page of moderators."""
    shown = gateway.person(CLEO).get("/review/votes.json").json()["flags"]
    return [
        (each["by"].removeprefix("users/"), each["rule"]) for each in shown if each["ref"] == f"bots/{bot}"
    ]


def test_accounts_below_the_bound_are_asked_for_nothing(crowd: PeopleGateway) -> None:
    assert flagged(crowd) == []
    page = crowd.person(ADA).get(OTHER_VOTE)
    assert "data-challenge" not in page.text
    assert "altcha" not in page.text
    assert "worker" not in page.headers["Content-Security-Policy"]


def test_one_account_more_from_the_address_proves_work_and_is_flagged(crowd: PeopleGateway) -> None:
    ben = crowd.person(BEN)
    page = ben.get(VOTE)
    assert "Many accounts vote from your address" in words(page.text)
    assert "challenge.js" in page.text
    policy = page.headers["Content-Security-Policy"]
    assert policy.endswith("trusted-types votegate votegate-worker")
    assert ben.get(f"{VOTE}.json").json()["is_challenged"] is True

    answer = ben.post(VOTE, {"altcha": solved(challenge_of(ben))})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{VOTE}?from=vote")
    assert "You have voted already" in ben.page(VOTE)
    assert flagged(crowd) == [(BEN, "crowded_address")]


def test_a_vote_without_the_work_is_not_counted_and_says_so(crowd: PeopleGateway) -> None:
    ben = crowd.person(BEN)
    for form in ({}, {"altcha": "nonsense"}, {"altcha": "e30="}):
        answer = ben.post(VOTE, form)
        assert answer.status_code == 403
        assert "Your vote was not counted." in words(answer.text)
        assert "data-challenge" in answer.text
    assert flagged(crowd) == []


def test_without_script_the_page_says_from_when_on_it_works(crowd: PeopleGateway) -> None:
    ben = crowd.person(BEN)
    assert "Without script you can vote at" in words(ben.page(VOTE))
    crowd.clock.advance(HOUR)
    assert "Thank you" in ben.acted(VOTE)
    assert flagged(crowd) == []


def test_a_solution_is_for_one_user_one_listing_and_once(crowd: PeopleGateway) -> None:
    ben, emil = crowd.person(BEN), crowd.person(EMIL)
    solution = solved(challenge_of(ben))
    assert emil.post(VOTE, {"altcha": solution}).status_code == 403
    assert ben.post(OTHER_VOTE, {"altcha": solution}).status_code == 403
    assert ben.post(VOTE, {"altcha": solution}).status_code == 303
    list_bot(crowd, BOT, owner=ADA, decision="approve")  # without votes again
    late = ben.post(VOTE, {"altcha": solution})
    assert late.status_code == 403
    assert "used already" in words(late.text)


def test_a_solution_is_late_after_five_minutes(crowd: PeopleGateway) -> None:
    ben = crowd.person(BEN)
    solution = solved(challenge_of(ben))
    crowd.clock.advance(300)
    late = ben.post(VOTE, {"altcha": solution})
    assert late.status_code == 403
    assert "more than 5 minutes old" in words(late.text)
    assert ben.post(VOTE, {"altcha": solved(challenge_of(ben))}).status_code == 303


def test_who_may_not_vote_is_not_asked_to_work(crowd: PeopleGateway) -> None:
    crowd.cast(BEN)
    page = crowd.person(BEN).get(VOTE)
    assert "data-challenge" not in page.text
    assert "You can vote again in" in words(page.text)


# -- Other settings ---------------------------------------------------------------------------------------


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[PeopleGateway]:
    own = {"votes.burst_per_minute": 2, "votes.challenge": False, "votes.per_minute_of_address": 6}
    with serving(tmp_path, **own) as gateway:
        list_bot(gateway, BOT, owner=ADA, decision="approve")
        yield gateway


def test_without_challenges_a_burst_is_flagged_and_counted(strict: PeopleGateway) -> None:
    people = [strict.person(user) for user in (ADA, BEN, CLEO, DAN)]
    for person in people[:3]:
        assert "Thank you" in person.acted(VOTE)
    assert flagged(strict) == [(CLEO, "burst")]
    strict.clock.advance(60)
    assert "Thank you" in people[3].acted(VOTE)
    assert flagged(strict) == [(CLEO, "burst")]


def test_an_address_that_presses_too_often_waits_whoever_it_is(strict: PeopleGateway) -> None:
    ada, ben = strict.person(ADA), strict.person(BEN)
    assert [ada.post(VOTE).status_code for _ in range(6)] == [303, *[409] * 5]
    assert ben.post(VOTE).status_code == 429
    strict.clock.advance(60)
    assert ben.post(VOTE).status_code == 303


def test_an_account_that_is_too_young_reads_from_when_on_it_may_vote(tmp_path: Path) -> None:
    with serving(tmp_path, **{"votes.min_account_days": 3_650}) as gateway:
        list_bot(gateway, BOT, owner=ADA, decision="approve")
        ben = gateway.person(BEN)
        page = ben.page(VOTE)
        assert "You cannot vote now" in words(page)
        assert re.search(
            r"Your account is too young to vote here. You can vote in \d+ days?.* at \w+ \d+, \d+, ",
            words(page),
        )
        assert f'action="{VOTE}"' not in page
        assert ben.post(VOTE).status_code == 403
        assert gateway.cast(BEN)["vote"] == 1  # the operator's own site has its own guards


# -- Solutions that are none ------------------------------------------------------------------------------


def judged(challenges: VoteChallenges, solution: str, user: str = BEN) -> str:
    return asyncio.run(challenges.judge(solution, f"bots/{BOT}", user))


@examples(60)
@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda some: base64.b64encode(some).decode()))
def test_odd_input_solves_nothing(text: str) -> None:
    assert judged(VoteChallenges(b"a secret", FakeClock()), text) == "wrong"


odd = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@examples(60)
@given(
    st.sampled_from(["counter", "derivedKey", "signature", "cost", "nonce", "salt", "data", "keyPrefix"]), odd
)
def test_a_solution_with_a_changed_part_is_wrong(name: str, value: object) -> None:
    challenges = VoteChallenges(b"a secret", FakeClock())
    challenge = json.loads(asyncio.run(challenges.new(f"bots/{BOT}", BEN)))
    sent = json.loads(base64.b64decode(solved(challenge)))
    parts = (sent["solution"], sent["challenge"], sent["challenge"]["parameters"])
    part = next(each for each in parts if name in each)
    assume(part[name] != value)
    part[name] = value
    assert judged(challenges, base64.b64encode(json.dumps(sent).encode()).decode()) == "wrong"


def test_a_challenge_of_another_deployment_is_wrong() -> None:
    ours, theirs = VoteChallenges(b"a secret", FakeClock()), VoteChallenges(b"another", FakeClock())
    solution = solved(json.loads(asyncio.run(theirs.new(f"bots/{BOT}", BEN))))
    assert judged(ours, solution) == "wrong"
    assert judged(theirs, solution) == "solved"
    assert judged(theirs, solution) == "late"


def test_the_memory_of_used_solutions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote_challenges, "USED_KEPT", 3)
    challenges = VoteChallenges(b"a secret", FakeClock())
    for _ in range(6):
        assert (
            judged(challenges, solved(json.loads(asyncio.run(challenges.new(f"bots/{BOT}", BEN)))))
            == "solved"
        )
        assert len(challenges._used) <= 3
