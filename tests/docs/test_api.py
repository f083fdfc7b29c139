"""docs/api.md: its clients run word by word, and a gateway answers as it says."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ratelimit.bucket import Decision, headers
from settings.model import Settings
from tests.support.contract import refusal
from tests.support.gateways import BOT, OTHER_BOT, ROOT, USER, WAIT_SECONDS, ThreadGateway
from tests.support.openapi_lookup import ERRORS, PUBLIC, errors_of
from tests.support.programs import installed

DOCUMENT = (ROOT / "docs/api.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
PROGRAMS = {kind: text for kind, text in BLOCKS if kind in {"python", "js"}}

Run = Callable[..., list[str]]


def section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the table in a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@pytest.fixture(params=["python", "js"])
def client(request: pytest.FixtureRequest, tmp_path: Path, gateway: ThreadGateway) -> Run:
    """Run a client of the document for a bot. Return its lines of output."""
    interpreter = sys.executable if request.param == "python" else installed("node")
    path = tmp_path / f"client.{request.param}"
    path.write_text(PROGRAMS[request.param])

    def run(key: str, bot: str = BOT) -> list[str]:
        direct = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment = {**direct, "API": gateway.base_url, "BOT_ID": bot, "API_KEY": key}
        command = [str(interpreter), str(path), "1000", "42", USER]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
        )
        return done.stdout.splitlines()

    return run


def test_a_client_pushes_counts_and_asks_for_a_vote(gateway: ThreadGateway, client: Run) -> None:
    key = gateway.list_bot()
    assert client(key) == ["pushed", "not voted"]
    gateway.cast()
    assert client(key) == ["pushed", "voted"]
    listing = gateway.done("GET", f"/manage/bots/{BOT}")
    assert (listing["server_count"], listing["command_count"]) == (1_000, 42)


def test_a_client_finds_the_wait_in_the_header(gateway: ThreadGateway, client: Run) -> None:
    key = gateway.list_bot()
    for _ in range(2):
        assert gateway.stats(key, {"command_count": 1}).status_code == 200
    assert client(key)[0] == ("not pushed: 429 Too many requests, please try again later. Wait: 7200")


def test_a_client_tells_the_text_of_an_error(gateway: ThreadGateway, client: Run) -> None:
    key = gateway.list_bot()
    for none, bot, error in [
        (f"Bearer {key}", BOT, "401 Invalid API key."),
        (key, OTHER_BOT, "404 Bot not found."),
    ]:
        for line, what in zip(client(none, bot), ("pushed", "asked"), strict=True):
            assert re.fullmatch(rf"not {what}: {re.escape(error)} Wait: (None|null)", line)


@pytest.mark.parametrize(("kind", "path"), [("python", "client.py"), ("js", "client.js")])
def test_the_examples_are_the_documents(kind: str, path: str) -> None:
    assert (ROOT / "examples" / path).read_text() == PROGRAMS[kind]


def test_every_error_of_the_public_endpoints_is_in_the_table_with_its_text() -> None:
    named = {name for operation in PUBLIC for name in errors_of(operation)}
    replies = [ERRORS[name].reply for name in named | {"noSuchPath"}]
    said = {(str(reply.status), json.loads(reply.body)["error"]) for reply in replies}
    shown = {(status, text) for status, text, _ in rows("Errors")}
    assert said <= shown
    assert shown - said == {("405", "Method not allowed. Use PATCH.")}, "whose text is of the path"


def test_the_headers_named_are_those_of_a_refusal() -> None:
    refused = Decision(False, 100, 0, 300, 300, 0)
    assert {name.strip("`") for name, _ in rows("Limits")} == {*headers(refused)}


def test_the_mistakes_of_others_end_as_the_document_says(gateway: ThreadGateway) -> None:
    key = gateway.list_bot()
    bodies = [cells for cells in rows("Mistakes that others have made") if cells[0].startswith("`{")]
    assert len(bodies) == 3
    for sent, _, instead in bodies:
        assert refusal(gateway.stats(key, sent.strip("`").encode()))[0] == 400
        assert gateway.stats(key, instead.strip("`").replace("1210", "1000").encode()).status_code == 200
        gateway.advance(7_200)
    for path in (f"/bots/{BOT}/voters/{USER}//", f"//bots/{BOT}/voters/{USER}"):
        response = gateway.request("GET", path, headers={"Authorization": key})
        assert refusal(response) == (404, "Not found.")
    proxied = gateway.session.get(
        f"http://api.example/bots/{BOT}/voters/{USER}/",
        headers={"Authorization": key},
        proxies={"http": gateway.base_url},
        timeout=WAIT_SECONDS,
    )
    assert proxied.json()["voted"] is False
    posted = gateway.request("POST", f"/bots/{BOT}/stats", headers={"Authorization": key})
    assert refusal(posted) == (405, "Method not allowed. Use PATCH.")
    with_scheme = gateway.voters(f"Bearer {key}")
    assert with_scheme.json()["error"] == "Invalid API key."
    assert with_scheme.headers["www-authenticate"].startswith('ApiKey hint="no scheme: ')
    shown = gateway.done("GET", f"/manage/bots/{BOT}")["stats_problems"]
    assert {each["field"] for each in shown} == {"commands_count", "body", "server_count"}


def test_the_numbers_are_the_defaults() -> None:
    limits, stats = Settings().limits, Settings().stats
    sentences = [
        f"| {limits.stats.requests} requests in {limits.stats.window_seconds // 60} minutes |",
        f"| {limits.voters.requests} requests in {limits.voters.window_seconds // 60} minutes |",
        f"({limits.failures.requests} times in {limits.failures.window_seconds // 60} minutes)",
        f"off by {stats.max_difference} or by 10%",
    ]
    assert [sentence for sentence in sentences if sentence not in " ".join(DOCUMENT.split())] == []
