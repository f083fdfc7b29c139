"""The rate limits of each endpoint, and its headers."""

from pathlib import Path
from typing import Any

import pytest
from requests import Response

from tests.support.contract import BOT_PATH, NO_ACTUAL_COUNT, STATS, TOO_MANY, Limit, limit, refusal
from tests.support.gateways import BOT, OTHER_BOT, USER, ThreadGateway, running

VOTERS = f"/bots/{BOT}/voters/{USER}"
UPDATE = {"command_count": 5}
STATS_WINDOW = 7_200
VOTERS_WINDOW = 300
HEADERS = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy"]


def update(gateway: ThreadGateway, key: str, times: int = 1) -> Response:
    """The last of so many stats updates."""
    for _ in range(times - 1):
        assert gateway.stats(key, UPDATE).status_code == 200
    return gateway.stats(key, UPDATE)


def test_stats_may_be_updated_twice_in_120_minutes(gateway: ThreadGateway, key: str) -> None:
    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)
    assert limit(update(gateway, key)) == Limit(2, 0, STATS_WINDOW)

    refused = update(gateway, key)

    assert refusal(refused) == TOO_MANY
    assert limit(refused) == Limit(2, 0, STATS_WINDOW)


def test_voters_may_be_asked_100_times_in_5_minutes(gateway: ThreadGateway, key: str) -> None:
    remaining = [limit(gateway.voters(key)).remaining for _ in range(100)]
    assert remaining == list(range(99, -1, -1))

    refused = gateway.voters(key)

    assert refusal(refused) == TOO_MANY
    assert limit(refused) == Limit(100, 0, VOTERS_WINDOW)


def test_the_policy_header_tells_the_limit_and_the_window(gateway: ThreadGateway, key: str) -> None:
    assert update(gateway, key).headers["ratelimit-policy"] == "2;w=7200"
    assert gateway.voters(key).headers["ratelimit-policy"] == "100;w=300"
    assert gateway.voters(None).headers["ratelimit-policy"] == "300;w=300"


def test_a_refusal_says_when_to_come_back(gateway: ThreadGateway, key: str) -> None:
    update(gateway, key, 2)
    gateway.advance(100)

    refused = update(gateway, key)

    assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"] == str(STATS_WINDOW - 100)


def test_an_answer_that_is_no_refusal_has_no_retry_after(gateway: ThreadGateway, key: str) -> None:
    for response in (update(gateway, key, 2), gateway.voters(key), gateway.voters("wrong")):
        assert "retry-after" not in response.headers


def test_a_caller_who_waits_as_long_as_announced_is_not_refused(gateway: ThreadGateway, key: str) -> None:
    update(gateway, key, 2)
    gateway.clock.advance_ms(1_234)

    gateway.advance(limit(update(gateway, key)).reset)

    assert update(gateway, key).status_code == 200


def test_limits_are_applied_per_endpoint(gateway: ThreadGateway, key: str) -> None:
    assert refusal(update(gateway, key, 3)) == TOO_MANY

    assert limit(gateway.voters(key)) == Limit(100, 99, VOTERS_WINDOW)


def test_a_bot_is_counted_over_all_its_keys(gateway: ThreadGateway, key: str) -> None:
    other = gateway.done("POST", f"{BOT_PATH}/keys", {"name": "other"})["key"]

    assert limit(update(gateway, key)).remaining == 1
    assert limit(update(gateway, other)).remaining == 0
    assert refusal(update(gateway, other)) == TOO_MANY


def test_each_bot_is_counted_for_itself(gateway: ThreadGateway, key: str) -> None:
    other = gateway.list_bot(OTHER_BOT)
    update(gateway, key, 2)

    assert gateway.stats(other, UPDATE, bot=OTHER_BOT).status_code == 200


def test_a_window_is_anchored_at_its_first_request_and_refills_whole_at_its_end(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.advance(1_000)
    update(gateway, key)
    gateway.advance(STATS_WINDOW - 10)
    assert limit(update(gateway, key)) == Limit(2, 0, 10)

    gateway.clock.advance_ms(9_999)
    assert refusal(update(gateway, key)) == TOO_MANY

    gateway.clock.advance_ms(1)
    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)


@pytest.mark.parametrize(("passed_ms", "reset"), [(0, 300), (1, 300), (999, 300), (1_000, 299), (299_999, 1)])
def test_reset_is_rounded_up_to_whole_seconds(
    gateway: ThreadGateway, key: str, passed_ms: int, reset: int
) -> None:
    gateway.voters(key)

    gateway.clock.advance_ms(passed_ms)

    assert limit(gateway.voters(key)) == Limit(100, 98, reset)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 400),
        ({"server_count": -1}, 400),
        ({"command_count": 1_001}, 400),
        ({"server_count": 5}, 400),
        (b"{", 400),
        (b"x" * 65_537, 413),
    ],
    ids=["neither", "server_count", "command_count", "too far off", "no JSON", "too large"],
)
def test_a_failed_update_is_given_back(gateway: ThreadGateway, key: str, body: Any, code: int) -> None:
    update(gateway, key)

    failed = gateway.stats(key, body)

    assert (refusal(failed)[0], limit(failed)) == (code, Limit(2, 1, STATS_WINDOW))
    assert update(gateway, key).status_code == 200


