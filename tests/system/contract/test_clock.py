"""The machine's clock is set: facts of wall time are as they are, and nothing else notices."""

from typing import Any

import pytest

from tests.support.contract import BOT_PATH, TOO_MANY, Limit, limit, refusal, set_webhook
from tests.support.gateways import OTHER_USER, USER, ThreadGateway
from tests.support.webhook_receiver import Receiver

HOUR, DAY = 3_600, 86_400
STATS_WINDOW = 7_200
UPDATE = {"command_count": 5}
jumps = pytest.mark.parametrize("jump", [-30 * DAY, -DAY, -HOUR, HOUR, DAY, 30 * DAY])


def status(gateway: ThreadGateway, key: str) -> Any:
    answer = gateway.voters(key)
    assert answer.status_code == 200
    return answer.json()


@jumps
def test_a_vote_counts_by_the_time_of_the_clock_and_as_before_when_that_is_right_again(
    gateway: ThreadGateway, key: str, jump: int
) -> None:
    cast = gateway.cast()
    before = status(gateway, key)

    gateway.set_wall(jump)

    assert status(gateway, key) == {"voted": jump < DAY, "vote": 1, "lastVote": cast["lastVote"]}
    gateway.set_wall(-jump)
    assert status(gateway, key) == before == {"voted": True, "vote": 1, "lastVote": cast["lastVote"]}


@pytest.mark.parametrize("back", [HOUR, DAY, 30 * DAY])
def test_while_the_clock_is_behind_a_vote_is_refused_with_the_wait(
    gateway: ThreadGateway, key: str, back: int
) -> None:
    cast = gateway.cast()
    gateway.set_wall(-back)

    refused = gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER})

    assert refused.status_code == 409
    assert refused.json()["nextVoteAt"] == cast["nextVoteAt"]
    assert refused.headers["retry-after"] == str(DAY + back)
    assert gateway.cast(OTHER_USER)["vote"] == 1, "who has not voted may"
    gateway.advance(DAY + back)
    assert gateway.cast()["vote"] == 2
    assert status(gateway, key)["vote"] == 2


def test_a_vote_of_a_clock_that_was_ahead_counts_until_the_time_that_it_tells(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.set_wall(DAY)
    cast = gateway.cast()
    gateway.set_wall(-DAY)

    assert status(gateway, key) == {"voted": True, "vote": 1, "lastVote": cast["lastVote"]}
    assert gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 409
    gateway.advance(2 * DAY)
    assert status(gateway, key)["voted"] is False
    assert gateway.cast()["vote"] == 2


@jumps
def test_no_limit_notices_that_the_clock_is_set(gateway: ThreadGateway, key: str, jump: int) -> None:
    gateway.voters(key)
    gateway.stats(key, UPDATE)
    gateway.voters("wrong")

    gateway.set_wall(jump)
    gateway.advance(10)

    assert limit(gateway.voters(key)) == Limit(100, 98, 290)
    assert limit(gateway.stats(key, UPDATE)) == Limit(2, 0, STATS_WINDOW - 10)
    assert refusal(gateway.stats(key, UPDATE)) == TOO_MANY
    assert limit(gateway.voters("wrong")) == Limit(300, 298, 290)


@pytest.mark.parametrize("back", [HOUR, DAY, 30 * DAY])
def test_after_a_start_with_a_clock_that_was_set_back_a_bot_waits_for_one_window_at_the_most(
    gateway: ThreadGateway, key: str, back: int
) -> None:
    for _ in range(2):
        assert gateway.stats(key, UPDATE).status_code == 200
    gateway.set_wall(-back)
    gateway.restart()

    refused = gateway.stats(key, UPDATE)

    assert refusal(refused) == TOO_MANY
    assert limit(refused) == Limit(2, 0, STATS_WINDOW)
    assert refused.headers["retry-after"] == str(STATS_WINDOW)
    gateway.advance(STATS_WINDOW)
    assert limit(gateway.stats(key, UPDATE)) == Limit(2, 1, STATS_WINDOW)


@pytest.mark.parametrize("jump", [-DAY, -HOUR, HOUR])
@pytest.mark.parametrize("right_again", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_updates_of_one_window_are_counted_together_although_the_clock_is_set_between_them(
    gateway: ThreadGateway, key: str, jump: int, right_again: bool, restarted: bool
) -> None:
    assert gateway.stats(key, UPDATE).status_code == 200
    if restarted:
        gateway.restart()
    gateway.set_wall(jump)
    assert gateway.stats(key, UPDATE).status_code == 200
    if right_again:
        gateway.set_wall(-jump)

    gateway.restart()

    refused = gateway.stats(key, UPDATE)
    assert refusal(refused) == TOO_MANY
    assert limit(refused).reset <= STATS_WINDOW
    gateway.advance(STATS_WINDOW)
    assert limit(gateway.stats(key, UPDATE)) == Limit(2, 1, STATS_WINDOW)


@jumps
def test_a_rotated_key_s_overlap_ends_at_the_announced_time(
    gateway: ThreadGateway, key: str, jump: int
) -> None:
    (issued,) = gateway.done("GET", f"{BOT_PATH}/keys")["keys"]
    overlap = {"overlap_seconds": HOUR}
    new = gateway.done("POST", f"{BOT_PATH}/keys/{issued['id']}/rotate", overlap)["key"]

    gateway.set_wall(jump)

    assert gateway.voters(key).status_code == (200 if jump < HOUR else 401)
    assert gateway.voters(new).status_code == 200
    (shown,) = gateway.done("GET", f"{BOT_PATH}/keys")["keys"]
    assert (shown["old_key_until"] is None) == (jump >= HOUR)


@pytest.mark.parametrize("wall_ms", [0, 1, 4_102_444_800_000, 7_258_118_400_000], ids=str)
def test_nothing_fails_with_any_time_of_the_clock(
    gateway: ThreadGateway, receiver: Receiver, wall_ms: int
) -> None:
    gateway.set_wall((wall_ms - gateway.clock.now_ms()) / 1_000)
    key = gateway.list_bot()
    set_webhook(gateway, receiver.url)
    cast = gateway.cast()
    test = gateway.done("POST", f"{BOT_PATH}/webhook/test", {"user": USER})

    assert cast["lastVote"] == wall_ms
    assert test["state"] == "delivered"
    assert status(gateway, key)["vote"] == 1
    assert gateway.stats(key, UPDATE).status_code == 200
    for path in (BOT_PATH, f"{BOT_PATH}/webhook", f"{BOT_PATH}/webhook/deliveries", "/debug/overview.json"):
        assert gateway.operate("GET", path).status_code == 200
    gateway.restart()
    assert gateway.stats(key, UPDATE).status_code == 200
    assert status(gateway, key)["vote"] == 1
