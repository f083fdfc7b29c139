"""Secrets in places where a caller should never put them, and the log lines about them."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from storage.folder import DIGEST_SECRET, KEYS
from tests.support.chat_channel import CHAT_PATH, TOKEN
from tests.support.contract import BOT_PATH
from tests.support.gateways import ThreadGateway, running
from tests.support.searched_logs import SearchedLogs, searching_logs


def doubly(secret: str) -> str:
    return quote(quote(secret, ""), "")


@pytest.mark.parametrize("spelled", [str, lambda secret: quote(secret, ""), doubly])
def test_a_secret_in_a_path_a_query_or_a_body_is_not_logged(gateway: ThreadGateway, spelled: object) -> None:
    assert callable(spelled)
    key = gateway.list_bot()
    saved = gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": "http://127.0.0.1:9/"})
    own = [
        gateway.operator_token,
        *((gateway.folder / name).read_text().strip() for name in (KEYS, DIGEST_SECRET)),
    ]
    for secret in [key, saved["secret"], *own, CHAT_PATH.removeprefix("/")]:
        for path in (f"/{spelled(secret)}", f"/bots/{spelled(secret)}/stats", f"/docs?key={spelled(secret)}"):
            assert gateway.request("GET", path).status_code in {200, 404, 405}
        assert gateway.operate("POST", "/manage/bots", {"id": secret, "token": secret}).status_code == 400


def used(searched: SearchedLogs, *lines: str) -> list[str]:
    searched.served = True
    for line in lines:
        searched.stream.write(line.encode() + b"\n")
    return searched.leaks()


SECRET = 'a-secret/with "all"'


@pytest.mark.parametrize(
    "written", [SECRET, quote(SECRET, ""), doubly(SECRET), json.dumps(SECRET), repr(SECRET)]
)
def test_the_search_finds_a_secret_in_every_encoding(written: str) -> None:
    searched = SearchedLogs()
    searched.add(SECRET, "short")
    assert used(searched, "a short line", "another") == []
    assert used(searched, f"before {written} behind") != []


def test_the_search_knows_every_secret_of_a_gateway_and_hears_its_whole_log(tmp_path: Path) -> None:
    with searching_logs() as searched, running(tmp_path / "data") as gateway:
        key = gateway.list_bot()
        own = {"token": "token-of-the-webhook"}
        secret = gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": "http://127.0.0.1:9/", **own})["secret"]
        chat = f"https://discord.com{CHAT_PATH}"
        gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": chat})
        files = [(gateway.folder / name).read_text().strip() for name in (KEYS, DIGEST_SECRET)]
        assert {key, secret, *own.values(), TOKEN, gateway.operator_token, *files} <= searched.secrets
        assert gateway.request("GET", "/a/path").status_code == 404
    assert "/a/path" in searched.log()
    assert "serving on " in searched.log()
    assert searched.leaks() == []
