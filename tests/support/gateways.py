"""Gateways for tests: one in a thread with a fake clock, and one in a process of its own."""

import asyncio
import contextlib
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import requests
import uvloop

from core.state import State
from gateway.serve import Gateway, Logs, new_logs, serve
from journal.segments import list_segments
from operators.recent_errors import RecentErrors
from serving.log_output import LogOutput
from settings.model import Settings, load_settings
from snapshot.recovery import recover
from storage.folder import KEYS, Folder, kept_keys
from tests.support.fake_clock import FakeClock
from watchers.redaction import Redactor

ROOT = Path(__file__).parent.parent.parent
BOT = "111111111111111111"
OTHER_BOT = "222222222222222222"
SERVER = "333333333333333333"
OWNER = "444444444444444444"
USER = "555555555555555555"
OTHER_USER = "666666666666666666"
OPERATOR_TOKEN = "operator-token-of-the-tests"
WAIT_SECONDS = 120
"""A bound far beyond need, for busy machines. Only a test that fails waits so long."""

BOT_SUBMISSION: dict[str, Any] = {
    "id": BOT,
    "owner_id": OWNER,
    "name": "Test bot",
    "short_description": "A bot for the tests",
    "description": "A longer description of a bot for the tests",
    "categories": ["Utility"],
}
SERVER_SUBMISSION: dict[str, Any] = {
    "id": SERVER,
    "owner_id": OWNER,
    "name": "Test server",
    "description": "A server for the tests",
    "keywords": ["tests"],
    "category": "Gaming",
}

T = TypeVar("T")
SERVING = re.compile(r'serving on ([^,"\n]+)')
"""The line with the address, in text and in JSON."""

DEFAULTS: dict[str, object] = {"server.access_log": "off", "webhooks.allow_private_targets": True}
"""Settings of every gateway in a thread, unless the test has its own: receivers are on loopback."""


class Client:
    """An HTTP client of a gateway, as operator and as bot."""

    base_url: str
    operator_token: str

    def __init__(self) -> None:
        self.session = requests.Session()
        self.session.trust_env = False

    def request(self, method: str, path: str, **options: Any) -> requests.Response:
        return self.session.request(method, self.base_url + path, timeout=WAIT_SECONDS, **options)

    def operate(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Call the management API or a debug page with the operator token."""
        headers = {"Authorization": f"Bearer {self.operator_token}"}
        content = None if body is None else json.dumps(body)
        return self.request(method, path, headers=headers, data=content)

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """Return the body of a management call that must succeed."""
        response = self.operate(method, path, body)
        assert response.status_code in {200, 201}, response.text
        return response.json()

    def concerns(self, topic: str) -> list[str]:
        """Return the texts of the concerns of a topic."""
        found = self.done("GET", "/debug/overview.json")["concerns"]
        return [concern["text"] for concern in found if concern["topic"] == topic]

    def kept(self, path: str) -> Any:
        """Return the answer to GET without the problems of a bot's pushes, which only this process knows."""
        return {name: value for name, value in self.done("GET", path).items() if name != "stats_problems"}

    def voters(self, key: str | None, bot: str = BOT, user: str = USER, **headers: str) -> requests.Response:
        if key is not None:
            headers["Authorization"] = key
        return self.request("GET", f"/bots/{bot}/voters/{user}", headers=headers)

    def stats(self, key: str | None, body: Any, bot: str = BOT, **headers: str) -> requests.Response:
        """Push stats. Bytes are sent as they are, other bodies as JSON."""
        if key is not None:
            headers["Authorization"] = key
        content = body if isinstance(body, bytes) else json.dumps(body)
        return self.request("PATCH", f"/bots/{bot}/stats", headers=headers, data=content)

    def list_bot(self, bot: str = BOT, actual: int | None = 1_000) -> str:
        """List an approved bot. Return an API key of it."""
        self.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot})
        self.done("POST", f"/manage/bots/{bot}/approve", {})
        if actual is not None:
            self.done("PUT", f"/manage/bots/{bot}/actual-server-count", {"server_count": actual})
        key: str = self.done("POST", f"/manage/bots/{bot}/keys", {"name": "tests"})["key"]
        return key

    def list_server(self, server: str = SERVER) -> None:
        self.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "id": server})
        self.done("POST", f"/manage/servers/{server}/approve", {})

    def cast(self, user: str = USER, path: str = f"/manage/bots/{BOT}") -> Any:
        return self.done("POST", f"{path}/votes", {"user": user})

    def raw(self, data: bytes) -> bytes:
        """Send bytes as they are.

        Return everything until the server closes, or sends nothing for a second.
        """
        host, port = self.base_url.removeprefix("http://").split(":")
        received = b""
        with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            connection.settimeout(1)
            with contextlib.suppress(OSError):
                while piece := connection.recv(65_536):
                    received += piece
        return received


