"""The gateways that the fleet's benchmark feeds: processes of their own, with the default settings.

Votes come in over a pipe and not over HTTP, so that what is measured is the way from the commit to the other
node, and not how fast a client casts. Every vote that a node holds has its moment: when it was durable there,
or merged from another node. All processes of a machine share the clock of these moments.
"""

import asyncio
import logging
import os
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from bench.load import SERVER_CORES, asking, on_cores
from bench.servers import DIGEST_SECRET, OPERATOR
from bench.world import LIMIT
from core.clock import SystemClock
from core.events import Event, Merged, VoteCast
from core.webhook_events import NewDeliveries
from gateway.serve import Gateway, serve, tune_interpreter
from settings.model import load_settings
from votes.rules import cast_vote

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
        """Votes for these in turn, as fast as it goes, until all are durable; in so many seconds."""
        return float(self._ask("cast", refs, first, count))

    def begin_steady(self, refs: Sequence[str], first: int, rate: float, seconds: float) -> None:
        """Votes at fixed moments, to be waited for with `end_steady`."""
        self.pipe.send(("steady", refs, first, rate, seconds))

    def end_steady(self) -> None:
        self.pipe.recv()

    def moments_ns(self, first: int, count: int) -> "array[int]":
        """When these votes, by number, were durable or merged here; 0 for none."""
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
    """A gateway, killed with the context; in no fleet without a URL."""
    redis = {"redis.url": url, "redis.node": name} if url is not None else {}
    with ExitStack() as stack:
        with on_cores(cores):
            port, pipe = stack.enter_context(asking(_node, folder, {**redis, **flags}))
        yield FleetNode(port, pipe)


def _node(pipe: Connection, folder: Path, more: Mapping[str, object]) -> None:
    stop, feeders = asyncio.Event(), list[_Feeder]()
    logging.disable(logging.WARNING)  # it is killed, too: not every start is behind a clean stop

    async def started(gateway: Gateway) -> None:
        tune_interpreter()
        feeders.append(_Feeder(gateway, pipe, stop))
        gateway.ledger.subscribe(feeders[0].on_record)
        asyncio.get_running_loop().add_reader(pipe.fileno(), feeders[0].told)
        os.set_blocking(pipe.fileno(), True)  # which libuv has ended, and a long message comes in pieces
        pipe.send(int(gateway.base_url.rpartition(":")[2]))

    flags: dict[str, object] = {
        "data_dir": folder,
        "server.port": 0,
        "server.access_log": "off",
        "operator.token": OPERATOR,
        "keys.digest_secret": DIGEST_SECRET,
        "limits.voters.requests": LIMIT,
        "snapshot.interval_seconds": 86_400,
        **more,
    }
    uvloop.run(serve(load_settings(None, {}, flags), SystemClock(), stop, started))


class _Feeder:
    def __init__(self, gateway: Gateway, pipe: Connection, stop: asyncio.Event) -> None:
        self._gateway = gateway
        self._ledger = gateway.ledger
        self._pipe = pipe
        self._stop = stop
        self._moments: dict[int, int] = {}
        self._answering: asyncio.Task[None] | None = None
        self._asked: Mapping[str, Callable[..., Awaitable[object]]] = {
            "cast": self._cast,
            "steady": self._steady,
            "moments": self._moments_of,
            "votes": self._votes,
            "cpu": self._cpu,
            "pid": self._pid,
        }

    def told(self) -> None:
        try:
            what, *arguments = self._pipe.recv()
        except EOFError:  # the benchmark is gone
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._stop.set()
            return
        self._answering = asyncio.get_running_loop().create_task(self._answer(what, arguments))
        self._answering.add_done_callback(asyncio.Task.result)  # so that an error is seen

    async def _answer(self, what: str, arguments: list[Any]) -> None:
        self._pipe.send(await self._asked[what](*arguments))

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        if isinstance(events[0], Merged):
            now_ns = time.monotonic_ns()
            for event in events:
                if isinstance(event, VoteCast):
                    self._moments[int(event.user) - FIRST_USER] = now_ns

    def _vote(self, ref: str, number: int) -> int:
        """Its position."""
        cast = cast_vote(
            self._ledger.state,
            ref,
            user_of(number),
            NewDeliveries(str, PENDING_MOST),
            now_ms=self._gateway.clock.now_ms(),
            cooldown_ms=0,
        )
        return self._ledger.commit(cast)

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
