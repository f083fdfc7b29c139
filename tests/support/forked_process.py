"""Processes forked off one that has imported the program already.

Imports take most of a second, and tests of fleets and kills start hundreds of processes. After its start,
such a process is like any other: it has its own signals, files, sockets and exit status.
"""

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable
from multiprocessing import forkserver, get_context
from multiprocessing.connection import wait as ready

_processes = get_context("forkserver")
_one_at_a_time = threading.Lock()
"""Each start of a process by `multiprocessing` also reads the status of all others.

A status can be read once.
"""


def fork_server(*first: str) -> forkserver.ForkServer:
    """Return a fork server. It starts at the first fork, and imports these modules before the program."""
    server = forkserver.ForkServer()
    server.set_forkserver_preload(
        [
            *(*first, "server", "cli.demo", "cli.settings_port", "gateway.debug_site", "gateway.start_check"),
            *(
                "tests.support.killable_gateway",
                "tests.support.platform_stand_in",
                "tests.support.warm_start",
            ),
        ]
    )
    return server


PROGRAM = fork_server()


class ForkedProcess:
    """A call in a process of its own, with the methods of `subprocess.Popen`."""

    def __init__(
        self, target: Callable[..., None], *args: object, server: forkserver.ForkServer = PROGRAM
    ) -> None:
        self._process = _processes.Process(target=target, args=args, daemon=True)
        with _one_at_a_time:
            forkserver.connect_to_new_process = server.connect_to_new_process  # `start` calls this name
            self._process.start()

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None
        return pid

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, sig)

    def poll(self) -> int | None:
        """Return the exit status, or minus the number of the signal that ended it; None while it runs."""
        return self._status(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status as `poll` does. Raises `subprocess.TimeoutExpired`."""
        status = self._status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return status

    def _status(self, timeout: float | None) -> int | None:
        if not ready([self._process.sentinel], timeout):
            return None
        with _one_at_a_time:
            return self._process.exitcode
