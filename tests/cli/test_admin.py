"""`admin`: the management API from a terminal, in tables for people and in JSON for programs."""

import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli import admin as admin_module
from core.events import Event, ListingSaved
from core.rows import BotProfile
from handlers.routes import ROUTES
from server import cli
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    OTHER_BOT,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
    running,
)
from tests.support.raw_http_servers import unused_url
from tests.support.webhook_receiver import Receiver, drop, status
from wire.listening import url_of

Admin = Callable[..., Result]


def run_admin(url: str, *arguments: str, token: str | None = OPERATOR_TOKEN) -> Result:
    environment = {"VOTEGATE_OPERATOR__TOKEN": token, "COLUMNS": "120"}
    return CliRunner(env=environment).invoke(cli, ["admin", "--url", url, *arguments])


@pytest.fixture
def admin(gateway: ThreadGateway) -> Admin:
    """Runs `admin` against the gateway; it must succeed."""

    def run(*arguments: str) -> Result:
        result = run_admin(gateway.base_url, *arguments)
        assert result.exit_code == 0, result.output
        return result

    return run


def error(result: Result) -> str:
    """The text with which a command failed; a traceback is none."""
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    return result.output.removeprefix("Error: ").rstrip("\n")


def rows(result: Result) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    lines = [line for line in result.output.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_bots_are_listed_in_a_table(gateway: ThreadGateway, admin: Admin) -> None:
    key = gateway.list_bot()
    assert gateway.stats(key, {"server_count": 1_000}).status_code == 200
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT, "name": "[red]Other[/red]"})
    submitted = "2025-06-15"

    one = [BOT, "Test bot", "approved", "1000", submitted]
    other = [OTHER_BOT, "[red]Other[/red]", "in_review", "-", submitted]

    assert rows(admin("bots")) == [one, other]
    assert rows(admin("bots", "--state", "approved")) == [one]
    assert rows(admin("bots", "--state", "in_review")) == [other]
    assert rows(admin("bots", "--state", "denied")) == []


