"""An installed gateway: a command that runs in an empty folder, with an empty environment."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.gateways import OPERATOR_TOKEN, ROOT, WAIT_SECONDS, ProcessGateway

BINARY = ROOT / "dist" / "votegate"
"""The binary that `make binary` builds."""


class InstalledGateway(ProcessGateway):
    """A process of `<command> serve`."""

    def __init__(self, command: Path, folder: Path, **environment: str) -> None:
        super().__init__(folder)
        self.program = [str(command), "serve"]
        self.environment = {
            "VOTEGATE_SERVER__PORT": "0",
            "VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN,
            **environment,
        }

    def opened(self, arguments: Sequence[str], output: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*self.program, "--data-dir", str(self.folder), *arguments],
            cwd=self.folder.parent,
            env=self.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def answered(command: Path, place: Path, *arguments: str, **environment: str) -> str:
    """Run a command that must succeed. Return its output."""
    ended = run(command, place, *arguments, **environment)
    assert (ended.returncode, ended.stderr) == (0, ""), (arguments, ended)
    return ended.stdout


def run(
    command: Path, place: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [command, *arguments],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
