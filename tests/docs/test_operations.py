"""docs/operations.md: its commands run word by word, and its lines of the log are those of the source."""

import re
import subprocess
from pathlib import Path

import pytest

from storage.folder import OPERATOR_TOKEN
from tests.support.gateways import ROOT, WAIT_SECONDS, ProcessGateway
from tests.support.said_in_the_log import texts_said

DOCUMENT = (ROOT / "docs/operations.md").read_text()


def section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(title: str) -> list[str]:
    """Return the commands of a section."""
    return re.findall(r"^```sh\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)


def run(script: str, gateway: ProcessGateway) -> str:
    """Run a script beside the gateway's data folder, as its operator. Return its output."""
    script = script.replace("server.py", str(ROOT / "server.py")).replace(".venv", str(ROOT / ".venv"))
    environment = {**gateway.environment, "OPERATOR": f"Authorization: Bearer {gateway.operator_token}"}
    command = ["bash", "-eu"]
    ended = subprocess.run(
        command,
        input=script,
        cwd=gateway.folder.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_every_command_over_a_unix_socket_works_word_by_word(tmp_path: Path) -> None:
    path = str(tmp_path / "votegate.sock")
    on_unix = ProcessGateway(tmp_path / "data", VOTEGATE_SERVER__UNIX_SOCKET=path).start()
    try:
        (script,) = blocks("Over a Unix socket")
        printed = run(script.replace("/run/votegate.sock", path), on_unix)
    finally:
        on_unix.close()
    assert printed.startswith('{"success":true}{"success":true,"bots":[],"next":null}')
    assert "\npositions\n  head " in printed
    assert (tmp_path / "votegate.backup").stat().st_size > 0


def test_a_backup_is_made_and_restored_word_by_word(process: ProcessGateway, tmp_path: Path) -> None:
    del process.environment["VOTEGATE_OPERATOR__TOKEN"]
    process.start()
    process.operator_token = (process.folder / OPERATOR_TOKEN).read_text().strip()
    key = process.list_bot()
    digest = process.done("GET", "/debug/data.json")["digest"]
    backup, check, restore, start = blocks("Backup and restore")
    process.environment["VOTEGATE_SERVER__PORT"] = process.base_url.rpartition(":")[2]
    assert digest in run(backup, process)
    process.close()
    assert digest in run(check + restore, process)
    assert start == ".venv/bin/python server.py serve --data-dir new-data\n"

    process.environment["VOTEGATE_SERVER__PORT"] = "0"
    process.environment["VOTEGATE_DATA_DIR"] = str(tmp_path / "new-data")
    process.start()
    assert process.done("GET", "/debug/data.json")["digest"] == digest
    assert process.voters(key).status_code == 200
    assert process.operate("GET", "/debug/overview.json").status_code == 200, "the token is the old one"


def listed_lines() -> list[str]:
    """Return the lines of the log in the first column of the section on warnings."""
    rows = re.findall(r"^\| (?:ends with |or with )?(`.+?`) \|", section("Warnings in the log"), re.MULTILINE)
    return [line for row in rows for line in re.findall(r"`([^`]+)`", row)]


def pattern(listed: str) -> re.Pattern[str]:
    """Return a pattern for a listed line, in which each `...` stands for any text."""
    return re.compile(".+".join(map(re.escape, listed.split("..."))), re.DOTALL)


@pytest.fixture(scope="module")
def said() -> dict[str, Path]:
    return texts_said({"warning", "error", "critical", "exception"})


def test_every_warning_of_the_source_tree_is_explained(said: dict[str, Path]) -> None:
    explained = [pattern(line) for line in listed_lines()]
    assert {
        text: path for text, path in said.items() if not any(line.fullmatch(text) for line in explained)
    } == {}


def test_a_lasting_problem_ends_with_a_line_of_level_info(said: dict[str, Path]) -> None:
    endings = re.findall(r"^\| ends with (`.+?`) \|", section("Warnings in the log"), re.MULTILINE)
    over = [pattern(line) for ending in endings for line in re.findall(r"`([^`]+)`", ending)]
    assert len(over) > 15
    assert [text for text in said if any(line.fullmatch(text) for line in over)] == []
    infos = texts_said({"info"})
    assert [line.pattern for line in over if not any(line.fullmatch(text) for text in infos)] == []


def test_every_explained_line_is_in_the_source(said: dict[str, Path]) -> None:
    lines = listed_lines()
    said = said | texts_said({"info"})
    assert len(lines) > 50
    assert [line for line in lines if not any(pattern(line).fullmatch(text) for text in said)] == []
    assert [line for line in lines if len(line.replace("...", "")) < 12] == [], (
        "too few characters: it would match any line"
    )
