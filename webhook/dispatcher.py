"""Attempts: from the outbox to endpoints, and their outcomes into the log. Law: an attempt has an outcome in
the log, or it is made again.

`step` starts the deliveries that are due. Each attempt is a task that commits its outcome. If the journal
takes no writes (the disk is full), outcomes wait, and no attempt starts before they are written. So no
endpoint misses a delivery, and an endpoint gets one twice only if the process dies between the response and
the record.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol

from core.clock import NS_PER_MS, Clock, Moment, moment
from core.events import DeliveryDropped, Event
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Delivery, Listing, Webhook
from grammars.http_urls import UrlRefused
from outbound.result import AtFault, HttpResult
from outbound.slots import Slot
from webhook.attempts import LEAST_BACKOFF_MS, LONGEST_BACKOFF_MS, AttemptResult, RetryPolicy, attempt_events
from webhook.messages import RequestBuilder, attempt_result
from webhook.origins import Origins
from webhook.outbox import Due, Outbox
from webhook.probe_log import asking

log = logging.getLogger(__name__)

SLOW_MS = 1_000  # an attempt that takes this long marks its endpoint as slow
UNRECORDED_SECONDS = 1.0  # between tries to write outcomes that wait
HELD_BACK_SECONDS = 0.25  # between questions whether the node may send
LONGEST_SLEEP_SECONDS = 60.0  # between two looks at the outbox, whatever the clocks do
# The first and the longest wait after a failure of the proxy.
PROXY_MS, LONGEST_PROXY_MS = 1_000, 30_000
# Failures that say nothing of the proxy, because the attempt may not have got through it.
SHORT_OF_PROXY = {"dns", "resolver", "blocked", "internal", "proxy"}
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Client(Protocol):
    """The part of an HTTP client that attempts use."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, slot: Slot) -> HttpResult: ...


class _Outcome(NamedTuple):
    """An outcome to write: of an attempt with the settings `webhook`. `found` is None for an expired
    delivery."""

    delivery: Delivery
    webhook: Webhook
    found: AttemptResult | None
    probe: bool


class _Phase(Enum):
    """The phases of a dispatcher, each after the one before it."""

    RUNNING = auto()
    STOPPING = auto()
    """No attempt starts any more."""
    ABANDONED = auto()
    """The running attempts are cancelled."""


