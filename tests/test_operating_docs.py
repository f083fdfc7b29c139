"""docs/operating.md: its commands are run word by word, and what it names is there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.gateway import ROOT, ProcessGateway

DOCUMENT = (ROOT / "docs/operating.md").read_text()


def section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.fixture
def on_unix(tmp_path: Path) -> ProcessGateway:
    return ProcessGateway(tmp_path / "data", VOTEGATE_SERVER__UNIX_SOCKET=str(tmp_path / "votegate.sock"))


def test_every_command_over_a_unix_socket_works_word_by_word(on_unix: ProcessGateway, tmp_path: Path) -> None:
    (script,) = re.findall(r"^```sh\n(.*?)^```$", section("Over a Unix socket"), re.MULTILINE | re.DOTALL)
    script = script.replace("/run/votegate.sock", str(tmp_path / "votegate.sock"))
    script = script.replace("server.py", str(ROOT / "server.py")).replace(".venv", str(ROOT / ".venv"))
    on_unix.start()
    on_unix.environment["OPERATOR"] = f"Authorization: Bearer {on_unix.operator_token}"
    try:
        run = subprocess.run(
            ["bash", "-eu"],
            input=script,
            cwd=tmp_path,
            env=on_unix.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        on_unix.close()
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith('{"success":true}{"success":true,"bots":[],"next":null}')
    assert "positions.head" in run.stdout
    assert (tmp_path / "votegate.backup").stat().st_size > 0


def test_every_file_and_section_that_the_document_names_exists() -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]+)?\)", DOCUMENT):
        target = ROOT / "docs" / (path or "operating.md")
        assert target.is_file(), path
        titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
        anchors = {"#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, anchor
