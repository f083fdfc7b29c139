"""Management of webhooks: settings, tests, the delivery log, redelivery."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import asdict

from actions.query_forms import DeliveriesQuery
from core.events import DeliveryAttempted, Event
from core.refusals import Refusal
from forms.fields import Nothing
from forms.reading import read, read_query
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.webhook_views import (
    DeliveryAnswer,
    DeliveryPage,
    Redelivered,
    RotatedSecret,
    SavedWebhook,
    WebhookAnswer,
    WebhookView,
    delivery_view,
    webhook_view,
)
from listings.forms import FailedSince, Overlap, Voter, WebhookSettings
from listings.queries import deliveries_page
from listings.rules import listing_of
from listings.webhooks import (
    probe,
    redeliver,
    redeliver_failed,
    remove_webhook,
    resume,
    rotate_secret,
    save_webhook,
    send_test,
    webhook_of,
)


class AttemptWatch:
    """A reader of the log that lets a request wait for the next attempt of a delivery, or to an endpoint."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[int]]] = {}

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, DeliveryAttempted):
                waiters = [*self._waiting.pop(event.delivery_id, ()), *self._waiting.pop(event.ref, ())]
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_result(position)

    @contextmanager
    def expecting(self, name: str) -> Iterator[asyncio.Future[int]]:
        """A future that is done with the next attempt: the position of its record.

        `name` is the id of the delivery, or the ref of the endpoint's listing.
        """
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append(waiter)
        try:
            yield waiter
        finally:
            waiters = self._waiting.get(name, [])
            if waiter in waiters:
                waiters.remove(waiter)
            if not waiters:
                self._waiting.pop(name, None)


class ManageWebhooks:
    """`attempt_seconds` bounds how long a test or redelivery waits to tell its result."""

    def __init__(
        self,
        context: ManageContext,
        ref: Callable[[Request], str],
        watch: AttemptWatch,
        attempt_seconds: float,
    ) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref
        self._watch = watch
        self._attempt_seconds = attempt_seconds

    async def save(self, request: Request) -> Reply:
        ref = self._ref(request)
        before = listing_of(self._state, ref).webhook
        form = read(WebhookSettings, request.json_object())
        events = save_webhook(
            self._state, ref, form, self._context.webhooks, self._clock.now_ms(), by=request.by
        )

        def saved() -> Reply:
            now = webhook_of(self._state, ref).secret
            made = now is not None and (before is None or before.secret is None)
            return success(SavedWebhook(**asdict(self._view(ref)), secret=now if made else None))

        return await self._context.commit(events, saved)

    def show(self, request: Request) -> Reply:
        return self._shown(self._ref(request))

    def _shown(self, ref: str) -> Reply:
        return success(WebhookAnswer(**asdict(self._view(ref))))

    def _view(self, ref: str) -> WebhookView:
        pending = self._state.deliveries.waiting(ref)
        return webhook_view(webhook_of(self._state, ref), pending, self._clock.now_ms())

    async def rotate_secret(self, request: Request) -> Reply:
        """Rotate the signing secret. This answer alone shows the new one."""
        ref, policy = self._ref(request), self._context.webhooks
        webhook_of(self._state, ref)
        overlap_ms = read(Overlap, request.json_object()).overlap_seconds * 1_000
        events = rotate_secret(
            self._state, ref, policy, overlap_ms=overlap_ms, now_ms=self._clock.now_ms(), by=request.by
        )

        def rotated() -> Reply:
            secret = webhook_of(self._state, ref).secret
            if secret is None:
                raise AssertionError("a webhook whose secret was rotated has one")
            return success(RotatedSecret(secret=secret))

        return await self._context.commit(events, rotated)

    async def resume(self, request: Request) -> Reply:
        """Lift a suspension. What waits leaves at the endpoint's pace."""
        ref = self._ref(request)
        webhook_of(self._state, ref)
        read(Nothing, request.json_object())
        events = resume(self._state, ref, self._clock.now_ms(), by=request.by)
        return await self._context.commit(events, lambda: self._shown(ref))

    async def probe(self, request: Request) -> Reply:
        """Probe a suspended endpoint now. The answer waits for the attempt, up to a limit."""
        ref = self._ref(request)
        webhook_of(self._state, ref)
        read(Nothing, request.json_object())
        events = probe(self._state, ref, self._clock.now_ms(), by=request.by)
        with self._watch.expecting(ref) as attempt:
            await self._context.commit(events)
            await asyncio.wait([attempt], timeout=self._attempt_seconds)
            if attempt.done():
                await self._context.ledger.durable(attempt.result())
        return self._shown(ref)

    async def remove(self, request: Request) -> Reply:
        events = remove_webhook(self._state, self._ref(request), self._clock.now_ms(), by=request.by)
        return await self._context.commit(events)

    async def test(self, request: Request) -> Reply:
        """Send a test. The answer waits for the first attempt, successful or not, up to a limit."""
        ref, delivery_id = self._ref(request), self._context.new_id()
        webhook_of(self._state, ref)
        form = read(Voter, request.json_object())
        now_ms = self._clock.now_ms()
        return await self._attempted(
            ref, delivery_id, send_test(self._state, ref, form.user, delivery_id=delivery_id, now_ms=now_ms)
        )

    def deliveries(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        asked = read_query(DeliveriesQuery, request.query)
        shown, following = deliveries_page(
            self._state, ref, after=asked.after, limit=asked.limit, only=asked.state, kind=asked.type
        )
        webhook = listing_of(self._state, ref).webhook
        views = tuple(delivery_view(row, webhook) for row in shown)
        return success(DeliveryPage(deliveries=views, next=following))

    async def redeliver(self, request: Request) -> Reply:
        ref, delivery_id = self._ref(request), request.params[1]
        webhook_of(self._state, ref)
        read(Nothing, request.json_object())
        return await self._attempted(
            ref,
            delivery_id,
            redeliver(self._state, ref, delivery_id, self._context.webhooks, self._clock.now_ms()),
        )

    async def redeliver_failed(self, request: Request) -> Reply:
        """Send failed deliveries again. The answer does not wait for them: the log shows their outcome."""
        ref = self._ref(request)
        webhook_of(self._state, ref)
        since_ms = read(FailedSince, request.json_object()).failed_since
        events = redeliver_failed(self._state, ref, since_ms, self._context.webhooks, self._clock.now_ms())
        return await self._context.commit(events, lambda: success(Redelivered(redelivered=len(events))))

    async def _attempted(self, ref: str, delivery_id: str, events: Sequence[Event]) -> Reply:
        with self._watch.expecting(delivery_id) as attempt:
            await self._context.commit(events)
            if not self._is_held(ref, delivery_id):
                await asyncio.wait([attempt], timeout=self._attempt_seconds)
            if attempt.done():
                await self._context.ledger.durable(attempt.result())
        for delivery in self._state.deliveries.of(ref):
            if delivery.id == delivery_id:
                view = delivery_view(delivery, listing_of(self._state, ref).webhook)
                return success(DeliveryAnswer(**asdict(view)))
        raise Refusal("no_such_delivery")  # removed meanwhile

    def _is_held(self, ref: str, delivery_id: str) -> bool:
        """Tell whether the delivery waits for its endpoint to recover. A test never does."""
        listing, delivery = self._state.listings.get(ref), self._state.deliveries.pending.get(delivery_id)
        suspended = listing is not None and listing.webhook is not None and listing.webhook.suspension
        return bool(suspended) and delivery is not None and not delivery.test
