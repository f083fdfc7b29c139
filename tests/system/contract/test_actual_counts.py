"""The source of the actual server count: the operator, an outside lookup, or none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, NO_ACTUAL_COUNT, refusal
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    SERVER,
    SERVER_SUBMISSION,
    ThreadGateway,
    running,
)
from tests.support.webhook_receiver import Answer, Receiver, drop, status


@pytest.fixture(params=["no actual count", "no look-up"])
def countless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ThreadGateway]:
    """Gateways that cannot know how many servers a bot is in."""
    source = "operator" if request.param == "no actual count" else "none"
    with running(tmp_path / "data", **{"guild_counts.source": source}) as gateway:
        yield gateway


def test_a_server_count_is_500_when_the_actual_one_cannot_be_known(countless: ThreadGateway) -> None:
    key = countless.list_bot(actual=None)

    response = countless.stats(key, {"server_count": 5, "command_count": 5})
    assert refusal(response) == NO_ACTUAL_COUNT
    assert response.headers["retry-after"] == "3600", "nothing is on its way"
    assert countless.done("GET", BOT_PATH)["command_count"] is None


def test_a_command_count_alone_needs_no_actual_server_count(countless: ThreadGateway) -> None:
    key = countless.list_bot(actual=None)

    assert countless.stats(key, {"command_count": 5}).json() == {"success": True}


UNSET = (
    "The bot cannot push server_count before its actual server count is set. "
    f"Set it: votegate admin counts {BOT} <number>, "
    f'or PUT /manage/bots/{BOT}/actual-server-count with {{"server_count": <number>}}.'
)
NO_SOURCE = (
    "The bot cannot push server_count, only command_count: guild_counts.source is none. "
    "Set it to operator, http or platform in the gateway's settings."
)


def approve(gateway: ThreadGateway) -> Any:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    return gateway.done("POST", f"{BOT_PATH}/approve", {})


def issue(gateway: ThreadGateway) -> Any:
    return gateway.done("POST", f"{BOT_PATH}/keys", {"name": "tests"})


def test_the_answers_to_approve_and_to_issuing_a_key_say_that_the_actual_count_is_missing(
    countless: ThreadGateway,
) -> None:
    hint = UNSET if countless.settings.counts_source == "operator" else NO_SOURCE

    assert approve(countless)["hint"] == issue(countless)["hint"] == hint


def test_an_owner_who_does_what_the_hint_says_can_push(gateway: ThreadGateway) -> None:
    called, _, body = approve(gateway)["hint"].partition(", or ")[2].removesuffix(".").partition(" with ")
    method, path = called.split()
    gateway.done(method, path, json.loads(body.replace("<number>", "1000")))
    issued = issue(gateway)

    assert "hint" not in issued
    assert gateway.stats(issued["key"], {"server_count": 1_000}).status_code == 200


def test_the_hint_is_absent_where_nothing_is_missing(
    gateway: ThreadGateway, tmp_path: Path, receiver: Receiver
) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    gateway.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": 0})
    assert "hint" not in gateway.done("POST", f"{BOT_PATH}/approve", {})

    gateway.done("POST", "/manage/servers", SERVER_SUBMISSION)
    assert "hint" not in gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})

    with running(tmp_path / "looking-up", **lookup(receiver)) as looking_up:
        assert "hint" not in approve(looking_up) | issue(looking_up)


def test_the_log_says_once_a_bot_and_day_that_the_actual_count_is_missing(
    countless: ThreadGateway, caplog: pytest.LogCaptureFixture
) -> None:
    hint = UNSET if countless.settings.counts_source == "operator" else NO_SOURCE

    def lines() -> list[str]:
        found = [record.getMessage() for record in caplog.records if record.name == "watchers.missing_counts"]
        caplog.clear()
        return found

    keys = {bot: countless.list_bot(bot, actual=None) for bot in (BOT, OTHER_BOT)}
    assert lines() == []

    for _ in range(3):
        for bot, key in keys.items():
            assert refusal(countless.stats(key, {"server_count": 5}, bot)) == NO_ACTUAL_COUNT
    told = f"a push of bots/{BOT} was answered 500: {hint}"
    assert lines() == [told, told.replace(BOT, OTHER_BOT)]

    countless.clock.advance(86_399)
    countless.stats(keys[BOT], {"server_count": 5})
    assert lines() == []

    countless.clock.advance(1)
    countless.stats(keys[BOT], {"server_count": 5})
    assert lines() == [told]


def lookup(receiver: Receiver, **settings: object) -> dict[str, object]:
    """Settings that ask the receiver for actual counts."""
    named = {
        "source": "http",
        "url": receiver.url + "/guilds/{id}",
        "authorization": "lookup-secret",
        **settings,
    }
    return {f"guild_counts.{name}": value for name, value in named.items()}


@pytest.fixture
def looking_up(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with running(tmp_path / "data", **lookup(receiver)) as gateway:
        yield gateway


def test_the_actual_count_is_obtained_from_an_outside_lookup(
    looking_up: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(200, b'{"server_count": 2000}')
    key = looking_up.list_bot(actual=None)

    assert refusal(looking_up.stats(key, {"server_count": 2_201}))[0] == 400
    assert looking_up.stats(key, {"server_count": 2_200}).status_code == 200
    assert receiver.received[0].path == f"/guilds/{BOT}"
    assert receiver.received[0].headers["authorization"] == "lookup-secret"


def test_an_answer_of_the_lookup_is_good_for_a_minute(looking_up: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(200, b'{"server_count": 1000}'), status(200, b'{"server_count": 5000}')]
    key = looking_up.list_bot(actual=None)
    assert looking_up.stats(key, {"server_count": 1_000}).status_code == 200

    looking_up.clock.advance_ms(59_999)
    assert refusal(looking_up.stats(key, {"server_count": 5_000}))[0] == 400

    looking_up.clock.advance_ms(1)
    assert looking_up.stats(key, {"server_count": 5_000}).status_code == 200
    assert len(receiver.received) == 2


def test_each_bot_is_looked_up_by_its_id(looking_up: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = status(200, b'{"server_count": 1000}')
    for bot in (BOT, OTHER_BOT):
        key = looking_up.list_bot(bot, actual=None)
        looking_up.stats(key, {"server_count": 1_000}, bot=bot)

    assert [call.path for call in receiver.received] == [f"/guilds/{BOT}", f"/guilds/{OTHER_BOT}"]


@pytest.mark.parametrize(
    "answer",
    [
        status(500),
        status(404, b'{"server_count": 1000}'),
        status(302, b'{"server_count": 1000}', Location="/other"),
        status(200, b"1000"),
        status(200, b'{"server_count": "1000"}'),
        status(200, b'{"server_count": -1}'),
        status(200, b'{"server_count": 1000}' + b" " * 20_000),
        drop,
    ],
    ids=["500", "404", "redirect", "no object", "string", "negative", "too long", "dropped"],
)
def test_a_lookup_that_fails_is_500(
    looking_up: ThreadGateway, receiver: Receiver, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.default = answer
    key = looking_up.list_bot(actual=None)

    assert refusal(looking_up.stats(key, {"server_count": 1_000})) == NO_ACTUAL_COUNT
    assert f"a push of bots/{BOT} was answered 500: the look-up of its server count fails." in caplog.text
    assert {call.path for call in receiver.received} == {f"/guilds/{BOT}"}


def test_a_lookup_that_takes_too_long_is_500(tmp_path: Path, receiver: Receiver) -> None:
    receiver.default = receiver.hang
    with running(tmp_path / "data", **lookup(receiver, timeout_seconds=0.1)) as gateway:
        key = gateway.list_bot(actual=None)

        assert refusal(gateway.stats(key, {"server_count": 1_000})) == NO_ACTUAL_COUNT
