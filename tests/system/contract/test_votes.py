"""Votes as the management view casts, checks and forgets them."""

from collections.abc import Iterator
from typing import Any

import pytest
from requests import Response

from core.events import VoteCast
from core.state import State
from tests.support.contract import (
    BOT_PATH,
    Served,
    attempted,
    deliveries,
    pending,
    refusal,
    set_webhook,
    wrong_fields,
)
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OTHER_USER,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    ThreadGateway,
)
from tests.support.webhook_receiver import Receiver, status
from votes import queries
from votes import queries as votes_search
from votes.queries import refs_that_know

SERVER_PATH = f"/manage/servers/{SERVER}"
UNKNOWN = "9" * 18
DAY_MS = 24 * 60 * 60 * 1_000
MALFORMED_USERS: list[Any] = ["1" * 16, "1" * 21, "18446744073709551616", "0" * 18, "１" * 18, "", 5, None]


@pytest.fixture(params=[BOT_PATH, SERVER_PATH], ids=["bot", "server"])
def path(gateway: ThreadGateway, request: pytest.FixtureRequest) -> str:
    """The management path of an approved bot, and of an approved server."""
    gateway.list_bot()
    gateway.list_server()
    listing: str = request.param
    return listing


def vote(gateway: ThreadGateway, path: str, user: Any = USER) -> Response:
    return gateway.operate("POST", f"{path}/votes", {"user": user})


def check(gateway: ThreadGateway, path: str, *users: str) -> Any:
    return gateway.done("POST", f"{path}/votes/check", {"users": users})["votes"]


def test_a_vote_is_201_with_the_count_its_time_and_when_the_next_is_due(
    gateway: ThreadGateway, path: str
) -> None:
    now_ms = gateway.clock.now_ms()

    response = vote(gateway, path)

    assert response.status_code == 201
    assert response.json() == {"success": True, "vote": 1, "lastVote": now_ms, "nextVoteAt": now_ms + DAY_MS}


def test_a_user_has_one_vote_a_listing_in_24_hours_to_the_millisecond(
    gateway: ThreadGateway, path: str
) -> None:
    first = vote(gateway, path).json()

    gateway.clock.advance_ms(DAY_MS - 1)
    assert vote(gateway, path).status_code == 409

    gateway.clock.advance_ms(1)
    again = vote(gateway, path)
    assert (again.status_code, again.json()["vote"]) == (201, 2)
    assert again.json()["lastVote"] == first["nextVoteAt"]


@pytest.mark.parametrize(("passed_ms", "left"), [(0, 86_400), (1, 86_400), (1_000, 86_399), (DAY_MS - 1, 1)])
def test_voting_too_early_is_409_with_the_time_left(
    gateway: ThreadGateway, path: str, passed_ms: int, left: int
) -> None:
    first = vote(gateway, path).json()
    gateway.clock.advance_ms(passed_ms)

    response = vote(gateway, path)

    assert response.status_code == 409
    assert response.json() == {
        "success": False,
        "error": f"This user can vote again in {left} seconds.",
        "status": 409,
        "code": "voted_too_soon",
        "nextVoteAt": first["nextVoteAt"],
    }
    assert response.headers["retry-after"] == str(left)


def test_a_refused_vote_changes_nothing(gateway: ThreadGateway, path: str) -> None:
    first = vote(gateway, path).json()
    gateway.clock.advance_ms(1_000)

    vote(gateway, path)

    assert check(gateway, path, USER)[0]["lastVote"] == first["lastVote"]
    assert check(gateway, path, USER)[0]["vote"] == 1


def test_users_and_listings_have_cooldowns_of_their_own(gateway: ThreadGateway, path: str) -> None:
    gateway.list_bot(OTHER_BOT)

    votes = [vote(gateway, path), vote(gateway, path, OTHER_USER), vote(gateway, f"/manage/bots/{OTHER_BOT}")]

    assert [response.status_code for response in votes] == [201, 201, 201]


@pytest.mark.parametrize(
    ("root", "submission"), [("/manage/bots", BOT_SUBMISSION), ("/manage/servers", SERVER_SUBMISSION)]
)
def test_a_listing_that_is_not_approved_cannot_be_voted_for(
    gateway: ThreadGateway, root: str, submission: dict[str, Any]
) -> None:
    listing = f"{root}/{submission['id']}"
    refused = (409, "Only an approved listing can be voted for.")
    gateway.done("POST", root, submission)
    assert refusal(vote(gateway, listing)) == refused

    gateway.done("POST", f"{listing}/deny", {"reason": "Not yet"})

    assert refusal(vote(gateway, listing)) == refused
    assert check(gateway, listing, USER)[0]["vote"] == 0


@pytest.mark.parametrize("path", [BOT_PATH, SERVER_PATH], ids=["bot", "server"])
@pytest.mark.parametrize("user", MALFORMED_USERS, ids=repr)
def test_a_malformed_user_is_400(served: Served, path: str, user: Any) -> None:
    assert wrong_fields(vote(served.gateway, path, user)) == {"user"}


@pytest.mark.parametrize("path", [BOT_PATH, SERVER_PATH], ids=["bot", "server"])
def test_a_vote_without_a_user_is_400(served: Served, path: str) -> None:
    assert wrong_fields(served.operate("POST", f"{path}/votes", {})) == {"user"}


