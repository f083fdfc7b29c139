"""`completion`: what a shell offers."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from server import cli
from tests.support.gateways import ROOT, WAIT_SECONDS


@pytest.fixture
def votegate(tmp_path: Path) -> Path:
    """A folder with a command `votegate`."""
    path = tmp_path / "bin" / "votegate"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "server.py"} "$@"\n')
    path.chmod(0o755)
    return path.parent


def script(shell: str) -> str:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("votegate ver", {"version"}),
        ("votegate admin we", {"webhook"}),
        (
            "votegate admin bots ",
            {
                *("approve", "deny", "edit", "history", "inspect", "list", "remove", "show", "submit"),
                "withdraw",
                *("accept-offer", "end-offer", "offer"),
            },
        ),
        ("votegate admin moderators ", {"add", "list", "remove"}),
        ("votegate admin users quarantine 1 ", {"sign_in", "submit", "vote", "report"}),
        ("votegate admin bots list --s", {"--state"}),
        ("votegate admin bots list --state ", {"in_review", "approved", "denied"}),
        ("votegate completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_commands_options_and_states(votegate: Path, words: str, offered: set[str]) -> None:
    typed = words.split(" ")
    asking = f"""{script("bash")}
COMP_WORDS=({shlex.join(typed)})
COMP_CWORD={len(typed) - 1}
_votegate_completion votegate
printf "%s\\n" "${{COMPREPLY[@]}}"
"""
    bash = shutil.which("bash")
    assert bash is not None
    environment = {"PATH": f"{votegate}:/usr/bin:/bin"}
    told = subprocess.run(
        [bash, "--norc"],
        input=asking,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert told.stderr == ""
    assert set(told.stdout.split()) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_ask_the_same_program(shell: str, tmp_path: Path) -> None:
    text = script(shell)
    assert f"_VOTEGATE_COMPLETE={shell}_complete" in text
    program = shutil.which(shell)
    if program is None:
        return  # its syntax is judged where it is installed
    path = tmp_path / "script"
    path.write_text(text)
    assert subprocess.run([program, "-n", str(path)], timeout=WAIT_SECONDS).returncode == 0


def test_a_shell_that_is_not_known_is_refused_with_those_that_are() -> None:
    result = CliRunner().invoke(cli, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.output
