"""The fake gateway of the package answers as a real one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.support.gateways import BOT, OTHER_BOT, USER, ThreadGateway, running
from votegate_client.testing import FakeGateway

STATS, VOTERS = f"/bots/{BOT}/stats", f"/bots/{BOT}/voters"
REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no key": ("GET", f"{VOTERS}/{USER}", {"key": None}),
    "a wrong key": ("GET", f"{VOTERS}/{USER}", {"key": "vg_wrong"}),
    "an unknown bot": ("GET", f"/bots/{OTHER_BOT}/voters/{USER}", {}),
    "an unknown bot and no key": ("GET", f"/bots/{OTHER_BOT}/voters/{USER}", {"key": None}),
    "a user without a vote": ("GET", f"{VOTERS}/{USER}", {}),
    "a user that is no id": ("GET", f"{VOTERS}/ada", {}),
    "another path": ("GET", f"/bots/{BOT}/votes", {}),
    "a push with the method of a check": ("GET", STATS, {}),
    "a check with the method of a push": ("PATCH", f"{VOTERS}/{USER}", {}),
    "a push of both counts": ("PATCH", STATS, {"body": {"server_count": 1_000, "command_count": 1}}),
    "a push of no count": ("PATCH", STATS, {"body": {"commands_count": 1}}),
    "a push of a count as text": ("PATCH", STATS, {"body": {"server_count": "1000"}}),
    "a push of a truth": ("PATCH", STATS, {"body": {"command_count": True}}),
    "a push of too many servers": ("PATCH", STATS, {"body": {"server_count": 10_000_001}}),
    "a push of less than none": ("PATCH", STATS, {"body": {"command_count": -1}}),
    "a push of a list": ("PATCH", STATS, {"body": []}),
    "a push of no JSON": ("PATCH", STATS, {"raw": b"{"}),
    "a slash at the end": ("PATCH", STATS + "/", {"body": {"command_count": 2}}),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ThreadGateway, str]]:
    with running(tmp_path_factory.mktemp("data")) as gateway:
        yield gateway, gateway.list_bot()


def answered(base_url: str, key: str, request: tuple[str, str, dict[str, Any]]) -> tuple[int, Any]:
    method, path, options = request
    key = options.get("key", key)
    body = options.get("raw", json.dumps(options["body"]).encode() if "body" in options else None)
    headers = {"authorization": key} if key is not None else {}
    answer = requests.request(method, base_url + path, headers=headers, data=body, timeout=60)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("name", REQUESTS)
def test_the_fake_gateway_answers_as_a_real_one(name: str, real: tuple[ThreadGateway, str]) -> None:
    gateway, key = real
    with FakeGateway(bot_id=BOT) as fake:
        expected = answered(gateway.base_url, key, REQUESTS[name])
        assert answered(fake.url, fake.key, REQUESTS[name]) == expected