@pytest.mark.parametrize("call", ["votes", "votes/check"])
@pytest.mark.parametrize("listing", [f"/manage/{kind}/{UNKNOWN}" for kind in ("bots", "servers")])
def test_votes_of_an_unknown_listing_are_404(served: Served, listing: str, call: str) -> None:
    response = served.operate("POST", f"{listing}/{call}", {"user": USER})

    assert refusal(response) == (404, "There is no such listing.")


def test_a_check_tells_the_status_of_each_user_in_their_order(gateway: ThreadGateway, path: str) -> None:
    old_ms = vote(gateway, path).json()["lastVote"]
    gateway.clock.advance_ms(DAY_MS)
    new_ms = vote(gateway, path, OTHER_USER).json()["lastVote"]

    answer = gateway.done("POST", f"{path}/votes/check", {"users": [OTHER_USER, "7" * 17, USER]})

    assert answer == {
        "success": True,
        "votes": [
            {"user": OTHER_USER, "voted": True, "vote": 1, "lastVote": new_ms},
            {"user": "7" * 17, "voted": False, "vote": 0, "lastVote": None},
            {"user": USER, "voted": False, "vote": 1, "lastVote": old_ms},
        ],
        "next": None,
    }


@pytest.mark.parametrize("count", [0, 1_000])
def test_up_to_1_000_users_are_checked_at_once(gateway: ThreadGateway, path: str, count: int) -> None:
    users = [str(10**17 + number) for number in range(count)]

    assert [row["user"] for row in check(gateway, path, *users)] == users


@pytest.mark.parametrize("path", [BOT_PATH, SERVER_PATH], ids=["bot", "server"])
@pytest.mark.parametrize("users", [[USER] * 1_001, ["1"], [5], USER, None], ids=lambda users: str(users)[:20])
def test_any_other_list_of_users_is_400(served: Served, path: str, users: Any) -> None:
    response = served.operate("POST", f"{path}/votes/check", {"users": users})

    assert wrong_fields(response) == {"users"}


def test_removing_a_listing_forgets_its_votes(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    gateway.done("DELETE", BOT_PATH)

    gateway.list_bot()

    assert check(gateway, BOT_PATH, USER)[0]["vote"] == 0
    assert vote(gateway, BOT_PATH).status_code == 201


def test_erasing_a_user_forgets_the_users_votes_everywhere(gateway: ThreadGateway, path: str) -> None:
    listings = [path, f"/manage/bots/{OTHER_BOT}"]
    gateway.list_bot(OTHER_BOT)
    for listing in listings:
        gateway.cast(USER, listing)
        gateway.cast(OTHER_USER, listing)

    assert gateway.done("DELETE", f"/manage/users/{USER}") == {"success": True}

    for listing in listings:
        assert [row["vote"] for row in check(gateway, listing, USER, OTHER_USER)] == [0, 1]
        assert vote(gateway, listing).json()["vote"] == 1


def test_erasing_a_user_forgets_the_users_deliveries(gateway: ThreadGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    set_webhook(gateway, receiver.url)
    receiver.answers = [status(500)]
    gateway.cast(USER)
    attempted(gateway, 1)
    gateway.clock.advance_ms(1)
    gateway.cast(OTHER_USER)
    attempted(gateway, 1)

    gateway.done("DELETE", f"/manage/users/{USER}")

    assert [row["user"] for row in deliveries(gateway)] == [OTHER_USER]
    assert pending(gateway) == 0


def test_a_vote_cast_during_an_erasure_for_a_listing_already_searched_is_forgotten_too(
    gateway: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.list_bot()
    gateway.list_bot(OTHER_BOT)
    gateway.cast(USER, f"/manage/bots/{OTHER_BOT}")

    def search(state: State, user: str) -> Iterator[list[str]]:
        for found in refs_that_know(state, user):
            yield found
            if not found:
                gateway.gateway.ledger.commit([VoteCast(f"bots/{BOT}", USER, 1, gateway.clock.now_ms())])

    monkeypatch.setattr(queries, "SLICE_LISTINGS", 1)
    monkeypatch.setattr(votes_search, "refs_that_know", search)
    gateway.done("DELETE", f"/manage/users/{USER}")

    for bot in (BOT, OTHER_BOT):
        assert check(gateway, f"/manage/bots/{bot}", USER)[0]["vote"] == 0


def test_an_erasure_survives_a_restart(gateway: ThreadGateway, path: str) -> None:
    gateway.cast(USER, path)
    gateway.done("DELETE", f"/manage/users/{USER}")

    gateway.restart()

    assert check(gateway, path, USER)[0]["vote"] == 0


def test_erasing_a_user_whom_nobody_knows_succeeds(served: Served) -> None:
    assert served.gateway.done("DELETE", f"/manage/users/{OTHER_USER}") == {"success": True}


def test_erasing_a_malformed_user_is_400(served: Served) -> None:
    assert wrong_fields(served.operate("DELETE", "/manage/users/1")) == {"id"}


def test_a_bot_and_a_server_with_one_id_are_two_listings(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.list_server(BOT)

    gateway.cast(path=f"/manage/servers/{BOT}")

    assert check(gateway, BOT_PATH, USER)[0]["vote"] == 0
    assert check(gateway, f"/manage/servers/{BOT}", USER)[0]["vote"] == 1
