"""The real gateway in a process of its own, to be killed, and who speaks to it meanwhile. Law: it differs
from `server.py serve` in its disk.

What a process logs goes to a file beside its data folder.
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

import requests

from core.clock import SystemClock
from gateway.serve import Gateway, serve
from settings.model import load_settings
from snapshot.recovery import UNREADABLE
from storage.folder import FolderUnusable
from tests.support.failing_disk import FailingDisk, Fault
from tests.support.forked_process import ForkedProcess
from tests.support.gateways import DEFAULTS, OPERATOR_TOKEN, WAIT_SECONDS, Client, eventually

LOG_LINES = 5  # of the end: they tell why


class DidNotStart(Exception):
    """The process ended before it served, and nobody had killed it."""


class KillableGateway:
    """Gateways on one data folder, one after the other. A process keeps to a plan of faults."""

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
        """Returns before the process serves."""
        self._told, telling = Pipe(duplex=False)
        self._process = ForkedProcess(_serve_until_told, self._flags, plan, telling, self.log)
        telling.close()

    def served(self) -> str | None:
        """Waits until the process serves, and returns its URL; None when it was killed before.

        Raises DidNotStart.
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
        """Return true once the gateway serves, or has ended by itself."""
        return self._told.poll()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Lets it finish what runs and save everything."""
        self._end(signal.SIGTERM)
        assert self._process.wait(WAIT_SECONDS) == 0, self.log_tail()

    @property
    def was_killed(self) -> bool:
        """Return true if the gateway ends, within a generous bound, because it was killed."""
        return self._process.wait(WAIT_SECONDS) == -signal.SIGKILL

    def log_tail(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8").splitlines()[-LOG_LINES:])

    def _end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(WAIT_SECONDS)
        self._told.close()


class Caller(Client):
    """Speaks as the operator to a gateway that may be gone."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self.base_url, self.operator_token = base_url, OPERATOR_TOKEN

    def reaches(self, call: Callable[[], object]) -> bool:
        """Calls; returns False when the gateway goes before that ends."""
        try:
            call()
        except requests.ConnectionError:
            return False
        return True

    def sees_on_disk(self, condition: Callable[[], bool]) -> bool:
        """Waits until it is so, and on disk; returns False when the gateway goes before."""

        def is_on_disk() -> bool:
            is_so = condition()  # asked first: it is so before that is on disk
            positions = self.done("GET", "/debug/overview.json")["positions"]
            return is_so and bool(positions["durable"] == positions["head"])

        return self.reaches(lambda: eventually(is_on_disk))


C = TypeVar("C", bound=Caller)


@contextmanager
def launched(gateway: KillableGateway, new_caller: Callable[[str], C], *plan: Fault) -> Iterator[C | None]:
    """Who speaks to it, until it is killed; None when it was killed before it served."""
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
