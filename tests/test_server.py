"""The command line: output and exit status of the commands."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from core.version import VERSION
from journal.frames import FRAME_BYTES
from journal.segments import segment_path
from server import cli
from storage.folder import keep_keys
from tests.support.forked_gateway import ForkedGateway, ended
from tests.support.gateways import BOT, OPERATOR_TOKEN, ROOT, USER, WAIT_SECONDS, ProcessGateway, eventually
from tests.support.journals import KEYS, write_segment


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPERATOR__TOKEN", "DATA_DIR", "SERVER__PORT"):
        monkeypatch.delenv(f"VOTEGATE_{name}", raising=False)


def votegate(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `server.py` to its end."""
    return subprocess.run(
        [sys.executable, "server.py", *arguments],
        cwd=ROOT,
        env={f"VOTEGATE_{name}": value for name, value in environment.items()},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )


def refusal(folder: Path, *arguments: str) -> str:
    """Run `serve` on a folder that it must refuse. Return the reason from its one line of output."""
    refused = ended(["serve", "--data-dir", str(folder), "--port", "0", *arguments], {})
    assert (refused.returncode, refused.stdout) == (1, ""), refused
    (line,) = refused.stderr.splitlines()
    assert line.startswith("votegate cannot serve: ")
    return line.removeprefix("votegate cannot serve: ")


