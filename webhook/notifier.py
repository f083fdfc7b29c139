"""Webhooks as `sender` sends them: which delivery is attempted, and how its result delays the others.

The outbox says which delivery is due. A failure of the proxy stops all deliveries, a rate limit of the chat
platform those to all chat webhooks, and a slow, limited or unknown failure those to one endpoint.

An attempt runs long after the request that queued its delivery. `Origins` keeps the id of that request for
the log lines of the attempt.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from core.actors import REQUEST_ID
from core.clock import Clock, Moment, moment
from core.events import DeliveryAttempted, DeliveryDropped, DeliveryQueued, Event, VoteCast
from core.newest import Newest
from core.rows import Delivery, Listing, Webhook
from core.state import State
from grammars.http_urls import UrlRefused
from outbound.result import AtFault, HttpResult
from outbound.slots import Slot
from webhook.attempts import LEAST_BACKOFF_MS, LONGEST_BACKOFF_MS, AttemptResult, RetryPolicy, attempt_events
from webhook.messages import RequestBuilder, attempt_result
from webhook.outbox import Due, Outbox
from webhook.sender import Outcome, Trouble, dated_back, log_bug
from webhook.suspension_log import asking

SLOW_MS = 1_000  # an attempt that takes this long marks its endpoint as slow
# The first and the longest wait after a failure of the proxy.
PROXY_MS, LONGEST_PROXY_MS = 1_000, 30_000
# Failures that say nothing of the proxy, because the attempt may not have got through it.
SHORT_OF_PROXY = {"dns", "resolver", "blocked", "internal", "proxy"}
ORIGINS_KEPT = 10_000
"""The most deliveries whose requests are remembered: about 3 MB. The oldest are forgotten first."""


class Client(Protocol):
    """The part of an HTTP client that attempts use."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, slot: Slot) -> HttpResult: ...


