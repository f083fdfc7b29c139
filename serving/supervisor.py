"""Messages to the supervisor that started the process: systemd, or that of several workers, in the format of
sd_notify(3).

They say when the gateway is ready, why it is not, that it reads files again, that it stops, and that its
event loop still runs (the watchdog). A gateway that nobody supervises sends nothing.

Invariant: no failure to send reaches the caller. A supervisor that is gone never ends the gateway.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator, MutableMapping

from core.clock import NS_PER_SECOND, Clock

STEP_SECONDS = 0.25
US_PER_SECOND = 1_000_000
LONGER_US = 60 * US_PER_SECOND
"""The time that each message of a start asks for: a new node of a fleet waits for a copy."""
log = logging.getLogger(__name__)


class Supervisor:
    """The socket of the supervisor, and the state that it knows."""

    def __init__(
        self, environment: MutableMapping[str, str], clock: Clock, channel: socket.socket | None = None
    ) -> None:
        """Take the supervisor's variables out of `os.environ`: child processes must not send messages too.

        Args:
            channel: connected to the supervisor, if that is one of ours (`workers/supervisor_channel.py`).
        """
        self._clock = clock
        self._channel = channel
        self._address = _address(environment.pop("NOTIFY_SOCKET", ""))
        self._watchdog_ns = _watchdog_ns(
            environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        )
        self._pinged_ns = clock.monotonic_ns()
        self._status = ""
        self._is_ready = False
        self._has_failed = False

    @property
    def watchdog_seconds(self) -> float | None:
        """The time after which the supervisor ends a process that says nothing; None for any time."""
        return self._watchdog_ns / NS_PER_SECOND if self._watchdog_ns is not None else None

    def watchdog_of_children(self) -> dict[str, str]:
        """Return the variables by which child processes report to this process that their loops run."""
        return {"WATCHDOG_USEC": str(self._watchdog_ns // 1_000)} if self._watchdog_ns is not None else {}

    async def run(
        self, readiness: Callable[[], str | None], when_ready: Callable[[], str] = lambda: "ready"
    ) -> None:
        """Report until cancelled.

        Args:
            readiness: returns None when the gateway is ready, else why it is not.
            when_ready: returns the status of a gateway that is ready.
        """
        if self._address is None and self._channel is None:
            return
        seconds = STEP_SECONDS
        if self._watchdog_ns is not None:
            seconds = min(seconds, self._watchdog_ns / NS_PER_SECOND / 4)
        while True:
            self.step(readiness(), when_ready())
            await asyncio.sleep(seconds)

    def step(self, why_not_ready: str | None, when_ready: str = "ready") -> None:
        """Report changes, and that the loop runs. The next step repeats a report that could not be sent."""
        said = {}
        is_ready = self._is_ready or why_not_ready is None
        if is_ready and not self._is_ready:
            said["READY"] = "1"
        status = when_ready if why_not_ready is None else f"not ready: {why_not_ready}"
        if status != self._status:
            said["STATUS"] = status
        if not is_ready:
            said["EXTEND_TIMEOUT_USEC"] = str(LONGER_US)
        now_ns = self._clock.monotonic_ns()
        if self._watchdog_ns is not None and now_ns - self._pinged_ns >= self._watchdog_ns // 2:
            said["WATCHDOG"] = "1"
        if self._tell(said):
            self._is_ready, self._status = is_ready, status
            self._pinged_ns = now_ns if "WATCHDOG" in said else self._pinged_ns

    @contextlib.contextmanager
    def reloading(self) -> Iterator[None]:
        """Report that files are read again, and then that it is done."""
        if not self._is_ready:  # READY=1 would end the start
            yield
            return
        self._tell({"RELOADING": "1", "MONOTONIC_USEC": str(self._clock.monotonic_ns() // 1_000)})
        try:
            yield
        finally:
            self._tell({"READY": "1"})

    def stopping(self) -> None:
        """Report that the gateway stops. The next step gives the reason as a status."""
        self._tell({"STOPPING": "1"})

    def _tell(self, said: dict[str, str]) -> bool:
        """Send a message. Return true if the supervisor's socket took it."""
        if not said or (self._address is None and self._channel is None):
            return False
        text = "\n".join(f"{name}={value}" for name, value in said.items())
        try:
            self._send(text.encode())
        except OSError as error:
            if not self._has_failed:
                log.warning("the supervisor cannot be notified: %s", error)
            self._has_failed = True
            return False
        if self._has_failed:
            log.info("the supervisor is notified again")
        self._has_failed = False
        return True

    def _send(self, message: bytes) -> None:
        if self._channel is not None:
            self._channel.send(message)
        elif self._address is not None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
                sender.sendto(message, self._address)


def _address(notify_socket: str) -> str | None:
    """Return the address for `sendto`. A name without a file begins with @, and is sent with a null byte."""
    if notify_socket.startswith("@"):
        return f"\0{notify_socket[1:]}"
    return notify_socket if notify_socket.startswith("/") else None


def _watchdog_ns(microseconds: str, pid: str) -> int | None:
    """Return how long the loop may be silent; None without a watchdog, or with one of another process."""
    if not microseconds.isdecimal() or int(microseconds) == 0 or pid not in {"", str(os.getpid())}:
        return None
    return int(microseconds) * 1_000
