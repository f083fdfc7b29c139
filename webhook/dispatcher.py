"""From the outbox to receivers and back. Law: what was attempted becomes an event, or it did not happen.

`step` starts what is due; each attempt is a task that commits its outcome. An attempt whose outcome cannot
be written (no disk space) is made again later: a receiver may then hear of an event twice, never not at all.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Attempt, Delivery
from webhook.outbox import Due, Outbox
from webhook.payloads import payload
from webhook.sender import Answer

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[Any, Any, None]], object]
UNRECORDED_RETRY_MS = 5_000


class Posts(Protocol):
    async def post(self, url: str, token: str | None, body: bytes) -> Answer: ...


class Dispatcher:
    def __init__(
        self,
        ledger: Ledger,
        outbox: Outbox,
        sender: Posts,
        clock: Clock,
        durable: Callable[[], int],
        spawn: Spawn,
    ) -> None:
        """`durable()` is the newest durable position; `spawn` starts a task that belongs to the caller."""
        self._ledger = ledger
        self._outbox = outbox
        self._sender = sender
        self._clock = clock
        self._durable = durable
        self._spawn = spawn
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = False
        for delivery in ledger.state.pending.values():
            outbox.add(delivery.id, delivery.ref, delivery.next_attempt_ms or 0, position=0)
        ledger.subscribe(outbox.on_record)

    def wake(self) -> None:
        """Something may have become due: a record is durable, or an endpoint has room."""
        self._wake.set()

    async def run(self) -> None:
        while not self._draining:
            self._wake.clear()
            now_ms = self._clock.now_ms()
            self.step(now_ms)
            due_ms = self._outbox.next_due_ms()
            patience = None if due_ms is None else max(due_ms - now_ms, 0) / 1_000
            try:
                await asyncio.wait_for(self._wake.wait(), patience)
            except TimeoutError:
                continue

    def step(self, now_ms: int) -> None:
        """Starts an attempt of everything that is due."""
        for due in self._outbox.take(now_ms, self._durable()):
            self._idle.clear()
            self._spawn(self._attempt(due))

    async def drain(self) -> None:
        """Starts nothing more and waits for the attempts that run."""
        self._draining = True
        self._wake.set()
        await self._idle.wait()

    async def _attempt(self, due: Due) -> None:
        try:
            state = self._ledger.state
            delivery, listing = state.pending.get(due.delivery_id), state.listings.get(due.ref)
            if delivery is None or listing is None or listing.webhook is None:
                return  # removed since it was queued
            url, token = listing.webhook.url, listing.webhook.token
            at_ms, started_ns = self._clock.now_ms(), self._clock.monotonic_ns()
            answer = await self._post(delivery, url, token)
            duration_ms = (self._clock.monotonic_ns() - started_ns) // 1_000_000
            if state.pending.get(delivery.id) is delivery:
                self._record(delivery, Attempt(at_ms, duration_ms, *answer))
        finally:
            self._outbox.release(due.ref)
            if not self._outbox.in_flight:
                self._idle.set()
            self.wake()

    async def _post(self, delivery: Delivery, url: str, token: str | None) -> Answer:
        try:
            return await self._sender.post(url, token, payload(delivery))
        except Exception as bug:
            # One URL that the client stumbles over must not stop the others. The message may hold the URL,
            # which may hold a secret: the place is logged, not the words.
            place = "".join(traceback.format_tb(bug.__traceback__))
            log.error("delivery %s failed inside: %s\n%s", delivery.id, type(bug).__name__, place)
            return Answer(None, "internal", "")

    def _record(self, delivery: Delivery, attempt: Attempt) -> None:
        try:
            self._ledger.commit([self._outbox.outcome(delivery, attempt)])
        except Unavailable as unavailable:
            log.warning("attempt of delivery %s not recorded, made again later: %s", delivery.id, unavailable)
            again_ms = attempt.at_ms + attempt.duration_ms + UNRECORDED_RETRY_MS
            self._outbox.add(delivery.id, delivery.ref, again_ms, position=0)