class WebhookNotifier:
    """The deliveries of webhooks, for a `Sender`."""

    one_at_a_time = False
    unwritten = Trouble(
        "no webhook is sent until it can be written what came of those before",
        "webhooks are sent again: what came of those before is written",
    )

    def __init__(
        self,
        state: State,
        outbox: Outbox,
        requests: RequestBuilder,
        client: Client,
        policy: RetryPolicy,
        clock: Clock,
    ) -> None:
        self.wake = asyncio.Event()
        self._state = state
        self._outbox = outbox
        self._requests = requests
        self._client = client
        self._policy = policy
        self._clock = clock
        self._origins = Origins()
        self._proxy_failures = 0
        self._proxy_until_ms = 0
        self._chat_until_ms = 0

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record for the outbox."""
        if len(events) == 1 and type(events[0]) is VoteCast:  # nearly every record: a vote without a webhook
            return
        self._origins.on_record(events)
        self._outbox.on_record(position, events, moment(self._clock))

    def on_durable(self) -> None:
        """Look at the outbox again: a record is durable."""
        self.wake.set()

    def take(self, now_ms: int, durable: int) -> Sequence[Due]:
        return self._outbox.take(now_ms, durable)

    def next_due_ms(self) -> int | None:
        return self._outbox.next_due_ms()

    async def attempt(self, due: Due) -> Outcome | None:
        """Attempt a delivery. Return None for one that is removed, or has to wait for its platform."""
        self._origins.enter(due.delivery_id)
        slow, began = None, moment(self._clock)
        slot = Slot(self._outbox.slots, self._outbox.look_ups, slow=due.slow, left=self.wake.set)
        try:
            delivery = self._state.deliveries.pending.get(due.delivery_id)
            listing = self._state.listings.get(due.ref)
            if delivery is None or listing is None or (webhook := listing.webhook) is None:
                return None  # removed since the delivery was queued
            if due.expired:
                return partial(self._dropped, delivery)
            if webhook.language is not None and began.steady_ms < self._chat_until_ms:
                self._outbox.hold(due.ref, self._chat_until_ms)
                self._outbox.put_back(due, began.steady_ms)
                return None
            found, slow = await self._send(due, delivery, listing, webhook, slot, began)
            return partial(self._attempted, delivery, webhook, found, probe=due.probe)
        finally:
            self._outbox.release(due, slow=slow, has_slot=slot.held)

    async def _send(
        self, due: Due, delivery: Delivery, listing: Listing, webhook: Webhook, slot: Slot, began: Moment
    ) -> tuple[AttemptResult, bool | None]:
        """Make an attempt.

        Returns its result, and True if the endpoint is slow; None if its settings have changed meanwhile.
        """
        started_ns = self._clock.monotonic_ns()
        with asking(due.ref, webhook.suspension if due.probe else None) as asked:
            result = await self._post(delivery, listing, webhook, began.wall_ms, slot)
            at_ms, duration_ms = dated_back(self._clock, started_ns, slot.waited_ns)
            found = attempt_result(result, webhook, at_ms, duration_ms)
            asked.attempt = found.attempt
        ended_ms = self._clock.steady_ms()
        self._stop_or_go(result, began.steady_ms, ended_ms)
        if found.everywhere:
            self._chat_until_ms = max(self._chat_until_ms, ended_ms + found.wait_ms)
        if self._current(delivery.ref, webhook) is None:
            return found, None
        self._slow_down(due.ref, result, found, ended_ms)
        return found, duration_ms >= SLOW_MS or result.error == "timeout"

    async def _post(
        self, delivery: Delivery, listing: Listing, webhook: Webhook, at_ms: int, slot: Slot
    ) -> HttpResult:
        try:
            return await self._client.post(*self._requests.request(delivery, listing, webhook, at_ms), slot)
        except UrlRefused:
            return HttpResult(None, "blocked")
        except Exception as bug:
            log_bug(f"delivery {delivery.id}", bug)
            return HttpResult(None, "internal", AtFault.UNKNOWN)

    def _stop_or_go(self, result: HttpResult, at_ms: int, now_ms: int) -> None:
        """Stop all deliveries if the proxy fails, and resume them if it works. The attempt began at
        `at_ms`."""
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
            return  # a failure of the proxy says nothing of the endpoint
        if result.fault is AtFault.UNKNOWN or (not found.charged and not found.wait_ms):
            delay_ms = max(self._policy.retry_delay_ms, LEAST_BACKOFF_MS)
            self._outbox.hold_longer(ref, now_ms, delay_ms, LONGEST_BACKOFF_MS)
        elif result.fault is AtFault.ENDPOINT:
            self._outbox.understood(ref)
        if found.wait_ms:
            self._outbox.hold(ref, now_ms + found.wait_ms)

    def _current(self, ref: str, used: Webhook) -> Webhook | None:
        """Return the listing's webhook as it is now, or None if its settings are no longer the ones used."""
        listing = self._state.listings.get(ref)
        now = listing.webhook if listing is not None else None
        return now if now is not None and (now.url, now.saved_ms) == (used.url, used.saved_ms) else None

    # -- outcomes: events in the present state ---------------------------------------------------------

    def _is_over(self, delivery: Delivery) -> bool:
        """Return true if the delivery was removed. Another one may have been queued under its id."""
        if self._state.deliveries.pending.get(delivery.id) is delivery:
            return False
        if delivery.id not in self._state.deliveries.pending:
            self._outbox.forget(delivery.id)
        return True

    def _dropped(self, delivery: Delivery) -> Sequence[Event]:
        if self._is_over(delivery):
            return []
        return [DeliveryDropped(delivery.id, delivery.ref, delivery.made, "expired", self._clock.now_ms())]

    def _attempted(
        self, delivery: Delivery, used: Webhook, found: AttemptResult, *, probe: bool
    ) -> Sequence[Event]:
        if self._is_over(delivery):
            return []
        webhook = self._current(delivery.ref, used)
        return attempt_events(self._policy, delivery, webhook, found, probe=probe)


class Origins:
    """The requests that queued the latest deliveries. They do not outlive the process."""

    def __init__(self) -> None:
        self._requests = Newest[str, str](ORIGINS_KEPT)  # delivery id -> request id

    def on_record(self, events: Sequence[Event]) -> None:
        """Read a record that the request of this context has just committed, if there is one."""
        request = REQUEST_ID.get()
        for event in events:
            if isinstance(event, DeliveryQueued):
                if request:
                    self._requests[event.delivery_id] = request
            elif isinstance(event, DeliveryDropped) or (
                isinstance(event, DeliveryAttempted) and event.next_attempt_ms is None
            ):
                self._requests.pop(event.delivery_id, None)

    def enter(self, delivery_id: str) -> None:
        """Make the log lines of the present task those of the request of a delivery."""
        REQUEST_ID.set(self._requests.get(delivery_id, ""))
