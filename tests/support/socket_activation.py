"""Processes that get listening sockets as from systemd, and a gateway that does."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.gateways import ROOT, ProcessGateway

BOOTSTRAP = """
import fcntl, os, sys
high = [fcntl.fcntl(int(given), fcntl.F_DUPFD, 100) for given in sys.argv[1].split(",") if given]
for place, descriptor in enumerate(high, 3):
    os.dup2(descriptor, place)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""
"""The part of systemd between fork and exec: it passes descriptors from 3 on, and the id of the process.

Its arguments are the descriptors, separated by commas, and the command with its arguments.
"""
SERVE = "import sys; sys.argv = ['server.py', 'serve']; import server; server.cli()"
FROM_SOURCE = (sys.executable, "-W", "error", "-c", SERVE)


class Activated(ProcessGateway):
    """A gateway that gets its listening socket as from systemd."""

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
