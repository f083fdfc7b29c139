"""PATCH /bots/{id}/stats"""

from pathlib import Path
from typing import Any

import pytest

from settings.model import SettingsError
from tests.support.contract import (
    BOT_NOT_FOUND,
    BOT_PATH,
    COMMAND_COUNT_RANGE,
    MALFORMED_IDS,
    NO_COUNT,
    SERVER_COUNT_RANGE,
    STATS,
    Served,
    refusal,
)
from tests.support.gateways import OTHER_BOT, ThreadGateway, running

NOT_INTEGERS = ["5", "", True, False, None, 1.5, [], [1], {}]
NEVER_UPDATED = {"server_count": None, "command_count": None}


def counts(gateway: ThreadGateway) -> dict[str, Any]:
    """Return the counts that the bot's listing shows."""
    listing = gateway.done("GET", BOT_PATH)
    return {name: listing[name] for name in NEVER_UPDATED}


def set_actual(gateway: ThreadGateway, count: int) -> None:
    gateway.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": count})


@pytest.mark.parametrize(
    "body",
    [{"server_count": 1_000, "command_count": 5}, {"server_count": 1_000}, {"command_count": 5}],
    ids=["both", "server_count alone", "command_count alone"],
)
def test_an_update_of_either_count_or_both_is_200_with_success_and_no_other_field(
    gateway: ThreadGateway, key: str, body: dict[str, int]
) -> None:
    response = gateway.stats(key, body)

    assert (response.status_code, response.json()) == (200, {"success": True})
    assert counts(gateway) == NEVER_UPDATED | body


def test_a_count_left_out_stays_as_it_was(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {"server_count": 990, "command_count": 5})

    gateway.stats(key, {"command_count": 6})

    assert counts(gateway) == {"server_count": 990, "command_count": 6}


def test_counts_survive_a_restart(gateway: ThreadGateway, key: str) -> None:
    gateway.stats(key, {"server_count": 990, "command_count": 5})

    gateway.restart()

    assert counts(gateway) == {"server_count": 990, "command_count": 5}


@pytest.mark.parametrize("body", [{}, {"servers": 5}, b""], ids=["empty object", "other field", "no body"])
def test_one_of_the_two_counts_is_required(served: Served, body: Any) -> None:
    assert refusal(served.stats(body)) == NO_COUNT


@pytest.mark.parametrize("count", [0, 10_000_000])
def test_a_server_count_from_0_to_10_million_is_taken(gateway: ThreadGateway, key: str, count: int) -> None:
    set_actual(gateway, count)

    assert gateway.stats(key, {"server_count": count}).status_code == 200
    assert counts(gateway)["server_count"] == count


@pytest.mark.parametrize("count", [-1, 10_000_001, 10**400])
def test_a_server_count_outside_0_to_10_million_is_400(served: Served, count: int) -> None:
    assert refusal(served.stats({"server_count": count})) == SERVER_COUNT_RANGE


@pytest.mark.parametrize("count", [0, 1_000])
def test_a_command_count_from_0_to_1_000_is_taken(gateway: ThreadGateway, key: str, count: int) -> None:
    assert gateway.stats(key, {"command_count": count}).status_code == 200
    assert counts(gateway)["command_count"] == count


@pytest.mark.parametrize("count", [-1, 1_001, 10**400])
def test_a_command_count_outside_0_to_1_000_is_400(served: Served, count: int) -> None:
    assert refusal(served.stats({"command_count": count})) == COMMAND_COUNT_RANGE


@pytest.mark.parametrize("value", NOT_INTEGERS, ids=repr)
@pytest.mark.parametrize(
    ("field", "error"), [("server_count", SERVER_COUNT_RANGE), ("command_count", COMMAND_COUNT_RANGE)]
)
def test_a_value_that_is_no_integer_is_400_with_the_range_of_its_field(
    served: Served, field: str, error: tuple[int, str], value: Any
) -> None:
    assert refusal(served.stats({field: value})) == error


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"server_count": 1e400}', SERVER_COUNT_RANGE),
        (b'{"server_count": -1e400}', SERVER_COUNT_RANGE),
        (b'{"command_count": 1e400}', COMMAND_COUNT_RANGE),
        (b'{"command_count": -0.5}', COMMAND_COUNT_RANGE),
    ],
)
def test_a_number_beyond_every_float_is_out_of_range(
    served: Served, body: bytes, error: tuple[int, str]
) -> None:
    assert refusal(served.stats(body)) == error


