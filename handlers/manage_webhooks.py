"""Management of webhooks: settings, tests, the delivery log, redelivery."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from core.events import DeliveryAttempted, Event
from core.refusals import NotFound
from handlers.manage import ManageContext, is_own_id, page_of
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.views import delivery_view, webhook_view
from listings.forms import Nothing, User, WebhookSettings, read
from listings.queries import deliveries_page
from listings.rules import listing_of
from listings.webhooks import redeliver, remove_webhook, save_webhook, send_test, webhook_of


class AttemptWatch:
    """Reads the log for the next attempt of a delivery, so that a request can wait for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[int]] = {}

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, DeliveryAttempted) and event.delivery_id in self._waiting:
                waiter = self._waiting.pop(event.delivery_id)
                if not waiter.done():
                    waiter.set_result(position)

    @contextmanager
    def expecting(self, delivery_id: str) -> Iterator[asyncio.Future[int]]:
        """A future that is done with the delivery's next attempt: the position of its record."""
        waiter = self._waiting[delivery_id] = asyncio.get_running_loop().create_future()
        try:
            yield waiter
        finally:
            self._waiting.pop(delivery_id, None)


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
        listing_of(self._state, ref)
        form = read(WebhookSettings, request.json_object())
        events = save_webhook(self._state, ref, form, self._clock.now_ms())
        return await self._context.commit(
            events, lambda: success(**webhook_view(webhook_of(self._state, ref)))
        )

    def show(self, request: Request) -> Reply:
        return success(**webhook_view(webhook_of(self._state, self._ref(request))))

    async def remove(self, request: Request) -> Reply:
        return await self._context.commit(remove_webhook(self._state, self._ref(request)))

    async def test(self, request: Request) -> Reply:
        """Answers after the first attempt, whatever became of it."""
        ref, delivery_id = self._ref(request), self._context.new_id()
        webhook_of(self._state, ref)
        form = read(User, request.json_object())
        now_ms = self._clock.now_ms()
        return await self._attempted(
            ref, delivery_id, send_test(self._state, ref, form.user, delivery_id=delivery_id, now_ms=now_ms)
        )

    def deliveries(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        after, limit = page_of(request.query, is_own_id)
        shown, following = deliveries_page(self._state, ref, after=after, limit=limit)
        return success(deliveries=[delivery_view(delivery) for delivery in shown], next=following)

    async def redeliver(self, request: Request) -> Reply:
        ref, delivery_id = self._ref(request), request.params[1]
        webhook_of(self._state, ref)
        read(Nothing, request.json_object())
        return await self._attempted(
            ref, delivery_id, redeliver(self._state, ref, delivery_id, self._clock.now_ms())
        )

    async def _attempted(self, ref: str, delivery_id: str, events: Sequence[Event]) -> Reply:
        with self._watch.expecting(delivery_id) as attempt:
            await self._context.commit(events)
            await asyncio.wait([attempt], timeout=self._attempt_seconds)
            if attempt.done():
                await self._context.ledger.durable(attempt.result())
        for delivery in self._state.deliveries(ref):
            if delivery.id == delivery_id:
                return success(**delivery_view(delivery))
        raise NotFound("delivery")  # removed meanwhile