def test_a_start_warns_of_a_secret_that_is_set_twice_and_shows_neither(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("the-token-of-the-file")
    (tmp_path / "data").write_text("no folder: the start ends here")
    given = {
        "VOTEGATE_OPERATOR__TOKEN": "the-token-of-the-variable",
        "VOTEGATE_OPERATOR__TOKEN_FILE": str(tmp_path / "token"),
    }
    refused = ended(["serve", "--data-dir", str(tmp_path / "data")], given)
    first, *_ = refused.stderr.splitlines()
    assert first.endswith(
        "WARNING votegate: operator.token is set twice: "
        "VOTEGATE_OPERATOR__TOKEN is used, VOTEGATE_OPERATOR__TOKEN_FILE is ignored"
    )
    assert "the-token-of" not in refused.stderr


@pytest.mark.parametrize("path", ["/proc/x", "/sys/x"])
def test_a_data_folder_where_no_files_are_kept_is_refused_before_a_port_is_taken(path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert refusal(Path(path), "--port", str(port)) == (
            f"{path}: its file system stores no files, like /proc and /sys; choose another folder"
        )


def put_secret(path: Path, secret: str) -> None:
    """Write a secret as an operator restores it: no other user may read it."""
    path.touch(mode=0o600)
    path.write_text(secret)


def test_version_is_a_command_and_an_option() -> None:
    version, option = votegate("version"), votegate("--version", "serve")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith(f"votegate {VERSION}\ncommit   ")
    assert (option.returncode, option.stdout) == (0, version.stdout)


def imported_by(*arguments: object) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    command = [sys.executable, "-X", "importtime", "server.py", *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_SECONDS)
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if "import time:" in line}


def test_a_start_imports_only_what_it_serves_with(tmp_path: Path) -> None:
    """The import of each of these modules takes a tenth of a start, or more."""
    (tmp_path / "data").write_text("no folder: the start ends here")
    loaded = imported_by("serve", "--data-dir", tmp_path / "data", "--port", 0)
    assert "gateway.serve" in loaded
    assert not loaded & {
        "cli.about",
        "cryptography.x509",
        "openapi.document",
        "prometheus_client",
        "redis",
        "rich",
    }


@pytest.mark.parametrize(
    "arguments", [[], ["-h"], ["serve", "--help"], ["admin", "-h"], ["check-config", "-h"]]
)
def test_every_command_tells_how_it_is_used(arguments: list[str]) -> None:
    assert "Usage: " in CliRunner().invoke(cli, arguments).output


def test_the_list_of_commands_has_the_first_line_of_each_help() -> None:
    listed = CliRunner().invoke(cli, ["--help"], env={"COLUMNS": "120"}).output
    context = click.Context(cli)
    assert len(cli.list_commands(context)) > 5
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        assert re.search(
            rf"^  {name} +{re.escape(command.get_short_help_str(limit=80))}$", listed, re.MULTILINE
        )


def test_the_list_of_commands_imports_none_of_them() -> None:
    assert not imported_by("--help") & {"cli.operations", "cli.local_folder", "gateway.serve", "pydantic"}


def test_a_valid_configuration_is_called_valid() -> None:
    names = {"VOTEGATE_WEBHOOKS__NAME_SERVERS": "127.0.0.1:1"}  # tests ask no name server of the system
    arguments = ["check-config", "--config", str(ROOT / "config.yaml"), "--port", "0"]
    result = CliRunner(env=names).invoke(cli, arguments)
    assert result.exit_code == 0
    assert result.output.endswith("\nThe settings are valid.\n")


@pytest.mark.parametrize("command", ["check-config", "serve"])
def test_an_invalid_configuration_ends_with_2_and_every_mistake(tmp_path: Path, command: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data_dir: {tmp_path / 'data'}\nserver: {{port: http, colour: red}}\n")
    arguments = [command, "--config", str(config), "--address", "127.0.0.1"]

    refused = votegate(*arguments, STATS__MAX_DIFFERENCE="49", OPERATOR__TOKEN="short-secret")

    assert (refused.returncode, refused.stdout) == (2, "")
    first, *mistakes = refused.stderr.splitlines()
    assert first == "The settings are not valid:"
    names = [mistake.partition(":")[0] for mistake in mistakes if not mistake.startswith(" ")]
    assert sorted(names) == ["operator.token", "server.colour", "server.port", "stats.max_difference"]
    assert "short-secret" not in refused.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("address", ["nowhere.invalid", "a..b", "256.0.0.1"])
def test_an_invalid_address_is_refused_by_its_name(tmp_path: Path, address: str) -> None:
    assert f"cannot listen on {address} port 0: " in refusal(tmp_path / "data", "--address", address)


def test_a_busy_port_is_refused_by_its_number(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        line = refusal(tmp_path / "data", "--port", port)
    assert "Address already in use" in line
    assert port in line


def test_without_a_standard_input_and_output_a_gateway_serves_and_stops(tmp_path: Path) -> None:
    gateway = ProcessGateway(tmp_path / "data")
    gateway.interpreter = ("/bin/sh", "-c", 'exec "$@" <&- >&-', "sh", sys.executable)
    gateway.start()
    try:
        assert gateway.request("GET", "/readyz").status_code == 200
        assert gateway.signal(signal.SIGTERM) == 0, gateway.log
    finally:
        gateway.close()


def test_a_data_folder_in_use_is_refused(process: ProcessGateway) -> None:
    process.start()
    line = refusal(process.folder)
    assert line.startswith(f"{process.folder} is in use by another process (pid {process.process.pid});")
    assert process.request("GET", "/readyz").status_code == 200


def test_a_file_in_place_of_the_data_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert str(tmp_path / "data") in refusal(tmp_path / "data")


def test_a_data_folder_that_others_may_write_is_refused_with_the_command_that_fixes_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o775)
    assert refusal(tmp_path / "data") == (
        f"{tmp_path / 'data'} can be written by others (mode 0775), who could plant files in it; "
        f"fix it with: chmod go-w {tmp_path / 'data'}"
    )
    assert list((tmp_path / "data").iterdir()) == []


def test_a_corrupt_journal_is_refused_with_its_place_and_left_alone(tmp_path: Path) -> None:
    keep_keys(tmp_path, KEYS)
    write_segment(tmp_path, 1, 0, [[b"[]"], [b"[]"], []])
    path = segment_path(tmp_path, 1)
    content = bytearray(path.read_bytes())
    end = len(content) - FRAME_BYTES  # of the last but one: the last frame says that it was durable
    content[end - 1] ^= 1
    path.write_bytes(content)

    assert re.match(rf"{path}: the frame fails its checksum \(at byte \d+\); restore", refusal(tmp_path))
    assert path.read_bytes() == content


def test_a_journal_of_another_version_is_refused_with_the_number_of_the_record(tmp_path: Path) -> None:
    keep_keys(tmp_path, KEYS)
    write_segment(tmp_path, 1, 0, [[b'[{"type":"listing_saved.99"}]']])
    assert refusal(tmp_path).startswith(f"record 1 in {tmp_path} was written by another version: ")


@pytest.mark.parametrize(
    ("length", "why"),
    [(0, "is empty"), (15, "is damaged: its length is 15"), (65, "is damaged: its length is 65")],
)
def test_a_damaged_secret_is_refused_and_left_alone(tmp_path: Path, length: int, why: str) -> None:
    secret = "x" * length
    path = tmp_path / "key-digest.secret"
    put_secret(path, secret)
    assert refusal(tmp_path).startswith(f"{path} {why}; restore it")
    assert path.read_text() == secret


def test_the_secret_of_the_keys_is_not_replaced_once_there_are_keys(process: ProcessGateway) -> None:
    process.start()
    process.list_bot()
    process.close()
    path = process.folder / "key-digest.secret"
    secret = path.read_text()
    path.unlink()
    assert refusal(process.folder) == f"{path} is missing, and no API key works without it; restore it"
    put_secret(path, secret)
    process.start()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[ProcessGateway]:
    gateway = ProcessGateway(tmp_path / "data").start("--demo")
    yield gateway
    gateway.close()


def answers_of_the_demo(demo: ProcessGateway) -> list[Any]:
    """Send the requests that the demo prints. Return the answers."""
    return [
        json.loads(subprocess.run(["curl", "--silent", *shlex.split(options)], capture_output=True).stdout)
        for options in re.findall(r"^  curl (.+)$", demo.log, re.MULTILINE)
    ]


def test_a_demo_prints_requests_that_work(demo: ProcessGateway) -> None:
    eventually(lambda: "Stop with Ctrl-C" in demo.log)
    voted, pushed = answers_of_the_demo(demo)
    assert (voted["voted"], voted["vote"]) == (True, 1)
    assert pushed == {"success": True}
    assert demo.request("GET", "/bots/123456789012345678/voters/" + USER).status_code == 401


def test_a_demo_on_a_unix_socket_prints_requests_that_work(tmp_path: Path) -> None:
    path = tmp_path / "a gateway.sock"
    gateway = ForkedGateway(tmp_path / "data", VOTEGATE_SERVER__UNIX_SOCKET=str(path)).start("--demo")
    try:
        eventually(lambda: "Stop with Ctrl-C" in gateway.log)
        voted, pushed = answers_of_the_demo(gateway)
    finally:
        gateway.close()
    assert f"curl --unix-socket '{path}' " in gateway.log
    assert (voted["voted"], pushed) == (True, {"success": True})


def test_a_demo_is_made_only_in_an_empty_folder(tmp_path: Path) -> None:
    gateway = ForkedGateway(tmp_path / "data").start()
    gateway.list_bot()
    gateway.close()
    again = ForkedGateway(tmp_path / "data").start("--demo")
    try:
        assert len(again.done("GET", "/manage/bots")["bots"]) == 1
    finally:
        again.close()
    assert "curl" not in again.log


def test_the_operator_token_is_made_once_and_never_logged(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        gateway = ForkedGateway(tmp_path / "data")
        del gateway.environment["VOTEGATE_OPERATOR__TOKEN"]
        gateway.start()
        try:
            gateway.operator_token = (gateway.folder / "operator.token").read_text().strip()
            assert gateway.operate("GET", "/debug/overview.json").status_code == 200
        finally:
            gateway.close()
        assert gateway.operator_token not in gateway.log
        tokens.append(gateway.operator_token)
    assert tokens[0] == tokens[1] != OPERATOR_TOKEN
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("arguments", "status"), [([], 400), (["--allow-private-targets"], 200)])
def test_a_flag_lets_webhooks_into_private_networks(
    tmp_path: Path, arguments: list[str], status: int
) -> None:
    gateway = ForkedGateway(tmp_path, VOTEGATE_WEBHOOKS__ALLOW_PRIVATE_TARGETS="false").start(*arguments)
    try:
        gateway.list_bot()
        body = {"url": "https://10.0.0.1/votes"}
        assert gateway.operate("PUT", f"/manage/bots/{BOT}/webhook", body).status_code == status
    finally:
        gateway.close()
