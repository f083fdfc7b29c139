"""GET /bots/{id}/voters/{user_id}"""

import pytest

from tests.support.contract import BOT_NOT_FOUND, MALFORMED_IDS, Served, refusal
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, SERVER, USER, ThreadGateway

DAY_MS = 24 * 60 * 60 * 1_000
NEVER = {"voted": False, "vote": 0, "lastVote": None}
EDGES_OF_SNOWFLAKES = ["1" + "0" * 16, "18446744073709551615"]


def vote(gateway: ThreadGateway, user: str = USER) -> int:
    """Casts a vote; returns when, in Unix milliseconds."""
    gateway.cast(user)
    return gateway.clock.now_ms()


def test_a_user_who_never_voted_has_0_votes_and_no_last_vote(gateway: ThreadGateway, key: str) -> None:
    response = gateway.voters(key)

    assert (response.status_code, response.json()) == (200, NEVER)
    assert response.headers["content-type"] == "application/json"


def test_the_status_of_a_user_who_voted_has_the_count_and_the_time_in_milliseconds(
    gateway: ThreadGateway, key: str
) -> None:
    voted_ms = vote(gateway)

    response = gateway.voters(key)

    assert (response.status_code, response.json()) == (200, {"voted": True, "vote": 1, "lastVote": voted_ms})


def test_a_vote_counts_as_voted_until_24_hours_have_passed_to_the_millisecond(
    gateway: ThreadGateway, key: str
) -> None:
    voted_ms = vote(gateway)

    gateway.clock.advance_ms(DAY_MS - 1)
    assert gateway.voters(key).json() == {"voted": True, "vote": 1, "lastVote": voted_ms}

    gateway.clock.advance_ms(1)
    assert gateway.voters(key).json() == {"voted": False, "vote": 1, "lastVote": voted_ms}


def test_the_count_is_cumulative_over_all_time(gateway: ThreadGateway, key: str) -> None:
    for _ in range(3):
        voted_ms = vote(gateway)
        gateway.clock.advance_ms(DAY_MS)
    gateway.advance(365 * 86_400)

    assert gateway.voters(key).json() == {"voted": False, "vote": 3, "lastVote": voted_ms}


def test_last_vote_is_the_latest_one(gateway: ThreadGateway, key: str) -> None:
    first_ms = vote(gateway)
    gateway.clock.advance_ms(DAY_MS)
    latest_ms = vote(gateway)

    assert latest_ms == first_ms + DAY_MS
    assert gateway.voters(key).json() == {"voted": True, "vote": 2, "lastVote": latest_ms}


def test_votes_for_another_bot_and_of_another_user_do_not_count(gateway: ThreadGateway, key: str) -> None:
    other_key = gateway.list_bot(OTHER_BOT)

    vote(gateway)

    assert gateway.voters(key, user=OTHER_USER).json() == NEVER
    assert gateway.voters(other_key, bot=OTHER_BOT).json() == NEVER


def test_votes_for_a_server_with_the_bots_id_do_not_count(gateway: ThreadGateway, key: str) -> None:
    gateway.list_server(BOT)

    gateway.cast(path=f"/manage/servers/{BOT}")

    assert gateway.voters(key).json() == NEVER


def test_votes_survive_a_restart(gateway: ThreadGateway, key: str) -> None:
    voted_ms = vote(gateway)

    gateway.restart(seconds_down=60)

    assert gateway.voters(key).json() == {"voted": True, "vote": 1, "lastVote": voted_ms}


@pytest.mark.parametrize("user", EDGES_OF_SNOWFLAKES)
def test_an_unknown_but_well_formed_user_has_never_voted(served: Served, user: str) -> None:
    response = served.voters(user=user)

    assert (response.status_code, response.json()) == (200, NEVER)


@pytest.mark.parametrize("user", EDGES_OF_SNOWFLAKES)
def test_users_at_the_edges_of_snowflakes_can_vote(gateway: ThreadGateway, key: str, user: str) -> None:
    voted_ms = vote(gateway, user)

    assert gateway.voters(key, user=user).json() == {"voted": True, "vote": 1, "lastVote": voted_ms}


@pytest.mark.parametrize("user", MALFORMED_IDS.values(), ids=MALFORMED_IDS)
def test_a_malformed_user_id_is_400(served: Served, user: str) -> None:
    assert refusal(served.voters(user=user)) == (
        400,
        "The user id must be a snowflake: 17 to 20 digits.",
    )


@pytest.mark.parametrize("bot", [OTHER_BOT, *MALFORMED_IDS.values()], ids=["unknown", *MALFORMED_IDS])
def test_an_id_of_no_bot_is_404(served: Served, bot: str) -> None:
    assert refusal(served.voters(bot=bot)) == BOT_NOT_FOUND


@pytest.mark.parametrize("bot", EDGES_OF_SNOWFLAKES)
def test_a_bot_id_has_17_to_20_digits(gateway: ThreadGateway, bot: str) -> None:
    key = gateway.list_bot(bot)

    assert gateway.voters(key, bot=bot).json() == NEVER


def test_a_server_is_no_bot(gateway: ThreadGateway, key: str) -> None:
    gateway.list_server()

    assert refusal(gateway.voters(key, bot=SERVER)) == BOT_NOT_FOUND


def test_a_head_request_is_answered_like_a_get_without_the_body(served: Served) -> None:
    path, headers = f"/bots/{BOT}/voters/{USER}", {"Authorization": served.key}

    response = served.gateway.request("HEAD", path, headers=headers)

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(served.voters().content))


def test_the_same_path_without_a_user_is_no_endpoint(served: Served) -> None:
    response = served.gateway.request("GET", f"/bots/{BOT}/voters/", headers={"Authorization": served.key})

    assert refusal(response) == (404, "Not found.")
