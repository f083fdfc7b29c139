"""The channel between the supervisor and a worker, and what a worker inherits from the supervisor.

A worker finds the numbers of its descriptors in one variable of its environment. It is no setting.

From the worker come texts of sd_notify(3), such as `READY=1`, and `RESTART=1` when an operator wants new
workers. To the worker goes a `WorkerReports` whenever something has changed. The end of the channel tells
each side that the other one is gone, however it ended.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping
from typing import Literal

import msgspec
from msgspec import Struct

VARIABLE = "WORKER_INHERITS"
MOST_BYTES = 65_536
"""The longest message, in both directions."""
RESTART = "RESTART"
State = Literal["starting", "ready", "not ready", "stopping", "waiting"]
"""`waiting`: its process has ended, and the next one begins a little later."""


class Inherited(Struct, frozen=True):
    """The descriptors of a worker.

    Args:
        worker: its number, from 1.
        workers: how many workers there are.
        channel: one end of a pair of sockets; the supervisor has the other one.
        memory: the memory that all workers map.
        sockets: listen to clients.
        metrics_sockets: listen to Prometheus.
    """

    worker: int
    workers: int
    channel: int
    memory: int
    sockets: tuple[int, ...]
    metrics_sockets: tuple[int, ...] = ()

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (self.channel, self.memory, *self.sockets, *self.metrics_sockets)


class WorkerReport(Struct, frozen=True):
    """A worker as the supervisor knows it."""

    worker: int
    state: State
    why: str
    """Why it is not ready; empty if it is."""
    pid: int | None
    since_ms: int
    """The wall time at which the state began."""
    starts: int
    """The number of its processes so far."""
    failures: int
    """The number of its processes that ended although nobody stopped them."""


class WorkerReports(Struct, frozen=True):
    """All workers, and whether they are being replaced at this moment."""

    workers: tuple[WorkerReport, ...]
    is_rolling: bool


def worker_number(environment: Mapping[str, str]) -> int | None:
    """Return the number of the worker that this process is; None if no supervisor has started it."""
    given = environment.get(VARIABLE)
    return msgspec.json.decode(given, type=Inherited).worker if given is not None else None


def take_inherited(environment: MutableMapping[str, str]) -> Inherited | None:
    """Take the variable out of `os.environ`: child processes must not read it."""
    given = environment.pop(VARIABLE, None)
    return msgspec.json.decode(given, type=Inherited) if given is not None else None


def given_to(inherited: Inherited) -> dict[str, str]:
    """Return the variable for the environment of a worker."""
    return {VARIABLE: msgspec.json.encode(inherited).decode()}


def pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a new channel."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


def adopted(descriptors: tuple[int, ...]) -> list[socket.socket]:
    """Return sockets of inherited descriptors. They pass to no child process."""
    found = []
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
        found.append(socket.socket(fileno=descriptor))
        found[-1].setblocking(False)
    return found


def fields_of(message: bytes) -> dict[str, str]:
    """Read a message of sd_notify(3)."""
    lines = message.decode("utf-8", "replace").splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}
