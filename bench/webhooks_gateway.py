"""The gateway that the webhook benchmark feeds: a process of its own, with the settings of a new deployment.

Votes come in over a pipe and not over HTTP, so that what is measured is the way from the commit to the
receiver: the rule that casts a vote, the journal, the outbox, the exchange, the outcome's record.
"""

import asyncio
import logging
import os
import time
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
from core.events import EndpointHealthSet, Event, ListingReviewed, ListingSaved
from core.rows import Suspension, Webhook
from core.webhook_events import NewDeliveries
from gateway.serve import Gateway, serve, tune_interpreter
from kinds.bots import BotProfile
from serving.timeline import resident_bytes
from settings.model import load_settings
from tests.support.slots_set import webhook_saved
from votes.rules import cast_vote

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD7U+tTLFsZJA="
PENDING_MOST = 1_000_000
FED_AT_ONCE = 50
FEED_SECONDS = 0.005
HOUR_MS = 3_600_000


def ref_of(number: int) -> str:
    return f"bots/{10**17 + number}"


def webhook_id(number: int) -> str:
    """Return the id of the delivery of the vote with this number."""
    return f"{number:024x}"


class Burst(NamedTuple):
    votes: int
    seconds: float


class Pending(NamedTuple):
    """Bytes of memory before and after so many votes, whose webhooks wait."""

    before: int
    after: int


class Fed(NamedTuple):
    """The process, as the benchmark speaks to it."""

    port: int
    pipe: Connection

    def add(self, webhooks: Mapping[str, str | None], *, suspended: bool = False) -> None:
        """Approved listings, by ref, with the URLs of their webhooks."""
        self._ask("add", webhooks, suspended)

    def vote(self, ref: str, number: int) -> None:
        """Commit the vote as soon as the gateway's loop comes to it."""
        self.pipe.send(("vote", ref, number))

    def burst(self, refs: Sequence[str], first: int, seconds: float, backlog: int) -> Burst:
        """Votes for these in turn, for so long, with so many deliveries pending; then until none is."""
        return Burst(*self._ask("burst", refs, first, seconds, backlog))

    def fill(self, refs: Sequence[str], votes: int) -> Pending:
        return Pending(*self._ask("fill", refs, votes))

    def busy_seconds(self) -> float:
        """Return the CPU time of the loop's thread."""
        return float(self._ask("busy"))

    def lift(self, refs: Sequence[str]) -> None:
        """Send nothing from now on, and end the suspension of these."""
        self._ask("lift", refs)

    def end(self) -> None:
        """A clean stop, with its snapshot."""
        self.pipe.send(("end",))
        try:
            self.pipe.recv()
        except EOFError:
            return
        raise AssertionError("the gateway did not stop")

    def _ask(self, *request: object) -> Any:
        self.pipe.send(request)
        return self.pipe.recv()


@contextmanager
def feeding(folder: Path, *, sending: bool = True, **webhooks: object) -> Iterator[Fed]:
    """A gateway on the server's core, killed with the context; `webhooks` are settings of that section."""
    with ExitStack() as stack:
        with on_cores(SERVER_CORES):
            port, pipe = stack.enter_context(asking(_gateway, folder, sending, webhooks))
        yield Fed(port, pipe)


def _gateway(pipe: Connection, folder: Path, sending: bool, webhooks: Mapping[str, object]) -> None:
    stop, feeders = asyncio.Event(), list[_Feeder]()
    logging.disable(logging.WARNING)  # it is killed, too: not every start is behind a clean stop

    async def started(gateway: Gateway) -> None:
        if not sending:
            gateway.senders[0].stop()
        tune_interpreter()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_die)
        feeders.append(_Feeder(gateway, pipe, stop))
        loop.add_reader(pipe.fileno(), feeders[0].told)
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
        "webhooks.allow_private_targets": True,
        "webhooks.pending_per_endpoint": PENDING_MOST,
        **{f"webhooks.{name}": value for name, value in webhooks.items()},
    }
    uvloop.run(serve(load_settings(None, {}, flags), SystemClock(), stop, started))


def _die(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The benchmark waits for an answer: an end is one, a line in a log is not."""
    loop.default_exception_handler(context)
    os._exit(1)


class _Feeder:
    def __init__(self, gateway: Gateway, pipe: Connection, stop: asyncio.Event) -> None:
        self._gateway = gateway
        self._ledger = gateway.ledger
        self._pipe = pipe
        self._stop = stop
        self._answering: asyncio.Task[None] | None = None
        self._asked: Mapping[str, Callable[..., Awaitable[object]]] = {
            "add": self._add,
            "burst": self._burst,
            "fill": self._fill,
            "lift": self._lift,
            "busy": self._busy,
        }

    def told(self) -> None:
        try:
            what, *arguments = self._pipe.recv()
        except EOFError:  # the benchmark is gone
            what, arguments = "end", []
        if what == "vote":
            self._vote(*arguments)
        elif what == "end":
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._stop.set()
        else:
            self._answering = asyncio.get_running_loop().create_task(self._answer(what, arguments))
            self._answering.add_done_callback(asyncio.Task.result)  # so that an error is seen

    async def _answer(self, what: str, arguments: list[Any]) -> None:
        self._pipe.send(await self._asked[what](*arguments))

    def _vote(self, ref: str, number: int) -> None:
        now_ms = self._gateway.clock.now_ms()
        cast = cast_vote(
            self._ledger.state,
            ref,
            str(10**17 + number),
            NewDeliveries(lambda: webhook_id(number), PENDING_MOST),
            now_ms=now_ms,
            cooldown_ms=0,
        )
        self._ledger.commit(cast)

    async def _add(self, webhooks: Mapping[str, str | None], suspended: bool) -> None:
        now_ms = self._gateway.clock.now_ms()
        suspension = Suspension(now_ms, "refused", 1, now_ms + HOUR_MS) if suspended else None
        profile = BotProfile("A bot", "What it does, in one line", "What it does. " * 10, ("Utility",))
        for ref, url in webhooks.items():
            events: list[Event] = [ListingSaved(ref, "2" * 18, profile, "in_review", now_ms)]
            events.append(ListingReviewed(ref, "approved", None, now_ms))
            if url is not None:
                events.append(webhook_saved(ref, Webhook(url, now_ms, "a-token", secret=SECRET)))
                events.append(EndpointHealthSet(ref, 0, suspension))
            self._ledger.commit(events)
        await self._ledger.durable(self._ledger.head)

    async def _burst(self, refs: Sequence[str], first: int, seconds: float, backlog: int) -> Burst:
        started, number, pending = time.perf_counter(), first, self._ledger.state.deliveries.pending
        while (feeding := time.perf_counter() - started < seconds) or pending:
            for _ in range(backlog - len(pending) if feeding else 0):
                self._vote(refs[number % len(refs)], number)
                number += 1
            await asyncio.sleep(FEED_SECONDS)
        return Burst(number - first, time.perf_counter() - started)

    async def _fill(self, refs: Sequence[str], votes: int) -> Pending:
        before = resident_bytes()
        for number in range(votes):
            self._vote(refs[number % len(refs)], number)
            if number % FED_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._ledger.durable(self._ledger.head)
        return Pending(before, resident_bytes())

    async def _lift(self, refs: Sequence[str]) -> None:
        self._gateway.senders[0].stop()
        for ref in refs:
            self._ledger.commit([EndpointHealthSet(ref, 0, None)])
        await self._ledger.durable(self._ledger.head)

    async def _busy(self) -> float:
        return time.thread_time()