@pytest.mark.parametrize("body", [b'{"command_count": 7.0}', b'{"command_count": 0.7e1}'])
def test_a_number_without_a_fraction_is_an_integer(gateway: ThreadGateway, key: str, body: bytes) -> None:
    assert gateway.stats(key, body).status_code == 200
    assert '"command_count":7,' in gateway.operate("GET", BOT_PATH).text


def test_unknown_fields_are_ignored(gateway: ThreadGateway, key: str) -> None:
    assert gateway.stats(key, {"command_count": 5, "shard_count": "many"}).json() == {"success": True}


@pytest.mark.parametrize(
    ("actual", "allowed"),
    [(0, 50), (1, 50), (499, 50), (509, 50), (510, 51), (1_000, 100), (1_009, 100), (9_000_000, 900_000)],
)
def test_the_allowed_difference_is_the_larger_of_50_and_a_tenth_of_the_actual_count_rounded_down(
    gateway: ThreadGateway, key: str, actual: int, allowed: int
) -> None:
    set_actual(gateway, actual)

    too_far = gateway.stats(key, {"server_count": actual + allowed + 1})

    assert refusal(too_far) == (
        400,
        f"The server count provided ({actual + allowed + 1}) is too far off from the actual server count. "
        f"It cannot differ by more than {allowed} from the actual server count, which is {actual}.",
    )
    assert gateway.stats(key, {"server_count": actual + allowed}).status_code == 200
    assert gateway.stats(key, {"server_count": max(actual - allowed, 0)}).status_code == 200


def test_a_count_too_far_below_the_actual_one_is_400(gateway: ThreadGateway, key: str) -> None:
    assert gateway.stats(key, {"server_count": 899}).json()["error"] == (
        "The server count provided (899) is too far off from the actual server count. "
        "It cannot differ by more than 100 from the actual server count, which is 1000."
    )


def test_the_allowed_difference_is_configurable(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"stats.max_difference": 200}) as gateway:
        key = gateway.list_bot(actual=1_000)

        assert "more than 200 from" in refusal(gateway.stats(key, {"server_count": 1_201}))[1]
        assert gateway.stats(key, {"server_count": 1_200}).status_code == 200


def test_an_allowed_difference_below_50_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"stats\.max_difference"):
        ThreadGateway(tmp_path, **{"stats.max_difference": 49})


@pytest.mark.parametrize(
    "body",
    [
        {"server_count": 1_000, "command_count": 1_001},
        {"server_count": -1, "command_count": 5},
        {"server_count": 2_000, "command_count": 5},
    ],
    ids=["command_count wrong", "server_count wrong", "too far off"],
)
def test_if_one_field_is_wrong_nothing_changes(
    gateway: ThreadGateway, key: str, body: dict[str, int]
) -> None:
    assert refusal(gateway.stats(key, body))[0] == 400
    assert counts(gateway) == NEVER_UPDATED


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{", 400), (b"[]", 400), (b"5", 400), (b"x" * 65_537, 413)],
    ids=["no JSON", "list", "number", "too large"],
)
def test_a_body_that_is_no_json_object_of_64_kib_at_most_is_refused(
    served: Served, body: bytes, code: int
) -> None:
    assert refusal(served.stats(body))[0] == code


def test_a_body_of_64_kib_is_read(gateway: ThreadGateway, key: str) -> None:
    assert gateway.stats(key, b'{"command_count": 5}'.ljust(65_536)).status_code == 200


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "x"])
def test_any_or_no_content_type_is_read_as_json(
    gateway: ThreadGateway, key: str, content_type: str | None
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}

    assert gateway.stats(key, {"command_count": 5}, **headers).status_code == 200


@pytest.mark.parametrize("bot", [OTHER_BOT, *MALFORMED_IDS.values()], ids=["unknown", *MALFORMED_IDS])
def test_an_id_of_no_bot_is_404(served: Served, bot: str) -> None:
    assert refusal(served.stats({"command_count": 5}, bot=bot)) == BOT_NOT_FOUND


def test_only_patch_updates(gateway: ThreadGateway, key: str) -> None:
    response = gateway.request("POST", STATS, headers={"Authorization": key}, data='{"command_count": 5}')

    assert refusal(response) == (405, "Method not allowed. Use PATCH.")
    assert counts(gateway) == NEVER_UPDATED
