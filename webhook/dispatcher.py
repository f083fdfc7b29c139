"""From the outbox to receivers and back. Law: what was attempted becomes an event, or it did not happen.

`step` starts what is due; each attempt is a task that commits its outcome. An outcome that cannot be written
(no disk space) is kept and written later, and nothing more is sent before that: only a crash in between can
make a receiver hear of an event twice, and nothing can make it hear of none.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from core.clock import NS_PER_MS, Clock, moment
from core.events import DeliveryDropped, Event
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Delivery, Listing, Webhook
from grammars.http_urls import UrlRefused
from outbound.result import Fault, HttpResult
from outbound.slots import Slot
from webhook.attempts import LEAST_BACKOFF_MS, LONGEST_BACKOFF_MS, AttemptResult, RetryPolicy, attempt_events
from webhook.messages import RequestBuilder, attempt_result
from webhook.outbox import Due, Outbox

log = logging.getLogger(__name__)

SLOW_MS = 1_000  # an endpoint that takes so long may not take the places of those that do not
UNRECORDED_SECONDS = 1.0  # between attempts to write outcomes that wait
LONGEST_SLEEP_SECONDS = 60.0  # whatever the clocks do, by then it is looked what is due
# How long a proxy that is down is left alone: at first, and at most.
PROXY_MS, LONGEST_PROXY_MS = 1_000, 30_000
# What an attempt can fail of before it gets to the proxy, or in its hands.
SHORT_OF_PROXY = {"dns", "resolver", "blocked", "internal", "proxy"}
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Posts(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes, slot: Slot) -> HttpResult: ...


class _Outcome(NamedTuple):
    """What is to be written of a delivery that was attempted with these settings; `found` is None for one
    that has waited for too long."""

    delivery: Delivery
    webhook: Webhook
    found: AttemptResult | None
    probe: bool


class Dispatcher:
    def __init__(
        self,
        ledger: Ledger,
        outbox: Outbox,
        letters: RequestBuilder,
        sender: Posts,
        policy: RetryPolicy,
        clock: Clock,
        durable: Callable[[], int],
        spawn: Spawn,
    ) -> None:
        """`durable()` is the newest durable position; `spawn` starts a task that belongs to the caller."""
        self._ledger = ledger
        self._outbox = outbox
        self._letters = letters
        self._sender = sender
        self._policy = policy
        self._clock = clock
        self._durable = durable
        self._spawn = spawn
        self.may_send: Callable[[], bool] = lambda: True
        """False while others may have sent what is due; whoever ends that calls `wake`."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False
        self._abandoned = False
        self._attempts: set[asyncio.Task[None]] = set()
        self._unrecorded: list[_Outcome] = []
        self._proxy_failures = 0
        self._proxy_until_ms = 0
        self._chat_until_ms = 0

    def wake(self) -> None:
        """Something may have become due: a record is durable, or an endpoint has room."""
        self._wake.set()

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record for the outbox."""
        self._outbox.on_record(position, events, moment(self._clock))

    async def run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            now_ms = self._clock.steady_ms()
            self.step(now_ms)
            due_ms = self._outbox.next_due_ms()
            if self._unrecorded:
                patience = UNRECORDED_SECONDS
            elif due_ms is None or not self.may_send():
                patience = LONGEST_SLEEP_SECONDS
            else:
                patience = min(max(due_ms - now_ms, 0) / 1_000, LONGEST_SLEEP_SECONDS)
            try:
                async with asyncio.timeout(patience):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def step(self, now_ms: int) -> None:
        """Starts an attempt of everything that is due, unless outcomes wait to be written. In steady time."""
        if not self._all_recorded() or not self.may_send():
            return
        for due in self._outbox.take(now_ms, self._durable()):
            self._idle.clear()
            self._spawn(self._attempt(due))

    def stop(self) -> None:
        """Starts nothing more; `run` returns."""
        self._stopping = True
        self._wake.set()

    async def idle(self) -> None:
        """Waits for the attempts that run, and writes their outcomes if that is possible by now."""
        await self._idle.wait()
        self._all_recorded()

    def abandon(self) -> None:
        """Ends the attempts that still run; they are made again after the next start."""
        self._abandoned = True
        for attempt in self._attempts:
            attempt.cancel()

    async def _attempt(self, due: Due) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)
        slow = None
        slot = Slot(self._outbox.slots, self._outbox.look_ups, slow=due.slow, left=self.wake)
        try:
            if self._abandoned:
                return
            state = self._ledger.state
            delivery, listing = state.pending.get(due.delivery_id), state.listings.get(due.ref)
            if delivery is None or listing is None or listing.webhook is None:
                return  # removed since it was queued
            if self._put_off(due, delivery, listing.webhook):
                return
            slow = await self._send(due, delivery, listing, listing.webhook, slot)
        finally:
            self._outbox.release(due, slow=slow, has_slot=slot.held)
            if not self._outbox.in_flight:
                self._idle.set()
            self.wake()

    def _put_off(self, due: Due, delivery: Delivery, webhook: Webhook) -> bool:
        """Whether the delivery is not to be attempted now, or not at all."""
        now_ms = self._clock.steady_ms()
        if due.expired:
            self._conclude(_Outcome(delivery, webhook, None, due.probe))
            return True
        if webhook.language is not None and now_ms < self._chat_until_ms:
            self._outbox.hold(due.ref, self._chat_until_ms)
            self._outbox.put_back(due, now_ms)
            return True
        return False

    async def _send(
        self, due: Due, delivery: Delivery, listing: Listing, webhook: Webhook, slot: Slot
    ) -> bool | None:
        """Whether the endpoint is slow; None if it is no longer the listing's."""
        began, started_ns = moment(self._clock), self._clock.monotonic_ns()
        answer = await self._post(delivery, listing, webhook, began.wall_ms, slot)
        duration_ms = (self._clock.monotonic_ns() - started_ns - slot.waited_ns) // NS_PER_MS
        ended = moment(self._clock)
        # Dated from its end: waits begin there, and the clock may have been set since it began.
        found = attempt_result(answer, webhook, ended.wall_ms - duration_ms, duration_ms)
        self._stop_or_go(answer, began.steady_ms, ended.steady_ms)
        if found.everywhere:
            self._chat_until_ms = max(self._chat_until_ms, ended.steady_ms + found.wait_ms)
        is_current = self._current(delivery.ref, webhook) is not None
        if is_current:
            self._slow_down(due.ref, answer, found, ended.steady_ms)
        self._conclude(_Outcome(delivery, webhook, found, due.probe))
        if not is_current:
            return None
        return duration_ms >= SLOW_MS or answer.error == "timeout"

    def _current(self, ref: str, used: Webhook) -> Webhook | None:
        """The listing's webhook as it stands now, if its settings are still those that were used."""
        listing = self._ledger.state.listings.get(ref)
        now = listing.webhook if listing is not None else None
        return now if now is not None and (now.url, now.saved_ms) == (used.url, used.saved_ms) else None

    async def _post(
        self, delivery: Delivery, listing: Listing, webhook: Webhook, at_ms: int, slot: Slot
    ) -> HttpResult:
        try:
            return await self._sender.post(*self._letters.letter(delivery, listing, webhook, at_ms), slot)
        except UrlRefused:
            return HttpResult(None, "blocked")
        except Exception as bug:
            # One webhook that we stumble over must not stop the others. The message may hold the URL, which
            # may hold a secret: the place is logged, not the words.
            place = "".join(traceback.format_tb(bug.__traceback__))
            log.error("delivery %s failed inside: %s\n%s", delivery.id, type(bug).__name__, place)
            return HttpResult(None, "internal", Fault.UNKNOWN)

    def _stop_or_go(self, answer: HttpResult, at_ms: int, now_ms: int) -> None:
        """What an attempt of `at_ms` says of the proxy."""
        if answer.fault is not Fault.PROXY:
            if answer.error not in SHORT_OF_PROXY:
                self._proxy_failures = self._proxy_until_ms = 0
                self._outbox.resume()
        elif at_ms >= self._proxy_until_ms:  # what began before is of the failure before
            wait_ms = min(PROXY_MS << min(self._proxy_failures, 10), LONGEST_PROXY_MS)
            self._proxy_failures += 1
            self._proxy_until_ms = now_ms + wait_ms
            self._outbox.stop(self._proxy_until_ms)

    def _slow_down(self, ref: str, answer: HttpResult, found: AttemptResult, now_ms: int) -> None:
        """What an answer says of other deliveries to its endpoint."""
        if answer.fault is Fault.PROXY:
            return  # it says nothing of the endpoint
        if answer.fault is Fault.UNKNOWN or (not found.charged and not found.wait_ms):
            delay_ms = max(self._policy.retry_delay_ms, LEAST_BACKOFF_MS)
            self._outbox.hold_longer(ref, now_ms, delay_ms, LONGEST_BACKOFF_MS)
        elif answer.fault is Fault.ENDPOINT:
            self._outbox.understood(ref)
        if found.wait_ms:
            self._outbox.hold(ref, now_ms + found.wait_ms)

    def _all_recorded(self) -> bool:
        """Writes the outcomes that wait; whether none is left."""
        while self._unrecorded:
            if not self._record(self._unrecorded[0]):
                return False
            self._outbox.forget(self._unrecorded.pop(0).delivery.id)
            if not self._unrecorded:
                log.warning("webhooks are sent again: what came of those before is written")
        return True

    def _conclude(self, outcome: _Outcome) -> None:
        if not self._record(outcome):
            if not self._unrecorded:
                log.warning("no webhook is sent until it can be written what came of those before")
            self._unrecorded.append(outcome)

    def _record(self, outcome: _Outcome) -> bool:
        """Whether the outcome needs no more writing."""
        if self._ledger.state.pending.get(outcome.delivery.id) is not outcome.delivery:
            return True  # removed meanwhile
        try:
            self._ledger.commit(self._events(outcome))
        except Unavailable:
            return False
        return True

    def _events(self, outcome: _Outcome) -> list[Event]:
        """As of now: other outcomes may have come in between."""
        delivery, used = outcome.delivery, outcome.webhook
        if outcome.found is None:
            now_ms = self._clock.now_ms()
            return [DeliveryDropped(delivery.id, delivery.ref, delivery.made, "expired", now_ms)]
        webhook = self._current(delivery.ref, used)
        return attempt_events(self._policy, delivery, webhook, outcome.found, probe=outcome.probe)
