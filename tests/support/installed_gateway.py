"""A gateway that was installed: a command that runs in an empty folder, with nothing in its environment."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.gateways import OPERATOR_TOKEN, ROOT, WAIT_SECONDS, ProcessGateway

BINARY = ROOT / "dist" / "votegate"
"""What `make binary` builds."""


class InstalledGateway(ProcessGateway):
    """`serve` of the command."""

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
    """What a command prints that must succeed."""
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
