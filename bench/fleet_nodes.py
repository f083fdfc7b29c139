"""The nodes that the fleet's benchmark feeds, with the default settings.

Every vote that a node holds has its moment: when it was durable there, or merged from another node. All
processes of a machine share the clock of these moments.
"""

import asyncio
import os
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.fed_gateways import Calls, cast, serve_fed
from bench.load import SERVER_CORES, asking, on_cores
from core.events import Event, Merged, VoteCast
from core.webhook_events import NewDeliveries
from gateway.serve import Gateway

NS = 1_000_000_000
CAST_AT_ONCE = 64
FIRST_USER = 8 * 10**17
PENDING_MOST = 1_000


def user_of(number: int) -> str:
    return str(FIRST_USER + number)


class FleetNode(NamedTuple):
    """The process, as the benchmark speaks to it."""

    port: int
    pipe: Connection

    def cast(self, refs: Sequence[str], first: int, count: int) -> float:
        """Cast votes for these in turn, as fast as possible. Return the seconds until all are durable."""
        return float(self._ask("cast", refs, first, count))

    def begin_steady(self, refs: Sequence[str], first: int, rate: float, seconds: float) -> None:
        """Begin to cast votes at fixed moments. `end_steady` waits for the last one."""
        self.pipe.send(("steady", refs, first, rate, seconds))

    def end_steady(self) -> None:
        self.pipe.recv()

    def moments_ns(self, first: int, count: int) -> "array[int]":
        """Return the times at which these votes were durable or merged here; 0 for a vote that never was."""
        moments: array[int] = self._ask("moments", first, count)
        return moments

    def votes(self) -> int:
        return int(self._ask("votes"))

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process so far."""
        return float(self._ask("cpu"))

    def pid(self) -> int:
        return int(self._ask("pid"))

    def _ask(self, *request: object) -> Any:
        self.pipe.send(request)
        return self.pipe.recv()


@contextmanager
def fleet_node(
    folder: Path, name: str, url: str | None, cores: set[int] = SERVER_CORES, **flags: object
) -> Iterator[FleetNode]:
    """Start a gateway, which is killed with the context. Without a URL it is in no fleet."""
    redis = {"redis.url": url, "redis.node": name} if url is not None else {}
    with ExitStack() as stack:
        with on_cores(cores):
            port, pipe = stack.enter_context(asking(_node, folder, {**redis, **flags}))
        yield FleetNode(port, pipe)


def _node(pipe: Connection, folder: Path, flags: Mapping[str, object]) -> None:
    serve_fed(pipe, folder, flags, lambda gateway: _Feeder(gateway).calls)


class _Feeder:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._ledger = gateway.ledger
        self._ledger.subscribe(self.on_record)
        self._moments: dict[int, int] = {}
        self.calls: Calls = {
            "cast": self._cast,
            "steady": self._steady,
            "moments": self._moments_of,
            "votes": self._votes,
            "cpu": self._cpu,
            "pid": self._pid,
        }

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        if isinstance(events[0], Merged):
            now_ns = time.monotonic_ns()
            for event in events:
                if isinstance(event, VoteCast):
                    self._moments[int(event.user) - FIRST_USER] = now_ns

    def _vote(self, ref: str, number: int) -> int:
        """Cast the vote, and return its position."""
        return cast(self._gateway, ref, user_of(number), NewDeliveries(str, PENDING_MOST))

    async def _cast(self, refs: Sequence[str], first: int, count: int) -> float:
        started = time.perf_counter()
        for number in range(first, first + count):
            self._vote(refs[number % len(refs)], number)
            if number % CAST_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._ledger.durable(self._ledger.head)
        return time.perf_counter() - started

    async def _steady(self, refs: Sequence[str], first: int, rate: float, seconds: float) -> None:
        started_ns, waiting = time.monotonic_ns(), list[asyncio.Task[None]]()
        for number in range(int(rate * seconds)):
            due_ns = started_ns + int(number * NS / rate)
            await asyncio.sleep(max(due_ns - time.monotonic_ns(), 0) / NS)
            position = self._vote(refs[number % len(refs)], first + number)
            waiting.append(asyncio.create_task(self._note(position, first + number)))
        await asyncio.gather(*waiting)

    async def _note(self, position: int, number: int) -> None:
        await self._ledger.durable(position)
        self._moments[number] = time.monotonic_ns()

    async def _moments_of(self, first: int, count: int) -> "array[int]":
        return array("q", (self._moments.get(number, 0) for number in range(first, first + count)))

    async def _votes(self) -> int:
        return len(self._ledger.state.votes)

    async def _pid(self) -> int:
        return os.getpid()

    async def _cpu(self) -> float:
        return time.process_time()
