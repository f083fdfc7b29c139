"""Vote removals: moderators remove votes of a listing, its counts follow, and its owner learns the reason."""

import json
from typing import Any

import pytest

from core.clock import day_of, month_of
from core.events import Event, VoteCast, VoteFlagged
from kinds.bots import BOTS
from tests.support.contract import BOT_PATH, Served, arrive, refusal, set_webhook, users, wrong_fields
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_USER,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    ThreadGateway,
)
from tests.support.people import signed_in
from tests.support.webhook_receiver import Receiver

SERVER_PATH = f"/manage/servers/{SERVER}"
REASON = "Accounts of one person."
BOT_REF = BOTS.prefix + BOT
DAY_MS = 86_400_000


@pytest.fixture(params=[BOT_PATH, SERVER_PATH], ids=["bot", "server"])
def path(request: pytest.FixtureRequest, gateway: ThreadGateway) -> str:
    """An approved listing."""
    path: str = request.param
    if path == BOT_PATH:
        gateway.list_bot()
    else:
        gateway.list_server()
    return path


def strike(gateway: ThreadGateway, path: str, **fields: Any) -> Any:
    """Remove votes. Return the counts of the answer."""
    answer = gateway.done("POST", f"{path}/votes/strike", {"reason": REASON, **fields})
    return {name: answer[name] for name in ("users", "votes", "more")}


def counts(gateway: ThreadGateway, path: str, *users: str) -> list[int]:
    votes = gateway.done("POST", f"{path}/votes/check", {"users": users or [USER, OTHER_USER]})["votes"]
    return [each["vote"] for each in votes]


def in_all(gateway: ThreadGateway, path: str) -> tuple[int, int, int]:
    """Return the votes of all time, of this month and of today."""
    ref, now_ms = path.removeprefix("/manage/"), gateway.clock.now_ms()
    of = gateway.gateway.ledger.state.vote_counts
    return gateway.on_loop(
        lambda: (of.total(ref), of.in_month(ref, month_of(now_ms)), of.days(ref).get(day_of(now_ms), 0))
    )


def commit(gateway: ThreadGateway, *events: Event) -> None:
    gateway.on_loop(lambda: gateway.gateway.ledger.commit(events))


def cast(*voters: str, at_ms: int) -> list[VoteCast]:
    numbers = range(1, len(voters) + 1)
    return [
        VoteCast(BOT_REF, user, 1, at_ms, of_day=number, of_month=number)
        for number, user in zip(numbers, voters, strict=True)
    ]


def test_all_votes_of_the_users_go_and_the_counts_follow(gateway: ThreadGateway, path: str) -> None:
    gateway.cast(path=path)
    gateway.clock.advance_ms(DAY_MS)
    gateway.cast(path=path)
    gateway.cast(OTHER_USER, path)
    assert in_all(gateway, path)[0] == 3

    assert strike(gateway, path, users=[USER, USER]) == {"users": 1, "votes": 2, "more": False}

    assert counts(gateway, path) == [0, 1]
    assert in_all(gateway, path)[0] == in_all(gateway, path)[2] == 1
    assert strike(gateway, path, users=[USER]) == {"users": 0, "votes": 0, "more": False}
    gateway.restart()
    assert counts(gateway, path) == [0, 1]
    assert in_all(gateway, path)[2] == 1


