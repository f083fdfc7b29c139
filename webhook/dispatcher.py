"""From the outbox to receivers and back. Law: what was attempted becomes an event, or it did not happen.

`step` starts what is due; each attempt is a task that commits its outcome. An outcome that cannot be written
(no disk space) is kept and written later, and nothing more is sent before that: only a crash in between can
make a receiver hear of an event twice, and nothing can make it hear of none.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from core.clock import Clock
from core.events import DeliveryAttempted
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Attempt, Delivery
from webhook.outbox import Due, Outbox
from webhook.payloads import payload
from webhook.sender import Answer

log = logging.getLogger(__name__)

UNRECORDED_SECONDS = 1.0  # between attempts to write outcomes that wait
Spawn = Callable[[Coroutine[Any, Any, None]], object]


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
        self._stopping = False
        self._attempts: set[asyncio.Task[None]] = set()
        self._unrecorded: list[tuple[Delivery, DeliveryAttempted]] = []
        for delivery in ledger.state.pending.values():
            outbox.add(delivery.id, delivery.ref, delivery.next_attempt_ms or 0, position=0)
        ledger.subscribe(outbox.on_record)

    def wake(self) -> None:
        """Something may have become due: a record is durable, or an endpoint has room."""
        self._wake.set()

    async def run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            now_ms = self._clock.now_ms()
            self.step(now_ms)
            due_ms = self._outbox.next_due_ms()
            if self._unrecorded:
                patience: float | None = UNRECORDED_SECONDS
            else:
                patience = None if due_ms is None else max(due_ms - now_ms, 0) / 1_000
            try:
                async with asyncio.timeout(patience):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def step(self, now_ms: int) -> None:
        """Starts an attempt of everything that is due, unless outcomes wait to be written."""
        while self._unrecorded:
            if not self._record(*self._unrecorded[0]):
                return
            del self._unrecorded[0]
        for due in self._outbox.take(now_ms, self._durable()):
            self._idle.clear()
            self._spawn(self._attempt(due))

    def stop(self) -> None:
        """Starts nothing more; `run` returns."""
        self._stopping = True
        self._wake.set()

    async def idle(self) -> None:
        """Waits for the attempts that run."""
        await self._idle.wait()

    def abandon(self) -> None:
        """Ends the attempts that still run; they are made again after the next start."""
        for attempt in self._attempts:
            attempt.cancel()

    async def _attempt(self, due: Due) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)
        slow = False
        try:
            state = self._ledger.state
            delivery, listing = state.pending.get(due.delivery_id), state.listings.get(due.ref)
            if delivery is None or listing is None or listing.webhook is None:
                return  # removed since it was queued
            url, token = listing.webhook.url, listing.webhook.token
            at_ms, started_ns = self._clock.now_ms(), self._clock.monotonic_ns()
            answer = await self._post(delivery, url, token)
            duration_ms = (self._clock.monotonic_ns() - started_ns) // 1_000_000
            slow = answer.error == "timeout"
            outcome = self._outbox.outcome(delivery, Attempt(at_ms, duration_ms, *answer))
            if not self._record(delivery, outcome):
                log.warning("outcome of delivery %s not written yet", delivery.id)
                self._unrecorded.append((delivery, outcome))
        finally:
            self._outbox.release(due.ref, slow=slow)
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

    def _record(self, delivery: Delivery, outcome: DeliveryAttempted) -> bool:
        """Whether the outcome needs no more writing."""
        if self._ledger.state.pending.get(delivery.id) is not delivery:
            return True  # removed meanwhile
        try:
            self._ledger.commit([outcome])
        except Unavailable:
            return False
        return True