def test_an_update_whose_lookup_failed_is_given_back(gateway: ThreadGateway) -> None:
    key = gateway.list_bot(actual=None)

    for _ in range(3):
        failed = gateway.stats(key, {"server_count": 5})
        assert (refusal(failed), limit(failed)) == (NO_ACTUAL_COUNT, Limit(2, 2, STATS_WINDOW))


def test_a_failed_voters_request_is_given_back(gateway: ThreadGateway, key: str) -> None:
    gateway.voters(key)

    failed = gateway.voters(key, user="1")

    assert (failed.status_code, limit(failed)) == (400, Limit(100, 99, VOTERS_WINDOW))


def test_a_request_given_back_opens_no_window(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {})
    gateway.advance(100)

    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)


def test_a_refused_request_does_not_prolong_the_window(gateway: ThreadGateway, key: str) -> None:
    update(gateway, key, 2)
    gateway.advance(STATS_WINDOW - 1)

    assert limit(update(gateway, key)) == Limit(2, 0, 1)
    gateway.advance(1)
    assert update(gateway, key).status_code == 200


def test_stats_windows_survive_a_restart(gateway: ThreadGateway, key: str) -> None:
    update(gateway, key)
    gateway.advance(100)
    gateway.restart(seconds_down=100)
    assert limit(update(gateway, key)) == Limit(2, 0, STATS_WINDOW - 200)

    gateway.restart()

    assert refusal(update(gateway, key)) == TOO_MANY
    gateway.advance(STATS_WINDOW - 200)
    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)


def test_a_window_that_ended_while_the_gateway_was_down_is_over(gateway: ThreadGateway, key: str) -> None:
    update(gateway, key, 2)

    gateway.restart(seconds_down=STATS_WINDOW)

    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)


def test_the_limits_of_a_deployment_are_settings(tmp_path: Path) -> None:
    settings = {"limits.stats.requests": 7, "limits.voters.window_seconds": 9}
    with running(tmp_path / "data", **settings) as gateway:
        key = gateway.list_bot()

        assert limit(update(gateway, key)) == Limit(7, 6, STATS_WINDOW)
        assert limit(gateway.voters(key)) == Limit(100, 99, 9)


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PATCH", STATS, '{"command_count": 5}', 200),
        ("PATCH", STATS, "{}", 400),
        ("PATCH", f"/bots/{OTHER_BOT}/stats", "{}", 404),
        ("PATCH", STATS, "x" * 65_537, 413),
        ("PATCH", STATS, '{"server_count": 5}', 500),
        ("GET", STATS, "", 405),
        ("QUERY", STATS, "", 405),
        ("OPTIONS", STATS, "", 204),
        ("GET", VOTERS, "", 200),
        ("HEAD", VOTERS, "", 200),
        ("GET", f"/bots/{BOT}/voters/1", "", 400),
        ("GET", f"/bots/{OTHER_BOT}/voters/{USER}", "", 404),
        ("HEAD", f"/bots/{OTHER_BOT}/voters/{USER}", "", 404),
        ("POST", VOTERS, "", 405),
        ("QUERY", VOTERS, "", 405),
        ("OPTIONS", VOTERS, "", 204),
    ],
)
def test_responses_with_any_status_have_the_limit_headers(
    gateway: ThreadGateway, method: str, path: str, body: str, code: int
) -> None:
    key = gateway.list_bot(actual=None)

    response = gateway.request(method, path, headers={"Authorization": key}, data=body)

    assert response.status_code == code
    assert all(response.headers[name] for name in HEADERS)


@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_401_carries_the_limit_headers(gateway: ThreadGateway, key: str | None) -> None:
    gateway.list_bot()

    for response in (gateway.stats(key, UPDATE), gateway.voters(key)):
        assert response.status_code == 401
        assert limit(response).limit == 300


@pytest.mark.parametrize("place", ["handlers.public.vote_status", "handlers.public.read_stats"])
def test_a_fault_of_the_gateway_carries_the_limit_headers(
    gateway: ThreadGateway, key: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, lambda *_: 1 // 0)

    response = gateway.voters(key) if "vote" in place else gateway.stats(key, UPDATE)

    assert refusal(response)[0] == 500
    assert all(response.headers[name] for name in HEADERS)


def test_a_fault_of_the_gateway_is_given_back(
    gateway: ThreadGateway, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("handlers.public.vote_status", lambda *_: 1 // 0)
        patch.setattr("handlers.public.read_stats", lambda *_: 1 // 0)
        assert {gateway.voters(key).status_code, update(gateway, key).status_code} == {500}

    assert limit(gateway.voters(key)).remaining == 99
    assert limit(update(gateway, key)).remaining == 1