def test_the_table_of_bots_fits_80_columns_however_long_a_name_is(gateway: ThreadGateway) -> None:
    name = "Jukebox" * 14
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": str((1 << 64) - 1), "name": name})
    runner = CliRunner(env={"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN, "COLUMNS": "80"})
    result = runner.invoke(cli, ["admin", "--url", gateway.base_url, "bots"])
    assert "".join(row[1] for row in rows(result)) == name
    assert max(map(len, result.output.splitlines())) <= 80


def test_all_bots_are_listed_however_many_pages_they_take(gateway: ThreadGateway, admin: Admin) -> None:
    profile = BotProfile("Test bot", "A bot for the tests", "A longer description", ("Utility",))
    ids = [str(int(BOT) + number) for number in range(1_001)]
    events: list[Event] = [ListingSaved(f"bots/{i}", USER, profile, "approved", 1) for i in ids]
    gateway.on_loop(lambda: gateway.gateway.ledger.commit(events))

    answer = json.loads(admin("--json", "bots").output)

    assert [bot["id"] for bot in answer["bots"]] == ids
    assert answer["next"] is None


def test_a_key_is_issued_and_opens_the_bot(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    (key_id, name, key) = rows(admin("key", BOT, "my key"))[0]
    issued = gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"]
    assert (key_id, name) in [(shown["id"], shown["name"]) for shown in issued]
    assert name == "my key"
    assert gateway.voters(key).status_code == 200


def test_a_key_is_shown_in_one_piece_also_on_a_narrow_terminal(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    runner = CliRunner(env={"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN, "COLUMNS": "80"})
    output = runner.invoke(cli, ["admin", "--url", gateway.base_url, "key", BOT, "my key"]).output
    keys = re.findall(r"vg_[\w-]+", output)
    assert [gateway.voters(key).status_code for key in keys] == [200]


def test_a_key_of_a_bot_without_an_actual_count_comes_with_what_to_do(
    gateway: ThreadGateway, admin: Admin
) -> None:
    gateway.list_bot(actual=None)
    assert f"PUT /manage/bots/{BOT}/actual-server-count" in admin("key", BOT, "my key").output
    gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": 5})
    assert "actual-server-count" not in admin("key", BOT, "my key").output


def test_a_vote_is_cast(gateway: ThreadGateway, admin: Admin) -> None:
    key = gateway.list_bot()
    assert rows(admin("vote", BOT, USER)) == [["1", "2025-06-15 15:06:40 UTC", "2025-06-16 15:06:40 UTC"]]
    assert gateway.voters(key).json()["voted"] is True


def test_the_state_is_shown(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    gateway.cast()
    shown = dict(rows(admin("state")))
    assert (shown["ready"], shown["counts.bots"], shown["counts.votes"]) == ("True", "1", "1")
    assert shown["not_ready_because"] == "-"
    assert "success" not in shown


def test_every_call_of_the_operator_that_is_answered_in_json_is_a_command() -> None:
    binary = {"backUp"}
    assert (
        admin_module.every_call.commands.keys()
        == {route.name for route in ROUTES if route.access == "operator"} - binary
    )
    listed = run_admin(unused_url(), "call", "--help").output
    assert re.search(r"^  showBot +Show a bot\.$", listed, re.MULTILINE)


def test_a_call_shows_every_value_of_its_answer_whatever_it_is(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    shown = dict(rows(admin("call", "showBot", BOT)))
    assert (shown["name"], shown["categories.0"], shown["limits.stats"]) == ("Test bot", "Utility", "-")
    assert json.loads(admin("--json", "call", "showBot", BOT).output) == gateway.done(
        "GET", f"/manage/bots/{BOT}"
    )


def test_a_call_takes_a_body_and_a_query(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    limits = '{"stats": {"requests": 7, "window_seconds": 60}}'
    assert dict(rows(admin("call", "setLimits", BOT, "--body", limits)))["stats.requests"] == "7"
    assert dict(rows(admin("call", "listBots", "--state", "denied", "--limit", "5")))["bots"] == "[]"


def test_a_call_sends_an_id_as_one_segment_of_the_path(gateway: ThreadGateway) -> None:
    refused = run_admin(gateway.base_url, "call", "showBot", f"{BOT}/keys?a=b")
    assert error(refused) == "There is no such listing."


@pytest.mark.parametrize(
    ("body", "reason"), [("[]", "it must be a JSON object"), ("{", "it is not JSON: Expecting property name")]
)
def test_a_body_that_is_no_json_object_is_refused_before_it_is_sent(body: str, reason: str) -> None:
    result = run_admin(unused_url(), "call", "setLimits", BOT, "--body", body)
    assert result.exit_code == 2
    assert reason in result.output


def test_json_is_the_api_s_answer(gateway: ThreadGateway, admin: Admin) -> None:
    gateway.list_bot()
    assert json.loads(admin("--json", "bots").output) == gateway.done("GET", "/manage/bots")
    issued = json.loads(admin("--json", "key", BOT, "my key").output)
    assert issued.keys() == {"success", "id", "name", "key"}
    vote = json.loads(admin("--json", "vote", BOT, USER).output)
    assert vote.keys() == {"success", "vote", "lastVote", "nextVoteAt"}
    state = json.loads(admin("--json", "state").output)
    assert state.keys() == gateway.done("GET", "/debug/state").keys()


def test_a_refusal_is_told_in_the_api_s_words(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    gateway.cast()
    url = gateway.base_url
    assert error(run_admin(url, "key", OTHER_BOT, "x")) == "There is no such listing."
    assert error(run_admin(url, "vote", BOT, USER)) == "This user can vote again in 86400 seconds."
    assert error(run_admin(url, "vote", BOT, "5")) == (
        "Some fields are not valid.\n  user: must be a snowflake: 17 to 20 digits"
    )


def test_a_state_that_does_not_exist_is_refused_before_anything_is_asked() -> None:
    result = run_admin(unused_url(), "bots", "--state", "lost")
    assert result.exit_code == 2
    assert "'lost' is not one of 'in_review', 'approved', 'denied'" in result.output


def test_a_wrong_token_is_told(gateway: ThreadGateway) -> None:
    assert error(run_admin(gateway.base_url, "bots", token="wrong")) == "Invalid operator token."


def test_the_token_may_come_from_a_file_and_the_environment_goes_before_it(
    gateway: ThreadGateway, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(f"{OPERATOR_TOKEN}\n")
    arguments = ["--token-file", str(path), "bots"]
    assert run_admin(gateway.base_url, *arguments, token=None).exit_code == 0
    assert error(run_admin(gateway.base_url, *arguments, token="wrong")) == "Invalid operator token."


@pytest.mark.parametrize("token", ["", "a-token\nand-another", "a-tökén", "a-token\n"])
def test_a_token_that_cannot_be_sent_is_told_and_not_shown(token: str) -> None:
    told = error(run_admin(unused_url(), "bots", token=token))
    assert told == "no operator token: it must be visible ASCII on one line"


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_token_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    result = run_admin(unused_url(), "--token-file", str(path), "bots", token=None)
    assert error(result).startswith("no operator token: ")


def test_a_token_in_the_place_of_its_file_is_not_shown() -> None:
    names = {"VOTEGATE_OPERATOR__TOKEN": None, "VOTEGATE_OPERATOR__TOKEN_FILE": OPERATOR_TOKEN}
    result = CliRunner(env=names).invoke(cli, ["admin", "bots"])
    assert (
        error(result)
        == "no operator token: VOTEGATE_OPERATOR__TOKEN_FILE: No such file or directory; see --token-file"
    )


def test_a_gateway_on_a_unix_socket_is_spoken_to_at_the_place_that_it_logs(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"server.unix_socket": tmp_path / "votegate.sock"}) as gateway:
        assert gateway.base_url == f"unix:{tmp_path / 'votegate.sock'}"
        answer = json.loads(run_admin(gateway.base_url, "--json", "bots").output)
        assert answer == {"success": True, "bots": [], "next": None}
        assert error(run_admin(gateway.base_url, "bots", token="wrong")) == "Invalid operator token."


def test_a_name_without_a_file_is_written_with_an_at_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "TIMEOUT_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0votegate-of-the-tests-{os.getpid()}")
        listening.listen()
        line = error(run_admin(url_of(listening), "bots"))
        listening.settimeout(WAIT_SECONDS)
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(100).startswith(b"GET /manage/bots?limit=500 HTTP/1.1\r\n")
    assert line.startswith(f"no gateway answers at unix:@votegate-of-the-tests-{os.getpid()}: ")


@pytest.mark.parametrize("path", ["/nowhere/votegate.sock", "@nobody", "", "/" + "x" * 200, __file__])
def test_where_no_gateway_is_on_a_unix_socket_that_is_told(path: str) -> None:
    line = error(run_admin(f"unix:{path}", "bots"))
    assert line.startswith(f"no gateway answers at unix:{path}: ")
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://gateway.invalid", "no url", "http://[::1", "ftp://a"]
)
def test_where_no_gateway_is_that_is_told(url: str) -> None:
    assert error(run_admin(url, "bots")).startswith(f"no gateway answers at {url}: ")


def test_a_server_that_closes_the_connection_is_no_gateway(receiver: Receiver) -> None:
    receiver.default = drop
    assert error(run_admin(receiver.url, "bots")).startswith(f"no gateway answers at {receiver.url}: ")


def test_a_server_that_does_not_answer_is_no_gateway(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_module, "TIMEOUT_SECONDS", 0.1)
    receiver.default = receiver.hang
    assert error(run_admin(receiver.url, "bots")).startswith(f"no gateway answers at {receiver.url}: ")


@pytest.mark.parametrize(
    ("code", "body"),
    [(200, b"<html>"), (502, b"<html>"), (200, b"[]"), (200, b"{}"), (200, b"null"), (500, b"[]")],
)
def test_a_server_that_speaks_otherwise_is_no_votegate(receiver: Receiver, code: int, body: bytes) -> None:
    receiver.default = status(code, body)
    assert error(run_admin(receiver.url, "bots")).startswith(f"{receiver.url} is not a Votegate gateway: ")


def test_a_redirect_is_not_followed_with_the_token(receiver: Receiver) -> None:
    receiver.default = status(302, Location=receiver.url + "/elsewhere")
    error(run_admin(receiver.url, "bots"))
    assert len(receiver.received) == 1


def test_the_token_is_in_no_text_about_the_remote() -> None:
    assert OPERATOR_TOKEN not in repr(admin_module.Remote("http://a", OPERATOR_TOKEN))