def test_a_vote_check_says_that_the_user_has_never_voted(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    gateway.cast()
    strike(gateway, BOT_PATH, users=[USER])
    assert gateway.voters(key).json() == {"voted": False, "vote": 0, "lastVote": None}


def test_a_dry_run_changes_nothing(gateway: ThreadGateway, path: str) -> None:
    gateway.cast(path=path)
    before = gateway.digest()
    assert strike(gateway, path, users=[USER], dry_run=True) == {"users": 1, "votes": 1, "more": False}
    assert gateway.digest() == before


def test_flagged_votes_are_removed(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    gateway.cast(OTHER_USER)
    assert strike(gateway, BOT_PATH, flagged=True) == {"users": 0, "votes": 0, "more": False}
    commit(gateway, VoteFlagged(BOT_REF, OTHER_USER, "burst", "f1", gateway.clock.now_ms()))
    assert strike(gateway, BOT_PATH, flagged=True) == {"users": 1, "votes": 1, "more": False}
    assert counts(gateway, BOT_PATH) == [1, 0]


def test_the_votes_of_a_period_are_removed_to_the_millisecond(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    now_ms, four = gateway.clock.now_ms(), users(4)
    commit(gateway, *(cast(user, at_ms=now_ms + at)[0] for at, user in enumerate(four)))
    assert strike(gateway, BOT_PATH, since=now_ms + 1, until=now_ms + 2)["users"] == 2
    assert counts(gateway, BOT_PATH, *four) == [1, 0, 0, 1]
    gateway.clock.advance_ms(2)
    assert strike(gateway, BOT_PATH, since=0)["users"] == 1, "up to now"
    assert counts(gateway, BOT_PATH, *four) == [0, 0, 0, 1]


def test_a_call_takes_a_bounded_number_of_users_and_says_that_there_are_more(
    gateway: ThreadGateway,
) -> None:
    gateway.list_bot()
    many = users(1_200)
    commit(gateway, *cast(*many, at_ms=gateway.clock.now_ms()))
    assert in_all(gateway, BOT_PATH) == (1_200, 1_200, 1_200)

    assert strike(gateway, BOT_PATH, since=0) == {"users": 1_000, "votes": 1_000, "more": True}
    assert in_all(gateway, BOT_PATH) == (200, 200, 200)
    gateway.clock.advance_ms(1)
    assert strike(gateway, BOT_PATH, since=0) == {"users": 200, "votes": 200, "more": False}
    assert in_all(gateway, BOT_PATH) == (0, 0, 0)
    acts = gateway.done("GET", f"{BOT_PATH}/history")["history"]
    assert [act["about"] for act in acts if act["deed"] == "votes_struck"] == [REASON, REASON], "one a call"
    digest = gateway.digest()
    gateway.restart()
    assert gateway.digest() == digest


@pytest.mark.parametrize(("path", "kind"), [(BOT_PATH, "bot"), (SERVER_PATH, "guild")])
def test_an_endpoint_that_takes_the_event_gets_user_and_reason(
    gateway: ThreadGateway, receiver: Receiver, path: str, kind: str
) -> None:
    gateway.list_bot()
    gateway.list_server()
    gateway.cast(path=path)
    set_webhook(gateway, receiver.url, path, events=["vote.struck", "vote"])

    strike(gateway, path, users=[USER, OTHER_USER])

    arrive(gateway, receiver, 1)
    (sent,) = receiver.received
    its_id, now_ms = path.rpartition("/")[2], gateway.clock.now_ms()
    assert json.loads(sent.body) == {
        "type": "vote.struck",
        kind: its_id,
        "user": USER,
        "at": now_ms,
        "reason": REASON,
    }


def test_an_endpoint_that_takes_only_votes_gets_no_event(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    gateway.cast()
    set_webhook(gateway, receiver.url)
    strike(gateway, BOT_PATH, users=[USER])
    assert gateway.done("GET", f"{BOT_PATH}/webhook/deliveries")["deliveries"] == []


def test_the_owner_has_a_notice(gateway: ThreadGateway, path: str) -> None:
    owner = (BOT_SUBMISSION if path == BOT_PATH else SERVER_SUBMISSION)["owner_id"]
    commit(gateway, signed_in(owner, "d" * 64))
    gateway.cast(path=path)
    gateway.clock.advance_ms(1)
    strike(gateway, path, users=[USER])
    notice = gateway.done("GET", f"/manage/users/{owner}/notices")["notices"][0]
    assert (notice["deed"], notice["about"], notice["by"]) == ("votes_struck", REASON, "operator")


def test_the_cooldown_of_a_removed_vote_runs_on(gateway: ThreadGateway, path: str) -> None:
    gateway.cast(path=path)
    gateway.clock.advance_ms(DAY_MS - 1)
    strike(gateway, path, users=[USER])
    again = gateway.operate("POST", f"{path}/votes", {"user": USER})
    assert (again.status_code, again.headers["retry-after"]) == (409, "1")
    gateway.clock.advance_ms(1)
    assert gateway.cast(path=path)["vote"] == 1


def test_a_removal_is_in_the_feed_of_votes(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    begin = gateway.done("GET", "/manage/votes?after=now")["next"]
    gateway.cast()
    strike(gateway, BOT_PATH, users=[USER])
    lines = gateway.done("GET", f"/manage/votes?after={begin}")["votes"]
    assert [(each["type"], each["id"], each["user"]) for each in lines] == [("struck", BOT, USER)]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, {"users"}),
        ({"users": []}, {"users"}),
        ({"users": [USER], "flagged": True}, {"users"}),
        ({"flagged": True, "since": 1}, {"users"}),
        ({"users": [USER], "until": 1}, {"users"}),
        ({"until": 1}, {"users"}),
        ({"users": ["1"]}, {"users"}),
        ({"users": [USER] * 1_001}, {"users"}),
        ({"since": -1}, {"since"}),
        ({"users": [USER], "reason": ""}, {"reason"}),
        ({"users": [USER], "reason": "x" * 513}, {"reason"}),
    ],
)
def test_a_request_that_selects_no_votes_or_has_no_reason_is_400(
    served: Served, body: dict[str, Any], wrong: set[str]
) -> None:
    before = served.digest()
    answer = served.operate("POST", f"{BOT_PATH}/votes/strike", {"reason": REASON, **body})
    assert {name.partition(".")[0] for name in wrong_fields(answer)} == wrong
    assert served.digest() == before


@pytest.mark.parametrize("kind", ["bots", "servers"])
def test_votes_of_an_unknown_listing_are_404(served: Served, kind: str) -> None:
    answer = served.operate("POST", f"/manage/{kind}/{'9' * 18}/votes/strike", {"reason": REASON})
    assert refusal(answer) == (404, "There is no such listing.")
