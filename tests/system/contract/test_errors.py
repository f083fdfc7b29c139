"""The error table, the order of the checks, and the shape that every answer has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requests import Response

from serving.log_output import TextLines
from tests.support.contract import (
    BOT_NOT_FOUND,
    BOT_PATH,
    COMMAND_COUNT_RANGE,
    HEADER_REQUIRED,
    INVALID_KEY,
    NO_ACTUAL_COUNT,
    NO_COUNT,
    SERVER_COUNT_RANGE,
    STATS,
    TOO_MANY,
    Served,
    refusal,
)
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, USER, ThreadGateway, running
from watchers.redaction import Redactor

GUARD = {"limits.failures.requests": 1, "limits.failures.window_seconds": 300}
OK = {"command_count": 5}
BOTH_WRONG = {"server_count": -1, "command_count": -1}
TOO_FAR = (
    400,
    "The server count provided (2000) is too far off from the actual server count. "
    "It cannot differ by more than 100 from the actual server count, which is 1000.",
)
MALFORMED_JSON = (400, "The body must be valid JSON in UTF-8.")
TOO_LARGE = (413, "The body must not be larger than 65536 bytes.")


def use_up(gateway: ThreadGateway, key: str) -> None:
    """Leaves the bot no request to either endpoint."""
    policy = {"requests": 1, "window_seconds": 60}
    gateway.done("PUT", f"{BOT_PATH}/limits", {"stats": policy, "voters": policy})
    assert gateway.stats(key, OK).status_code == gateway.voters(key).status_code == 200


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, NO_COUNT),
        ({"server_count": 10_000_001}, SERVER_COUNT_RANGE),
        ({"command_count": 1_001}, COMMAND_COUNT_RANGE),
        ({"server_count": 2_000}, TOO_FAR),
        (b"{", MALFORMED_JSON),
        (b"x" * 65_537, TOO_LARGE),
    ],
)
def test_an_error_of_stats_has_its_text_and_the_common_shape(
    served: Served, body: Any, error: tuple[int, str]
) -> None:
    assert refusal(served.stats(body)) == error


def test_an_error_of_both_endpoints_has_its_text_and_the_common_shape(
    gateway: ThreadGateway, key: str
) -> None:
    def answers(key: str | None, bot: str = BOT) -> set[tuple[int, str]]:
        return {refusal(gateway.stats(key, OK, bot)), refusal(gateway.voters(key, bot))}

    assert answers(None) == {HEADER_REQUIRED}
    assert answers("wrong") == {INVALID_KEY}
    assert answers(key, OTHER_BOT) == {BOT_NOT_FOUND}
    use_up(gateway, key)
    assert answers(key) == {TOO_MANY}


@pytest.mark.parametrize(
    ("present", "limited", "bot", "body", "error"),
    [
        (None, True, OTHER_BOT, {}, HEADER_REQUIRED),
        ("wrong", True, OTHER_BOT, {}, BOT_NOT_FOUND),
        ("wrong", True, BOT, {}, INVALID_KEY),
        ("valid", True, BOT, {}, TOO_MANY),
        ("valid", True, BOT, b"{", TOO_MANY),
        ("valid", True, BOT, b"x" * 65_537, TOO_MANY),
        ("valid", False, BOT, b"{" * 65_537, TOO_LARGE),
        ("valid", False, BOT, BOTH_WRONG, SERVER_COUNT_RANGE),
        ("valid", False, BOT, {"server_count": 2_000, "command_count": -1}, COMMAND_COUNT_RANGE),
    ],
    ids=[
        "header before bot",
        "bot before key",
        "key before limit",
        "limit before counts",
        "limit before JSON",
        "limit before size",
        "size before JSON",
        "server_count before command_count",
        "command_count before look-up",
    ],
)
def test_checks_are_applied_in_this_order(
    gateway: ThreadGateway,
    key: str,
    present: str | None,
    limited: bool,
    bot: str,
    body: Any,
    error: tuple[int, str],
) -> None:
    if limited:
        use_up(gateway, key)

    assert refusal(gateway.stats(key if present == "valid" else present, body, bot)) == error


def test_ranges_are_checked_before_the_look_up(gateway: ThreadGateway) -> None:
    key = gateway.list_bot(actual=None)

    assert refusal(gateway.stats(key, {"server_count": 5, "command_count": -1})) == COMMAND_COUNT_RANGE
    assert refusal(gateway.stats(key, {"server_count": 5, "command_count": 5})) == NO_ACTUAL_COUNT


@pytest.mark.parametrize(
    ("present", "bot", "user", "error"),
    [
        (None, OTHER_BOT, "1", HEADER_REQUIRED),
        ("wrong", OTHER_BOT, "1", BOT_NOT_FOUND),
        ("wrong", BOT, "1", INVALID_KEY),
        ("valid", BOT, "1", TOO_MANY),
    ],
    ids=["header before bot", "bot before key", "key before limit", "limit before user id"],
)
def test_voters_are_checked_in_the_same_order(
    gateway: ThreadGateway, key: str, present: str | None, bot: str, user: str, error: tuple[int, str]
) -> None:
    use_up(gateway, key)

    assert refusal(gateway.voters(key if present == "valid" else present, bot, user)) == error


def test_the_address_guard_answers_failures_alone(tmp_path: Path) -> None:
    with running(tmp_path / "data", **GUARD) as gateway:
        key = gateway.list_bot()
        assert refusal(gateway.voters("wrong")) == INVALID_KEY

        failed = [gateway.voters(None), gateway.stats(None, {}), gateway.voters("wrong")]
        served = [gateway.voters(key), gateway.stats(key, OK)]

        assert {refusal(answer) for answer in failed} == {TOO_MANY}
        assert {answer.status_code for answer in served} == {200}


@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_refused_update_changes_nothing(gateway: ThreadGateway, key: str | None) -> None:
    gateway.list_bot()
    before = gateway.done("GET", BOT_PATH)

    assert gateway.stats(key, OK).status_code == 401

    assert gateway.done("GET", BOT_PATH) == before


@pytest.mark.parametrize(
    "path", ["/", "/bots", f"/bots/{BOT}", f"{STATS}//", "/manage", "/debugging", "/nothing"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_an_unknown_path_is_404_in_the_common_shape(served: Served, method: str, path: str) -> None:
    assert refusal(served.gateway.request(method, path)) == (404, "Not found.")


@pytest.mark.parametrize("place", ["handlers.public.vote_status", "handlers.public.read_stats"])
def test_a_fault_of_the_gateway_is_500_in_the_common_shape_under_the_id_of_the_request(
    gateway: ThreadGateway,
    key: str,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.handler.setFormatter(TextLines(Redactor()))
    monkeypatch.setattr(place, lambda *_: 1 // 0)

    response = gateway.voters(key) if "vote" in place else gateway.stats(key, OK)

    request_id = response.headers["x-request-id"]
    assert refusal(response) == (
        500,
        f"Something went wrong here; the operators find it under {request_id}.",
    )
    assert caplog.text.count(f" ERROR serving.application[{request_id}]: a request failed: ") == 1
    assert key not in caplog.text


def test_a_fault_in_management_is_500_in_the_common_shape(
    gateway: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actions.listings.page", lambda *_, **__: 1 // 0)

    assert refusal(gateway.operate("GET", "/manage/bots"))[0] == 500


ANSWERS: dict[str, Callable[[ThreadGateway, str], Response]] = {
    "stats": lambda gateway, key: gateway.stats(key, OK),
    "submission": lambda gateway, _: gateway.operate(
        "POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT}
    ),
    "list": lambda gateway, _: gateway.operate("GET", "/manage/bots"),
    "removal": lambda gateway, _: gateway.operate("DELETE", BOT_PATH),
    "vote": lambda gateway, _: gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER}),
    "erasure": lambda gateway, _: gateway.operate("DELETE", f"/manage/users/{USER}"),
    "state": lambda gateway, _: gateway.operate("GET", "/debug/overview.json"),
    "health": lambda gateway, _: gateway.request("GET", "/healthz"),
    "readiness": lambda gateway, _: gateway.request("GET", "/readyz"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_every_success_is_json_with_success_true(
    gateway: ThreadGateway, key: str, answer: Callable[[ThreadGateway, str], Response]
) -> None:
    response = answer(gateway, key)

    assert response.status_code in {200, 201}
    assert response.headers["content-type"] == "application/json"
    assert response.json()["success"] is True


def test_creating_is_201_and_everything_else_200(gateway: ThreadGateway, key: str) -> None:
    answers = {
        name: answer(gateway, key).status_code for name, answer in ANSWERS.items() if name != "removal"
    }

    assert {name for name, code in answers.items() if code == 201} == {"submission", "vote"}
    assert set(answers.values()) == {200, 201}


def test_the_api_version_is_1_1_0(gateway: ThreadGateway) -> None:
    assert gateway.request("GET", "/openapi.json").json()["info"]["version"] == "1.1.0"
