"""`votegate dev --json` in a process: its happenings as they are printed, and its commands."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.demo import BOT
from tests.support.gateways import ROOT, WAIT_SECONDS, Client, eventually

Happened = Mapping[str, Any]


SOURCE_TREE = (sys.executable, str(ROOT / "server.py"))


def dev_command(*options: str, program: Sequence[str] = SOURCE_TREE) -> list[str]:
    """Return the command of a gateway for development on any free port."""
    return [*program, "dev", "--port", "0", *options]


class DevGateway(Client):
    """A gateway for development, started in a folder of its own. Its temporary folder is in there, too."""

    def __init__(
        self, folder: Path, *options: str, program: Sequence[str] = SOURCE_TREE, **environment: str
    ) -> None:
        super().__init__()
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.happened: list[Happened] = []
        self.errors = ""
        self.process = subprocess.Popen(
            dev_command("--json", *options, program=program),
            cwd=folder,
            env={**os.environ, "TMPDIR": str(self.temporary), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reading = [threading.Thread(target=each) for each in (self._read, self._read_errors)]
        for each in self._reading:
            each.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.happened.append(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def start(self) -> "DevGateway":
        """Wait until it serves."""
        self.base_url = self.next("ready")["url"]
        return self

    def next(self, event: str, condition: Callable[[Happened], bool] = lambda _: True) -> Happened:
        """Wait for a happening that no earlier call has returned. Return it."""

        def found() -> Happened | None:
            for at, each in enumerate(self.happened):
                if each["event"] == event and condition(each):
                    return self.happened.pop(at)
            assert self.process.poll() is None or self._reading[0].is_alive(), self.errors
            return None

        happened = eventually(found)
        assert happened is not None
        return happened

    def press(self, command: str) -> Happened:
        """Give a command, and return what it did."""
        self.send(command)
        return self.next("command", lambda each: each["command"] == command[0])

    def send(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def environment(self, file: str = ".env") -> Mapping[str, str]:
        """Return the variables of the file that it has written."""
        lines = (self.folder / file).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if not line.startswith("#"))

    @property
    def key(self) -> str:
        return self.environment()["API_KEY"]

    def voted(self, user: str) -> Any:
        """Ask for a vote as the demo bot. Return the answer's body."""
        return self.voters(self.key, BOT, user).json()

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end, and return the exit status."""
        status = self.process.wait(WAIT_SECONDS)
        for each in self._reading:
            each.join(WAIT_SECONDS)
        self._close()
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.ended()

    def _close(self) -> None:
        self.session.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
