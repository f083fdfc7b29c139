"""Pushes of bots that break the contract: they are not accepted, but shown to the bot's owner."""

from typing import Any

import pytest

from tests.support.contract import BOT_PATH, COMMAND_COUNT_RANGE, NO_COUNT, SERVER_COUNT_RANGE, refusal
from tests.support.gateways import BOT, OTHER_BOT, OTHER_USER, SERVER, ThreadGateway

Problem = tuple[str, str, str, str]
COMMANDS_COUNT = ("commands_count", "ignored", "number", "The field is named command_count.")
BODY = (
    "body",
    "ignored",
    "string",
    "The counts stand in the JSON object itself, not in a text inside of it.",
)


def problems(gateway: ThreadGateway, bot: str = BOT) -> list[Problem]:
    """Return the problems of a bot's pushes, the newest first.

    The management API and the debug page show the same.
    """
    shown: list[dict[str, Any]] = gateway.done("GET", f"/manage/bots/{bot}")["stats_problems"]
    assert gateway.done("GET", f"/debug/listings/bots/{bot}.json")["stats_problems"] == shown
    return [(each["field"], each["problem"], each["given"], each["reason"]) for each in shown]


def test_commands_count_is_not_accepted_but_shown_to_the_owner(gateway: ThreadGateway, key: str) -> None:
    assert refusal(gateway.stats(key, {"commands_count": 42})) == NO_COUNT
    assert problems(gateway) == [COMMANDS_COUNT]

    assert gateway.stats(key, {"server_count": 1_000, "commands_count": 42}).status_code == 200
    listing = gateway.done("GET", BOT_PATH)
    assert (listing["server_count"], listing["command_count"]) == (1_000, None)
    assert problems(gateway) == [COMMANDS_COUNT]
    assert listing["stats_problems"][0]["times"] == 2
    assert listing["stats_problems"][0]["last_at"] == gateway.clock.now_ms()


def test_counts_in_a_text_are_not_accepted_but_shown_to_the_owner(gateway: ThreadGateway, key: str) -> None:
    assert refusal(gateway.stats(key, {"body": '{"server_count": 1000}'})) == NO_COUNT

    assert problems(gateway) == [BODY]


@pytest.mark.parametrize(
    ("body", "error", "problem"),
    [
        (
            {"server_count": "1000"},
            SERVER_COUNT_RANGE,
            ("server_count", "refused", "string", "It must be an integer from 0 to 10,000,000."),
        ),
        (
            {"server_count": 1_000, "command_count": None},
            COMMAND_COUNT_RANGE,
            ("command_count", "refused", "null", "It must be an integer from 0 to 1,000."),
        ),
        (
            {"server_count": 2_000},
            (
                400,
                "The server count provided (2000) is too far off from the actual server count. "
                "It cannot differ by more than 100 from the actual server count, which is 1000.",
            ),
            ("server_count", "refused", "number", "It is too far off from the actual server count."),
        ),
    ],
)
def test_a_wrong_type_or_number_keeps_its_400_and_is_shown_to_the_owner(
    gateway: ThreadGateway, key: str, body: Any, error: tuple[int, str], problem: Problem
) -> None:
    assert refusal(gateway.stats(key, body)) == error

    assert problems(gateway) == [problem]


def test_the_newest_8_fields_are_kept_and_the_refused_one_is_among_them(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.stats(key, {"commands_count": 42})
    many = {f"field-{number}": number for number in range(3_000)}
    assert refusal(gateway.stats(key, {**many, "server_count": True})) == SERVER_COUNT_RANGE

    names = [field for field, *_ in problems(gateway)]
    assert names == ["server_count", *(f"field-{number}" for number in range(7, 0, -1))]


def test_a_name_is_cut_and_no_value_is_shown(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {"x" * 60_000: "a-secret-of-somebody", "token": ["another-secret"]})

    assert [(field, given) for field, _, given, _ in problems(gateway)] == [
        ("token", "array"),
        ("x" * 64, "string"),
    ]
    assert "secret" not in gateway.operate("GET", BOT_PATH).text


def test_a_key_in_the_place_of_a_name_is_shown_to_nobody(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {key: 1, f"Bearer {key}": 2})

    assert [field for field, *_ in problems(gateway)] == ["Bearer [secret]", "[secret]"]


def test_invisible_characters_of_a_name_are_shown_as_escapes(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {"\u200b": 1, "server\u202ecount\n": 2, "größe": 3})

    assert [field for field, *_ in problems(gateway)] == ["größe", "server\\u202ecount\\n", "\\u200b"]


@pytest.mark.parametrize("wrong", [None, "wrong", "Bearer {key}"])
def test_only_requests_with_a_valid_key_are_noted(
    gateway: ThreadGateway, key: str, wrong: str | None
) -> None:
    presented = wrong.format(key=key) if wrong is not None else None
    assert gateway.stats(presented, {"commands_count": 42}).status_code == 401
    gateway.list_bot(OTHER_BOT)
    assert gateway.stats(key, {"commands_count": 42}, OTHER_BOT).status_code == 401
    assert gateway.stats(key, {"commands_count": 42}, OTHER_USER).status_code == 404

    assert problems(gateway) == problems(gateway, OTHER_BOT) == []


def test_problems_are_in_no_journal_and_end_with_the_bot_and_with_the_process(
    gateway: ThreadGateway, key: str
) -> None:
    head = gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    gateway.stats(key, {"commands_count": 42})
    assert problems(gateway) == [COMMANDS_COUNT]
    assert gateway.done("GET", "/debug/overview.json")["positions"]["head"] == head

    gateway.done("DELETE", BOT_PATH)
    key = gateway.list_bot()
    assert problems(gateway) == []

    gateway.stats(key, {"commands_count": 42})
    gateway.restart()
    assert problems(gateway) == []


def test_a_correct_bot_has_no_problems_and_a_server_does_not_have_the_field(
    gateway: ThreadGateway, key: str
) -> None:
    gateway.list_server()
    gateway.stats(key, {"server_count": 1_000, "command_count": 5})

    assert problems(gateway) == []
    assert "stats_problems" not in gateway.done("GET", f"/manage/servers/{SERVER}")
