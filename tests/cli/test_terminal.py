"""Lines are broken for a terminal of 80 columns, and are whole in a pipe or a file."""

import os
import pty
import subprocess
import sys

import pytest

from cli.terminal import WIDEST
from tests.support.gateways import ROOT, WAIT_SECONDS

LONG = [  # each says something longer than a line
    ["version"],
    ["serve", "--help"],
    ["admin", "bots", "submit", "--help"],
    ["check-config", "--config", "deploy/nowhere"],
]


def shown(arguments: list[str], output: int) -> None:
    """Run a command whose output goes there."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "COLUMNS" and not name.startswith("VOTEGATE_")
    }
    command = [sys.executable, "server.py", *arguments]
    subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        timeout=WAIT_SECONDS,
    )


def in_a_pipe(arguments: list[str]) -> str:
    reading, writing = os.pipe()
    shown(arguments, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def on_a_terminal(arguments: list[str]) -> str:
    ours, theirs = pty.openpty()
    shown(arguments, theirs)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:  # that is how a terminal ends
        os.close(ours)
    return said.decode()


@pytest.mark.parametrize("arguments", LONG, ids=" ".join)
def test_a_line_is_broken_on_a_terminal_and_whole_in_a_pipe(arguments: list[str]) -> None:
    terminal, pipe = on_a_terminal(arguments), in_a_pipe(arguments)
    assert terminal.split() == pipe.split()
    assert len(terminal.splitlines()) > len(pipe.splitlines())
    assert max(len(line) for line in terminal.splitlines()) <= WIDEST
