"""The gateways that benchmarks feed, with the settings of a new deployment.

Votes come in over a pipe to a gateway in a process of its own, or are committed by a gateway in this process.
They do not come over HTTP. So the way from the commit on is measured, and not how fast a client casts.
"""

import asyncio
import inspect
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop

from bench.servers import DIGEST_SECRET, OPERATOR
from bench.world import LIMIT
from core.clock import SystemClock
from core.events import Event
from core.webhook_events import NewDeliveries
from gateway.serve import Gateway, serve, tune_interpreter
from settings.model import Settings, load_settings
from votes.rules import cast_vote

RECORD = 50
"""Events of a record: as few as keep the loop short while the state is made."""
Calls = Mapping[str, Callable[..., Awaitable[object] | None]]
"""The calls that a benchmark can make, by name. A plain function has no answer."""


def serve_fed(
    pipe: Connection, folder: Path, flags: Mapping[str, object], calls_of: Callable[[Gateway], Calls]
) -> None:
    """Serve, and answer what comes through the pipe, until that is "end" or the benchmark is gone. The port
    is the first answer."""
    stop = asyncio.Event()
    logging.disable(logging.WARNING)  # it is killed, too: not every start is behind a clean stop

    async def started(gateway: Gateway) -> None:
        feed = _Feed(pipe, calls_of(gateway), stop)
        asyncio.get_running_loop().add_reader(pipe.fileno(), feed.take)
        os.set_blocking(pipe.fileno(), True)  # which libuv has ended, and a long message comes in pieces
        pipe.send(int(gateway.base_url.rpartition(":")[2]))

    tune_interpreter()
    uvloop.run(serve(settings_of(folder, **flags), SystemClock(), stop, started))


def settings_of(folder: Path, **flags: object) -> Settings:
    """Return the settings of a new deployment, with limits never reached and these flags."""
    of_all: dict[str, object] = {
        "data_dir": folder,
        "server.port": 0,
        "server.access_log": "off",
        "operator.token": OPERATOR,
        "keys.digest_secret": DIGEST_SECRET,
        "limits.voters.requests": LIMIT,
        "snapshot.interval_seconds": 86_400,
    }
    return load_settings(None, {}, {**of_all, **flags})


class _Feed:
    def __init__(self, pipe: Connection, calls: Calls, stop: asyncio.Event) -> None:
        self._pipe = pipe
        self._calls = calls
        self._stop = stop
        self._answering: asyncio.Task[None] | None = None

    def take(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            name, *arguments = self._pipe.recv()
        except EOFError:  # the benchmark is gone
            name, arguments = "end", []
        if name == "end":
            loop.remove_reader(self._pipe.fileno())
            self._stop.set()
            return
        answer = self._calls[name](*arguments)
        if inspect.isawaitable(answer):
            self._answering = loop.create_task(self._answer(answer))
            self._answering.add_done_callback(asyncio.Task.result)  # so that an error is seen

    async def _answer(self, answer: Awaitable[Any]) -> None:
        self._pipe.send(await answer)


def cast(gateway: Gateway, ref: str, user: str, new_deliveries: NewDeliveries) -> int:
    """Commit a vote, and return its position."""
    state, now_ms = gateway.ledger.state, gateway.clock.now_ms()
    return gateway.ledger.commit(cast_vote(state, ref, user, new_deliveries, now_ms=now_ms, cooldown_ms=0))


@asynccontextmanager
async def gateway_here(settings: Settings) -> AsyncIterator[Gateway]:
    """Serve in this process, until the context ends."""
    stop, begun = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def started(gateway: Gateway) -> None:
        begun.set_result(gateway)

    tune_interpreter()
    serving = asyncio.create_task(serve(settings, SystemClock(), stop, started))
    yield await begun
    stop.set()
    await serving


async def commit(gateway: Gateway, events: Iterator[Event]) -> None:
    record: list[Event] = []
    for event in events:
        record.append(event)
        if len(record) == RECORD:
            position = gateway.ledger.commit(record)
            record = []
            if position % 100 == 0:
                await gateway.ledger.durable(position)
    await gateway.ledger.durable(gateway.ledger.commit(record))
