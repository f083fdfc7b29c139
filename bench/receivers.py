"""Webhook receivers, all in one process of their own: any number of ports, which answer at once or never.

A receiver that answers notes when each webhook had arrived whole, by its id. The times are those of the
monotonic clock, which all processes of a machine share.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvloop

from bench.load import LOAD_CORES, asking, on_cores
from bench.servers import Sink, header_of
from tests.support.raw_receivers import Serve

PATH = "/bench-webhooks"
BACKLOG = 1_024
PATIENCE_SECONDS = 60
LOOK_SECONDS = 0.05
NICE = 10
"""Receivers of many kinds do their worst with the time of their core that the load leaves."""


class Arrivals(NamedTuple):
    at_ns: dict[str, int]
    """The time of each arrival, by webhook id."""
    repeats: int
    """The number of webhooks that came again."""
    busy_seconds: float
    """The CPU time of the process since the last question."""


class Receivers:
    """The process, as the benchmark speaks to it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def open(self, ports: int, *, answering: bool) -> list[str]:
        """Open receivers, each on a port of its own, and return their URLs."""
        self._pipe.send(("open", ports, answering))
        return [f"http://127.0.0.1:{port}{PATH}" for port in self._pipe.recv()]

    def forget(self) -> None:
        self._arrivals()

    def arrivals(self, expected: Collection[str]) -> Arrivals:
        """Return the arrivals since the last call, once all expected ones are there.

        Raises AssertionError if one came that is not expected, or one came twice.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        while self.count() < len(expected) and time.monotonic() < give_up:
            time.sleep(LOOK_SECONDS)
        arrivals = self._arrivals()
        if arrivals.repeats or arrivals.at_ns.keys() != set(expected):
            missing = sorted(set(expected) - arrivals.at_ns.keys())
            strange = sorted(arrivals.at_ns.keys() - set(expected))
            raise AssertionError(
                f"{arrivals.repeats} of {len(expected)} webhooks came again, {len(missing)} are missing: "
                f"{missing[:3]}, {len(strange)} are nobody's: {strange[:3]}"
            )
        return arrivals

    def count(self) -> int:
        """Return the number of ids that have come."""
        self._pipe.send(("count",))
        return int(self._pipe.recv())

    def so_far(self) -> dict[str, int]:
        """Return the arrivals until now. Raises AssertionError if one came twice."""
        arrivals = self._arrivals()
        if arrivals.repeats:
            raise AssertionError(f"{arrivals.repeats} webhooks came again")
        return arrivals.at_ns

    def _arrivals(self) -> Arrivals:
        self._pipe.send(("arrivals",))
        arrivals: Arrivals = self._pipe.recv()
        return arrivals


@contextmanager
def receiving() -> Iterator[Receivers]:
    """Run receivers on the load's core, until the context ends."""
    with on_cores(LOAD_CORES), asking(_receivers) as (_, pipe):
        yield Receivers(pipe)


class _Process:
    def __init__(self) -> None:
        self._at_ns: dict[str, int] = {}
        self._repeats = 0
        self._busy_seconds = time.process_time()
        self._servers: list[asyncio.Server] = []

    async def told(self, what: str, *arguments: int) -> object:
        if what == "open":
            return await self.open(*arguments)
        return len(self._at_ns) if what == "count" else self._taken()

    async def open(self, ports: int, answering: int) -> list[int]:
        loop, opened = asyncio.get_running_loop(), list[int]()
        protocol = self._sink if answering else asyncio.Protocol  # which takes all and says nothing
        for _ in range(ports):
            listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
            self._servers.append(await loop.create_server(protocol, sock=listening))
            opened.append(listening.getsockname()[1])
        return opened

    def arrived(self, webhook_id: str) -> None:
        self._repeats += webhook_id in self._at_ns
        self._at_ns.setdefault(webhook_id, time.monotonic_ns())

    def _sink(self) -> asyncio.Protocol:
        return _KeepingSink(self)

    def _taken(self) -> Arrivals:
        busy_seconds = time.process_time()
        arrivals = Arrivals(self._at_ns, self._repeats, busy_seconds - self._busy_seconds)
        self._at_ns, self._repeats, self._busy_seconds = {}, 0, busy_seconds
        return arrivals


class _KeepingSink(Sink):
    def __init__(self, process: _Process) -> None:
        self._process = process

    def arrived(self, head: bytes) -> None:
        if head.startswith(f"post {PATH} ".encode()):  # else meant for the last user of the port
            self._process.arrived((header_of(head, b"webhook-id") or b"").decode())


def _receivers(pipe: Connection) -> None:
    async def main() -> None:
        process, loop = _Process(), asyncio.get_running_loop()
        pipe.send((await process.open(1, answering=1))[0])
        while True:
            pipe.send(await process.told(*await loop.run_in_executor(None, pipe.recv)))

    uvloop.run(main())


@contextmanager
def receiving_by_kind(serve: Callable[..., None], *arguments: object) -> Iterator[Mapping[str, list[int]]]:
    """Run a program that ends in `serve_kinds` on the load's core. Give the ports of each kind."""
    with on_cores(LOAD_CORES), asking(serve, *arguments) as (_, pipe):
        yield pipe.recv()


def serve_kinds(pipe: Connection, kinds: Mapping[str, Callable[[], Serve]], ports: int) -> None:
    """Serve the given number of receivers of each kind."""

    async def main() -> None:
        by_kind: dict[str, list[int]] = {}
        for kind, new in kinds.items():
            servers = [await asyncio.start_server(_until_gone(new()), "127.0.0.1", 0) for _ in range(ports)]
            by_kind[kind] = [each.sockets[0].getsockname()[1] for each in servers]
        pipe.send(0)  # instead of a port: each of them has one of its own
        pipe.send(by_kind)
        await asyncio.Event().wait()

    os.nice(NICE)
    uvloop.run(main())


def _until_gone(serving: Serve) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serving(reader, writer)
        except (OSError, RuntimeError, EOFError):
            pass  # the gateway has had enough
        finally:
            writer.transport.abort()

    return serve
