"""A gateway that is handed its listening socket, as systemd does it."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.gateways import ROOT, ProcessGateway
from tests.support.socket_activation import BOOTSTRAP

SERVE = "import sys; sys.argv = ['server.py', 'serve']; import server; server.cli()"
FROM_SOURCE = (sys.executable, "-W", "error", "-c", SERVE)


class Activated(ProcessGateway):
    """Is handed its listening socket, as systemd does it."""

    def __init__(self, folder: Path, listening: socket.socket, program: Sequence[str] = FROM_SOURCE) -> None:
        super().__init__(folder, LISTEN_FDS="1")
        self.program = [*program]
        self._listening = listening.fileno()

    def start(self, *_: str) -> "Activated":
        self.process = subprocess.Popen(
            [sys.executable, "-c", BOOTSTRAP, str(self._listening), *self.program],
            cwd=ROOT,
            env=self.environment,
            pass_fds=[self._listening],
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        return self