class Dispatcher:
    """Attempts the deliveries that the outbox gives out."""

    def __init__(
        self,
        ledger: Ledger,
        outbox: Outbox,
        requests: RequestBuilder,
        client: Client,
        policy: RetryPolicy,
        clock: Clock,
        durable: Callable[[], int],
        spawn: Spawn,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        """Make a dispatcher that `run` starts.

        Args:
            durable: returns the newest durable position.
            spawn: starts a task that belongs to the caller.
            may_send: returns False while other nodes may have sent the deliveries that are due.
        """
        self._ledger = ledger
        self._outbox = outbox
        self._requests = requests
        self._client = client
        self._policy = policy
        self._clock = clock
        self._durable = durable
        self._spawn = spawn
        self._may_send = may_send
        self._origins = Origins()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._phase = _Phase.RUNNING
        self._attempts: set[asyncio.Task[None]] = set()
        self._unrecorded: list[_Outcome] = []
        self._proxy_failures = 0
        self._proxy_until_ms = 0
        self._chat_until_ms = 0

    def wake(self) -> None:
        """Look at the outbox again: a record is durable, or an endpoint has room."""
        self._wake.set()

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record for the outbox."""
        self._origins.on_record(events)
        self._outbox.on_record(position, events, moment(self._clock))

    async def run(self) -> None:
        """Start attempts until `stop`."""
        loop = asyncio.get_running_loop()
        while self._phase is _Phase.RUNNING:
            self._wake.clear()
            now_ms = self._clock.steady_ms()
            self.step(now_ms)
            due_ms = self._outbox.next_due_ms()
            if self._unrecorded:
                patience = UNRECORDED_SECONDS
            elif not self._may_send():
                patience = HELD_BACK_SECONDS
            elif due_ms is None:
                patience = LONGEST_SLEEP_SECONDS
            else:
                patience = min(max(due_ms - now_ms, 0) / 1_000, LONGEST_SLEEP_SECONDS)
            timer = loop.call_later(patience, self.wake)  # cheaper than asyncio.timeout, for each delivery
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    def step(self, now_ms: int) -> None:
        """Start the attempts that are due, unless outcomes wait to be written. `now_ms` is steady time."""
        if not self._all_recorded() or not self._may_send():
            return
        for due in self._outbox.take(now_ms, self._durable()):
            self._idle.clear()
            self._spawn(self._attempt(due))

    def stop(self) -> None:
        """Start no more attempts, and end `run`."""
        if self._phase is _Phase.RUNNING:
            self._phase = _Phase.STOPPING
        self._wake.set()

    async def idle(self) -> None:
        """Wait for the running attempts, and write their outcomes if the journal takes them."""
        await self._idle.wait()
        self._all_recorded()

    def abandon(self) -> None:
        """Cancel the running attempts. They are made again after the next start."""
        self._phase = _Phase.ABANDONED
        for attempt in self._attempts:
            attempt.cancel()

    async def _attempt(self, due: Due) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)
        self._origins.enter(due.delivery_id)
        slow = None
        slot = Slot(self._outbox.slots, self._outbox.look_ups, slow=due.slow, left=self.wake)
        try:
            if self._phase is _Phase.ABANDONED:
                return
            state = self._ledger.state
            delivery, listing = state.deliveries.pending.get(due.delivery_id), state.listings.get(due.ref)
            if delivery is None or listing is None or listing.webhook is None:
                return  # removed since the delivery was queued
            began = moment(self._clock)
            if self._put_off(due, delivery, listing.webhook, began.steady_ms):
                return
            slow = await self._send(due, delivery, listing, listing.webhook, slot, began)
        finally:
            self._outbox.release(due, slow=slow, has_slot=slot.held)
            if due.delivery_id not in self._ledger.state.deliveries.pending:
                self._origins.forget(due.delivery_id)
            if not self._outbox.in_flight:
                self._idle.set()
            self.wake()

    def _put_off(self, due: Due, delivery: Delivery, webhook: Webhook, now_ms: int) -> bool:
        """Give up an expired delivery, or postpone one while its platform asks for a wait.

        Returns False for a delivery to attempt now.
        """
        if due.expired:
            self._conclude(_Outcome(delivery, webhook, None, due.probe))
            return True
        if webhook.language is not None and now_ms < self._chat_until_ms:
            self._outbox.hold(due.ref, self._chat_until_ms)
            self._outbox.put_back(due, now_ms)
            return True
        return False

    async def _send(
        self, due: Due, delivery: Delivery, listing: Listing, webhook: Webhook, slot: Slot, began: Moment
    ) -> bool | None:
        """Make an attempt and write its outcome.

        Returns True if the endpoint is slow, and None if its settings have changed meanwhile.
        """
        started_ns = self._clock.monotonic_ns()
        with asking(due.ref, webhook.suspension if due.probe else None) as asked:
            result = await self._post(delivery, listing, webhook, began.wall_ms, slot)
            duration_ms = (self._clock.monotonic_ns() - started_ns - slot.waited_ns) // NS_PER_MS
            ended = moment(self._clock)
            # Dated back from its end: waits begin there, and the wall clock may have been set since the
            # start.
            found = attempt_result(result, webhook, ended.wall_ms - duration_ms, duration_ms)
            asked.attempt = found.attempt
        self._stop_or_go(result, began.steady_ms, ended.steady_ms)
        if found.everywhere:
            self._chat_until_ms = max(self._chat_until_ms, ended.steady_ms + found.wait_ms)
        is_current = self._current(delivery.ref, webhook) is not None
        if is_current:
            self._slow_down(due.ref, result, found, ended.steady_ms)
        self._conclude(_Outcome(delivery, webhook, found, due.probe))
        if not is_current:
            return None
        return duration_ms >= SLOW_MS or result.error == "timeout"

    def _current(self, ref: str, used: Webhook) -> Webhook | None:
        """Return the listing's webhook as it is now, or None if its settings are no longer the ones used."""
        listing = self._ledger.state.listings.get(ref)
        now = listing.webhook if listing is not None else None
        return now if now is not None and (now.url, now.saved_ms) == (used.url, used.saved_ms) else None

    async def _post(
        self, delivery: Delivery, listing: Listing, webhook: Webhook, at_ms: int, slot: Slot
    ) -> HttpResult:
        try:
            return await self._client.post(*self._requests.request(delivery, listing, webhook, at_ms), slot)
        except UrlRefused:
            return HttpResult(None, "blocked")
        except Exception as bug:
            # A bug in one delivery must not stop the others. The message of the error may hold the URL, and
            # so a secret. So the log gets the place of the error, and not its message.
            place = "".join(traceback.format_tb(bug.__traceback__))
            log.error("delivery %s failed inside: %s\n%s", delivery.id, type(bug).__name__, place)
            return HttpResult(None, "internal", AtFault.UNKNOWN)

    def _stop_or_go(self, result: HttpResult, at_ms: int, now_ms: int) -> None:
        """Stop or resume all deliveries, by what an attempt that began at `at_ms` says of the proxy."""
        if result.fault is not AtFault.PROXY:
            if result.error not in SHORT_OF_PROXY:
                self._proxy_failures = self._proxy_until_ms = 0
                self._outbox.resume()
        elif at_ms >= self._proxy_until_ms:  # else it is part of the failure before
            wait_ms = min(PROXY_MS << min(self._proxy_failures, 10), LONGEST_PROXY_MS)
            self._proxy_failures += 1
            self._proxy_until_ms = now_ms + wait_ms
            self._outbox.stop(self._proxy_until_ms)

    def _slow_down(self, ref: str, result: HttpResult, found: AttemptResult, now_ms: int) -> None:
        """Delay further deliveries to the endpoint, as the result demands."""
        if result.fault is AtFault.PROXY:
            return  # which says nothing of the endpoint
        if result.fault is AtFault.UNKNOWN or (not found.charged and not found.wait_ms):
            delay_ms = max(self._policy.retry_delay_ms, LEAST_BACKOFF_MS)
            self._outbox.hold_longer(ref, now_ms, delay_ms, LONGEST_BACKOFF_MS)
        elif result.fault is AtFault.ENDPOINT:
            self._outbox.understood(ref)
        if found.wait_ms:
            self._outbox.hold(ref, now_ms + found.wait_ms)

    def _all_recorded(self) -> bool:
        """Write the outcomes that wait. Returns True if none is left."""
        while self._unrecorded:
            if not self._record(self._unrecorded[0]):
                return False
            self._outbox.forget(self._unrecorded.pop(0).delivery.id)
            if not self._unrecorded:
                log.info("webhooks are sent again: what came of those before is written")
        return True

    def _conclude(self, outcome: _Outcome) -> None:
        if not self._record(outcome):
            if not self._unrecorded:
                log.warning("no webhook is sent until it can be written what came of those before")
            self._unrecorded.append(outcome)

    def _record(self, outcome: _Outcome) -> bool:
        """Write an outcome. Returns False if it must wait."""
        if self._ledger.state.deliveries.pending.get(outcome.delivery.id) is not outcome.delivery:
            return True  # the delivery has been removed
        try:
            self._ledger.commit(self._events(outcome))
        except Unavailable:
            return False
        return True

    def _events(self, outcome: _Outcome) -> list[Event]:
        """Return the events of an outcome in the present state: other outcomes may have come in between."""
        delivery, used = outcome.delivery, outcome.webhook
        if outcome.found is None:
            now_ms = self._clock.now_ms()
            return [DeliveryDropped(delivery.id, delivery.ref, delivery.made, "expired", now_ms)]
        webhook = self._current(delivery.ref, used)
        return attempt_events(self._policy, delivery, webhook, outcome.found, probe=outcome.probe)
