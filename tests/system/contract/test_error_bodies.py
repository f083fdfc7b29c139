"""Errors of the public endpoints: all bodies have the contract's three fields.

The rows are those that the OpenAPI document has for both endpoints, so that none is forgotten, and the
answers that no endpoint makes.
"""

from collections.abc import Callable
from typing import Any

import pytest
from requests import Response

from core.failures import Unavailable
from journal.journal import Journal
from tests.support.contract import BOT_PATH, STATS
from tests.support.gateways import BOT, OTHER_BOT, USER, ThreadGateway
from tests.support.openapi_lookup import ERRORS, PUBLIC, errors_of

Call = Callable[[ThreadGateway, str], Response]

OK = {"command_count": 5}
VOTERS = f"/bots/{BOT}/voters/{USER}"
ROWS: dict[str, list[Call]] = {
    "noCountGiven": [lambda g, key: g.stats(key, {"servers": 5})],
    "serverCountOutOfRange": [lambda g, key: g.stats(key, {"server_count": "5"})],
    "commandCountOutOfRange": [lambda g, key: g.stats(key, {"command_count": 1_001})],
    "serverCountTooFarOff": [lambda g, key: g.stats(key, {"server_count": 5_000})],
    "notJson": [lambda g, key: g.stats(key, b"{")],
    "notAnObject": [lambda g, key: g.stats(key, b"[]")],
    "doubledField": [lambda g, key: g.stats(key, b'{"server_count": 1, "server_count": 1}')],
    "bodyTooLarge": [lambda g, key: g.stats(key, b" " * 65_537)],
    "malformedUser": [lambda g, key: g.voters(key, user="1")],
    "authorizationRequired": [lambda g, _: g.stats(None, OK), lambda g, _: g.voters(None)],
    "invalidKey": [lambda g, _: g.stats("wrong", OK), lambda g, _: g.voters("wrong")],
    "keyWithScheme": [
        lambda g, key: g.stats(f"Bearer {key}", OK),
        lambda g, key: g.voters(f"Bearer {key}"),
    ],
    "botNotFound": [lambda g, key: g.stats(key, OK, USER), lambda g, key: g.voters(key, USER)],
    "countUnknown": [lambda g, _: g.stats(g.list_bot(OTHER_BOT, None), {"server_count": 5}, OTHER_BOT)],
    "tooManyRequests": [
        lambda g, key: [g.stats(key, OK) for _ in range(3)][-1],
        lambda g, key: [g.voters(key) for _ in range(101)][-1],
    ],
}
NO_ENDPOINTS: dict[str, tuple[int, Call]] = {
    "another method on stats": (405, lambda g, key: g.request("POST", STATS, headers={"Authorization": key})),
    "another method on voters": (
        405,
        lambda g, key: g.request("PUT", VOTERS, headers={"Authorization": key}),
    ),
    "a method that HTTP does not know": (405, lambda g, _: g.request("QUERY", VOTERS)),
}


def expect_three_fields(response: Response, status: int, of: str) -> None:
    body: dict[str, Any] = response.json()
    assert (response.status_code, body["status"], body["success"]) == (status, status, False), of
    assert sorted(body) == ["error", "status", "success"], of
    assert isinstance(body["error"], str), of
    assert body["error"], of


def test_every_error_of_both_endpoints_has_the_contracts_three_fields_and_no_other(
    gateway: ThreadGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = gateway.list_bot()
    named = {name for operation in PUBLIC for name in errors_of(operation)}
    others = ("bug", "unavailable", "headersTooLarge", "countAskedFor")
    assert named == {ERRORS[name].public.name for name in (*ROWS, *others)}

    def full(*_: Any) -> int:
        raise Unavailable("the disk does not keep up")

    with monkeypatch.context() as broken:
        broken.setattr(Journal, "append", full)
        expect_three_fields(gateway.stats(key, OK), 503, "unavailable")
    with monkeypatch.context() as broken:
        for place in ("vote_status", "read_stats"):
            broken.setattr(f"handlers.public.{place}", lambda *_: 1 // 0)
        for response in (gateway.stats(key, OK), gateway.voters(key)):
            expect_three_fields(response, 500, "bug")
    for name, (status, call) in NO_ENDPOINTS.items():
        expect_three_fields(call(gateway, key), status, name)
    for name, calls in ROWS.items():
        for call in calls:
            expect_three_fields(call(gateway, key), ERRORS[name].reply.status, name)


def test_headers_that_are_too_large_have_the_contracts_three_fields_too(gateway: ThreadGateway) -> None:
    expect_three_fields(gateway.voters("x" * 20_000), 431, "headers too large")


def test_the_wait_of_a_429_is_in_the_header_and_in_no_body(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    gateway.done("PUT", f"{BOT_PATH}/limits", {"voters": {"requests": 1, "window_seconds": 60}})

    refused = [gateway.voters(key) for _ in range(2)][-1]

    expect_three_fields(refused, 429, "tooManyRequests")
    assert refused.headers["retry-after"] == "60"
