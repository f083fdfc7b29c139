"""A gateway of the contract's tests that is a command, such as the binary: TESTED_VOTEGATE=dist/votegate.

It has no clock that a test can move, and no state that a test can reach into: such tests are skipped. It
starts in an empty folder and with nothing in its environment.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.gateways import (
    DEFAULTS,
    OPERATOR_TOKEN,
    SERVING,
    WAIT_SECONDS,
    T,
    ThreadGateway,
    eventually,
    folded_digest,
    journal_digest,
)

TESTED = Path(os.environ.get("TESTED_VOTEGATE", "")).absolute()


class OutsideGateway(ThreadGateway):
    """The command, in place of a thread."""

    def __init__(self, folder: Path, **settings: object) -> None:
        super().__init__(folder, **settings)
        del self.clock
        self._given = {**DEFAULTS, "server.port": 0, "operator.token": OPERATOR_TOKEN, **settings}
        self._process: subprocess.Popen[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        pytest.skip(f"this test reaches into the gateway's process: {name}")

    def on_loop(self, call: Callable[[], T]) -> T:
        pytest.skip(f"this test calls in the gateway's process: {call}")

    def start(self) -> "OutsideGateway":
        place = self.folder.parent
        config, output = place / "outside.yaml", place / "outside.log"
        config.write_text(yaml.safe_dump(_nested(self._given)))
        command = [str(TESTED), "serve"]
        with output.open("wb") as written:
            self._process = subprocess.Popen(
                [*command, "--config", str(config), "--data-dir", str(self.folder)],
                cwd=place,
                env={},
                stdout=written,
                stderr=subprocess.STDOUT,
            )

        def is_serving() -> bool:
            log = output.read_text()
            assert self._process is not None
            found = SERVING.search(log)
            assert found or self._process.poll() is None, f"the gateway did not start:\n{log}"
            if found:
                self.base_url = found[1]
            return found is not None

        eventually(is_serving)
        return self

    def stop(self) -> None:
        if self._process is None:
            return
        self.session.close()
        self._process.send_signal(signal.SIGTERM)
        status, self._process = self._process.wait(WAIT_SECONDS), None
        log = (self.folder.parent / "outside.log").read_bytes()
        if self.output is not None:
            self.output.stream.write(log)
        assert status == 0, log.decode()
        folded = folded_digest(self.folder, self.settings)
        assert journal_digest(self.folder, self.settings) in {folded, None}

    def restart(self, seconds_down: float = 0) -> None:
        if seconds_down:
            pytest.skip("this test lets time pass")
        super().restart()

    def digest(self) -> str:
        found: str = self.done("GET", "/debug/data.json")["digest"]
        return found


def _nested(settings: dict[str, object]) -> dict[str, Any]:
    """Return what a settings file says for settings with dots in their names."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        *sections, last = name.split(".")
        below = tree
        for section in sections:
            below = below.setdefault(section, {})
        below[last] = str(value) if isinstance(value, Path) else value
    return tree
