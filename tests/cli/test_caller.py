"""The frame of commands: where the gateway and the token come from."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server import cli
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway, running

pytestmark = pytest.mark.usefixtures("no_settings_around")


def overview(*arguments: object, **environment: object) -> Result:
    names = {f"VOTEGATE_{name}": str(value) for name, value in environment.items()}
    return CliRunner(env=names).invoke(cli, ["admin", *map(str, arguments), "debug", "overview"])


def error(result: Result) -> str:
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 1
    return result.output.removeprefix("Error: ").rstrip("\n")


def token_file(path: Path, token: str = OPERATOR_TOKEN) -> Path:
    path.write_text(f"{token}\n")
    return path


def test_a_flag_goes_before_the_environment_and_that_before_the_settings(
    gateway: ThreadGateway, tmp_path: Path
) -> None:
    url = ("--url", gateway.base_url)
    right, wrong = token_file(tmp_path / "right"), token_file(tmp_path / "wrong", "a-wrong-token")
    settings = tmp_path / "config.yaml"
    settings.write_text(f"operator: {{token: {OPERATOR_TOKEN}}}\n")
    data = tmp_path / "folder"
    data.mkdir()
    token_file(data / "operator.token")

    assert overview(*url, "--token-file", right, OPERATOR__TOKEN="wrong").exit_code == 0
    assert overview(*url, OPERATOR__TOKEN=OPERATOR_TOKEN, OPERATOR__TOKEN_FILE=wrong).exit_code == 0
    assert overview(*url, "--config", settings, OPERATOR__TOKEN_FILE=right).exit_code == 0
    assert overview(*url, "--config", settings, "--data-dir", tmp_path).exit_code == 0
    assert overview(*url, "--data-dir", data).exit_code == 0
    assert overview(*url, DATA_DIR=data).exit_code == 0
    refusals = [
        overview(*url, "--token-file", wrong, OPERATOR__TOKEN=OPERATOR_TOKEN),
        overview(*url, "--config", settings, OPERATOR__TOKEN="a-wrong-token"),
    ]
    assert [error(each) for each in refusals] == ["Invalid operator token."] * 2


def test_the_token_may_come_from_standard_input(gateway: ThreadGateway) -> None:
    arguments = ["admin", "--url", gateway.base_url, "--token-file", "-", "debug", "overview"]
    assert CliRunner().invoke(cli, arguments, input=f"{OPERATOR_TOKEN}\n").exit_code == 0


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_token_file_that_cannot_be_read_is_reported_without_its_name(
    tmp_path: Path, content: bytes | None
) -> None:
    """Somebody may have put the token itself in the place of the file."""
    path = tmp_path / "a-token-by-mistake"
    if content is not None:
        path.write_bytes(content)
    for result in (overview("--token-file", path), overview(OPERATOR__TOKEN_FILE=path)):
        line = error(result)
        assert line.startswith("no operator token: ")
        assert "by-mistake" not in line


def test_without_any_token_the_file_of_the_data_folder_is_named(tmp_path: Path) -> None:
    line = error(overview("--data-dir", tmp_path))
    assert line == (
        f"no operator token: {tmp_path / 'operator.token'}: No such file or directory; see --token-file"
    )


def test_the_settings_say_where_the_gateway_is(tmp_path: Path) -> None:
    path = tmp_path / "votegate.sock"
    config = tmp_path / "config.yaml"
    config.write_text(f"server: {{unix_socket: {path}}}\n")
    with running(tmp_path / "data", **{"server.unix_socket": path}):
        assert overview("--config", config, OPERATOR__TOKEN=OPERATOR_TOKEN).exit_code == 0
        assert overview(OPERATOR__TOKEN=OPERATOR_TOKEN, SERVER__UNIX_SOCKET=path).exit_code == 0
        assert overview("--socket", path, OPERATOR__TOKEN=OPERATOR_TOKEN).exit_code == 0
        assert overview("--url", f"unix:{path}", OPERATOR__TOKEN=OPERATOR_TOKEN).exit_code == 0


def test_settings_that_cannot_be_read_end_with_2(tmp_path: Path) -> None:
    result = overview("--config", tmp_path / "none.yaml", OPERATOR__TOKEN=OPERATOR_TOKEN)
    assert result.exit_code == 2
    assert "none.yaml: cannot be read" in " ".join(result.output.split())


def test_help_needs_neither_a_token_nor_a_gateway(tmp_path: Path) -> None:
    arguments = ["admin", "--config", str(tmp_path / "none"), "bots", "list", "--help"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert os.environ.get("VOTEGATE_OPERATOR__TOKEN") is None