class ThreadGateway(Client):
    """A gateway on a real socket in this process. Its clock stands still until `advance`."""

    output: ClassVar[LogOutput | None] = None
    """The output of the log, if a test reads it."""

    def __init__(self, folder: Path, **settings: object) -> None:
        super().__init__()
        self.folder = folder
        self.clock = FakeClock()
        self.operator_token = OPERATOR_TOKEN
        own = {"data_dir": folder, "server.port": 0, "operator.token": OPERATOR_TOKEN}
        self.settings = load_settings(None, {}, {**DEFAULTS, **own, **settings})
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> "ThreadGateway":
        ready = threading.Event()

        async def started(gateway: Gateway) -> None:
            self.gateway = gateway
            self.base_url = gateway.base_url
            ready.set()

        errors = RecentErrors(Redactor(OPERATOR_TOKEN))

        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._stop = asyncio.Event()
            logging.getLogger().addHandler(errors)
            try:
                logs = Logs(self.output or new_logs().output, errors)
                await serve(self.settings, self.clock, self._stop, started, logs=logs)
            finally:
                logging.getLogger().removeHandler(errors)

        def run() -> None:
            try:
                uvloop.run(main())
            except BaseException as error:
                self._error = error
            finally:
                ready.set()

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert ready.wait(WAIT_SECONDS)
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        """Stop the gateway. Check that the disk folds to the state that was live."""
        if self._thread is None:
            return
        self.session.close()  # otherwise the stop would wait for this connection
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()
        self._thread = None
        if self._error is not None:
            raise self._error
        live = self.gateway.ledger.state.digest()
        assert folded_digest(self.folder, self.settings) == live
        assert journal_digest(self.folder, self.settings) in {live, None}

    def restart(self, seconds_down: float = 0) -> None:
        self.stop()
        self.clock.advance(seconds_down)
        self.session = requests.Session()
        self.session.trust_env = False
        self.start()

    def on_loop(self, call: Callable[[], T]) -> T:
        """Call a function in the thread of the gateway."""

        async def calling() -> T:
            return call()

        return asyncio.run_coroutine_threadsafe(calling(), self._loop).result(WAIT_SECONDS)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake the senders, which wait for it."""
        self.clock.advance(seconds)
        self._wake_senders()

    def _wake_senders(self) -> None:
        for sender in self.gateway.senders:
            self.on_loop(sender._notifier.wake.set)

    def digest(self) -> str:
        """Return a digest that is equal for equal states."""
        return self.on_loop(self.gateway.ledger.state.digest)

    def set_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, and wake the senders, so that they read it."""
        self.clock.set_wall(seconds)
        self._wake_senders()


class Process(Protocol):
    """The methods of `subprocess.Popen` that a ProcessGateway needs."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...


class ProcessGateway(Client):
    """`server.py serve` in a process that a test can kill."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__()
        self.folder = folder
        self.operator_token = OPERATOR_TOKEN
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("VOTEGATE_")},
            "VOTEGATE_DATA_DIR": str(folder),
            "VOTEGATE_SERVER__PORT": "0",
            "VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN,
            "VOTEGATE_WEBHOOKS__ALLOW_PRIVATE_TARGETS": "true",
            **environment,
        }
        self.interpreter: Sequence[str] = (sys.executable,)
        self.program = ["server.py", "serve"]
        self.output = os.memfd_create("log")
        """The standard output and error of all its processes. It has each line as soon as it is written."""
        weakref.finalize(self, os.close, self.output)

    @property
    def log(self) -> str:
        """Return everything that its processes have written so far."""
        return os.pread(self.output, os.fstat(self.output).st_size, 0).decode()

    def start(self, *arguments: str) -> "ProcessGateway":
        before = len(self.log)
        self.process = self.opened(arguments, self.output)

        def is_serving() -> bool:
            ended = self.process.poll() is not None
            found = SERVING.search(self.log, before)
            assert found or not ended, f"the gateway did not start:\n{self.log}"
            if found:
                self.base_url = found[1]
            return found is not None

        eventually(is_serving)
        return self

    def opened(self, arguments: Sequence[str], output: int) -> Process:
        """Start a process that writes its output and errors to that file."""
        return subprocess.Popen(
            [*self.interpreter, *self.program, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def signal(self, number: signal.Signals) -> int:
        """Send a signal and wait. Return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.session.close()


def folded_digest(folder: Path, settings: Settings) -> str:
    """Return the digest of the state that a start would recover."""
    on = Folder(folder, kept_keys(folder, needed=True))
    return recover(on, lambda: State(settings.webhooks.deliveries_kept)).state.digest()


def journal_digest(folder: Path, settings: Settings) -> str | None:
    """Return the digest of the journal, folded from nothing; None if its beginning was deleted after a
    snapshot."""
    segments = list_segments(folder)
    if not segments or segments[0][0] != 1:
        return None
    with tempfile.TemporaryDirectory() as name:
        for path in [path for _, path in segments] + [folder / KEYS]:
            shutil.copy(path, name)
        return folded_digest(Path(name), settings)


def eventually(condition: Callable[[], T]) -> T:
    """Wait until the condition is true. Return its value."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
    return value


@contextlib.contextmanager
def running(folder: Path, **settings: object) -> Iterator[ThreadGateway]:
    gateway = tested_kind()(folder, **settings).start()
    try:
        yield gateway
    finally:
        gateway.stop()


def tested_kind() -> type[ThreadGateway]:
    """Return the gateway in a thread, or the one of another program that `TESTED_VOTEGATE` names."""
    if "TESTED_VOTEGATE" not in os.environ:
        return ThreadGateway
    from tests.support.outside_gateway import OutsideGateway

    return OutsideGateway
