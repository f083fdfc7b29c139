"""The gateway that the webhook benchmark feeds: the way from the commit of a vote to its receiver.

That is the rule that casts a vote, the journal, the outbox, the exchange, and the outcome's record.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.fed_gateways import Calls, cast, serve_fed
from bench.load import SERVER_CORES, asking, on_cores
from core.events import EndpointHealthSet, Event, ListingReviewed, ListingSaved
from core.rows import Suspension, Webhook
from core.webhook_events import NewDeliveries
from gateway.serve import Gateway
from kinds.bots import BotProfile
from serving.timeline import resident_bytes
from tests.support.slots_set import webhook_saved

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
        """Add approved listings, by ref, with the URLs of their webhooks."""
        self._ask("add", webhooks, suspended)

    def vote(self, ref: str, number: int) -> None:
        """Commit the vote at the next turn of the gateway's loop."""
        self.pipe.send(("vote", ref, number))

    def burst(self, refs: Sequence[str], first: int, seconds: float, backlog: int) -> Burst:
        """Cast votes for these in turn, with so many deliveries pending, and wait until none is."""
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
        """Stop it cleanly, with a snapshot."""
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
    """Start a gateway on the server's core, which is killed with the context.

    Args:
        webhooks: settings of that section.
    """
    with ExitStack() as stack:
        with on_cores(SERVER_CORES):
            port, pipe = stack.enter_context(asking(_gateway, folder, sending, webhooks))
        yield Fed(port, pipe)


def _gateway(pipe: Connection, folder: Path, sending: bool, webhooks: Mapping[str, object]) -> None:
    def calls_of(gateway: Gateway) -> Calls:
        if not sending:
            gateway.senders[0].stop()
        asyncio.get_running_loop().set_exception_handler(_die)
        return _Feeder(gateway).calls

    flags: dict[str, object] = {
        "webhooks.allow_private_targets": True,
        "webhooks.pending_per_endpoint": PENDING_MOST,
        **{f"webhooks.{name}": value for name, value in webhooks.items()},
    }
    serve_fed(pipe, folder, flags, calls_of)


def _die(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """End the process: the benchmark waits for an answer, and a line in a log is none."""
    loop.default_exception_handler(context)
    os._exit(1)


class _Feeder:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._ledger = gateway.ledger
        self.calls: Calls = {
            "vote": self._vote,
            "add": self._add,
            "burst": self._burst,
            "fill": self._fill,
            "lift": self._lift,
            "busy": self._busy,
        }

    def _vote(self, ref: str, number: int) -> None:
        deliveries = NewDeliveries(lambda: webhook_id(number), PENDING_MOST)
        cast(self._gateway, ref, str(10**17 + number), deliveries)

    async def _add(self, webhooks: Mapping[str, str | None], suspended: bool) -> None:
        now_ms = self._gateway.clock.now_ms()
        suspension = Suspension(now_ms, "refused", 1, now_ms + HOUR_MS) if suspended else None
        profile = BotProfile("A bot", "A description of one line", "It counts it. " * 10, ("Utility",))
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
