"""The real gateway in a process that tests kill, and a client that calls it until then.

It differs from `server.py serve` only in its disk, and in that it writes parts of small snapshots. Its log is
a file beside its data folder.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import pytest
import requests

from core.clock import SystemClock
from gateway.serve import Gateway, serve
from settings.model import load_settings
from snapshot.recovery import UNREADABLE
from storage.folder import FolderUnusable
from tests.support.failing_disk import FailingDisk, Fault
from tests.support.forked_process import ForkedProcess
from tests.support.gateways import DEFAULTS, OPERATOR_TOKEN, WAIT_SECONDS, Client, eventually
from tests.support.small_parts import write_parts

LOG_LINES = 5  # the last lines say why a process ended


class DidNotStart(Exception):
    """The process ended before it served, and was not killed."""


class KillableGateway:
    """Gateways on one data folder, one after the other. Each process follows a plan of faults."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.log = folder.with_name(folder.name + ".log")
        self._flags = {
            "data_dir": folder,
            "server.port": 0,
            "operator.token": OPERATOR_TOKEN,
            **DEFAULTS,
            **settings,
        }

    def launch(self, *plan: Fault) -> None:
        """Start a process. Return before it serves."""
        self._told, telling = Pipe(duplex=False)
        self._process = ForkedProcess(_serve_until_told, self._flags, plan, telling, self.log)
        telling.close()

    def served(self) -> str | None:
        """Wait until the process serves.

        Return its URL, or None if it was killed before. Raises DidNotStart.
        """
        try:
            if not self._told.poll(WAIT_SECONDS):
                raise DidNotStart(f"it neither serves nor ends: {self.log_tail()}")
            base_url: str = self._told.recv()
        except EOFError:
            if not self.was_killed:
                raise DidNotStart(self.log_tail()) from None
            return None
        return base_url

    @property
    def has_told(self) -> bool:
        """Return true once the gateway serves, or has ended."""
        return self._told.poll()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop it in an orderly way: it finishes its requests and saves everything."""
        self._end(signal.SIGTERM)
        assert self._process.wait(WAIT_SECONDS) == 0, self.log_tail()

    @property
    def was_killed(self) -> bool:
        """Wait until the gateway ends. Return true if it was killed."""
        return self._process.wait(WAIT_SECONDS) == -signal.SIGKILL

    def log_tail(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8").splitlines()[-LOG_LINES:])

    def _end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(WAIT_SECONDS)
        self._told.close()


class Caller(Client):
    """A client of the operator. The gateway may be gone at any time."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self.base_url, self.operator_token = base_url, OPERATOR_TOKEN

    def reaches(self, call: Callable[[], object]) -> bool:
        """Call the function. Return false if the gateway ends during the call."""
        try:
            call()
        except requests.ConnectionError:
            return False
        return True

    def sees_on_disk(self, condition: Callable[[], bool]) -> bool:
        """Wait until the condition is true and durable. Return false if the gateway ends before."""

        def is_on_disk() -> bool:
            is_true = condition()  # checked first: a change is visible before it is durable
            positions = self.done("GET", "/debug/overview.json")["positions"]
            return is_true and bool(positions["durable"] == positions["head"])

        return self.reaches(lambda: eventually(is_on_disk))


C = TypeVar("C", bound=Caller)


@contextmanager
def launched(gateway: KillableGateway, new_caller: Callable[[str], C], *plan: Fault) -> Iterator[C | None]:
    """Yield a client of the gateway, or None if it was killed before it served. Kill it at the end."""
    gateway.launch(*plan)
    base_url = gateway.served()
    caller = new_caller(base_url) if base_url is not None else None
    try:
        yield caller
    finally:
        if caller is not None:
            caller.session.close()
        gateway.kill()


def _serve_until_told(
    flags: Mapping[str, object], plan: tuple[Fault, ...], telling: Connection, log: Path
) -> None:
    write_parts(pytest.MonkeyPatch())
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)

    async def started(gateway: Gateway) -> None:
        telling.send(gateway.base_url)

    async def main() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await serve(load_settings(None, {}, flags), SystemClock(), stop, started, FailingDisk(plan))

    try:
        asyncio.run(main())
    except (FolderUnusable, *UNREADABLE) as error:
        sys.exit(f"cannot serve: {error}")
