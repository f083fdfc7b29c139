"""A sender of webhooks with everything around it made of memory."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from core.clock import moment
from core.events import DeliveryQueued, Event
from core.ledger import Ledger
from core.rows import Delivery, Webhook
from core.state import State
from outbound.result import HttpResult
from outbound.slots import Slot
from outbound.targets import TargetGuard
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, NOW_MS, listed
from webhook.attempts import RetryPolicy
from webhook.messages import RequestBuilder
from webhook.notifier import WebhookNotifier
from webhook.outbox import Outbox, OutboxPolicy
from webhook.sender import Sender
from webhook.suspension_log import SuspensionLog

URL = "http://127.0.0.1/hook"
CHAT_HOST = "chat.example"
CHAT_URL = f"https://{CHAT_HOST}/api/webhooks/123/token-of-the-channel"
ACCEPTED = HttpResult(204, None)
FAILED = HttpResult(500, "http_500", body=b"oops")
DELIVERIES_KEPT = 100
KEPT_MS = 14 * 86_400_000
POLICY = OutboxPolicy(in_flight=4, in_flight_per_endpoint=2, catch_up_gap_ms=20, look_ups=4)
RETRY = RetryPolicy(
    retries=3,
    retry_delay_ms=5_000,
    suspend_after=10,
    suspension_ms=60_000,
    longest_suspension_ms=3_600_000,
    kept_ms=KEPT_MS,
)


class Sent(NamedTuple):
    url: str
    headers: Mapping[str, str]
    body: Any


class FakeClient:
    """A client that answers from a list, and then with `ACCEPTED`. A test can make it wait or take time.

    `names`: URLs whose names it looks up first, until their event is set. `absent`: URLs whose names are not
    found.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.sent: list[Sent] = []
        self.answers: list[HttpResult | Exception] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.takes_ms = 0
        self.names: dict[str, asyncio.Event] = {}
        self.absent: set[str] = set()
        self._clock = clock

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, slot: Slot) -> HttpResult:
        if url in self.names:
            await self._look_up(self.names[url], slot)
        if url in self.absent:
            return HttpResult(None, "dns")
        if not slot.held:
            await self._come_back(slot)
        self.sent.append(Sent(url, headers, json.loads(body)))
        await self.may_answer.wait()
        self._clock.advance_ms(self.takes_ms)
        answer = self.answers.pop(0) if self.answers else ACCEPTED
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _look_up(self, found: asyncio.Event, slot: Slot) -> None:
        slot.look_up()
        try:
            await found.wait()
        finally:
            slot.found()

    async def _come_back(self, slot: Slot) -> None:
        held, since_ns = asyncio.Event(), self._clock.monotonic_ns()
        slot.come_back(held.set)
        try:
            await held.wait()
        finally:
            slot.stay_away()
            slot.waited_ns = self._clock.monotonic_ns() - since_ns


class Stage:
    """A sender of webhooks with all that it speaks to. Its attempts run when the test lets them."""

    def __init__(
        self,
        state: State | None = None,
        policy: OutboxPolicy = POLICY,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        self.clock = FakeClock(NOW_MS)
        self.journal = MemoryJournal()
        self.ledger = Ledger(state or empty_state(DELIVERIES_KEPT), self.journal, head=0)
        self.client = FakeClient(self.clock)
        self.outbox = Outbox(policy, RETRY, self.ledger.state, moment(self.clock))
        self.spawned: list[Coroutine[Any, Any, None]] = []
        self.notifier = WebhookNotifier(
            self.ledger.state,
            self.outbox,
            RequestBuilder(TargetGuard(allow_private=True, allow_http=True), {CHAT_HOST}),
            self.client,
            RETRY,
            self.clock,
        )
        self.sender = Sender(
            self.notifier,
            self.ledger,
            self.clock,
            lambda: self.journal.durable_position,
            self.spawned.append,
            may_send,
        )
        self.ledger.subscribe(self.notifier.on_record)
        self.ledger.subscribe(SuspensionLog(self.ledger.state, self.outbox.suspended).on_record)

    def commit(self, *events: Event) -> None:
        """Commits durably."""
        self.journal.durable_position = self.ledger.commit(events)

    def queue(self, delivery_id: str = "d1", user: str = "5", test: bool = False, ref: str = BOT_REF) -> None:
        self.commit(DeliveryQueued(delivery_id, ref, user, test, self.clock.now_ms()))

    def step(self) -> int:
        """Start due attempts. Return their number."""
        before = len(self.spawned)
        self.sender.step(self.clock.steady_ms())
        return len(self.spawned) - before

    async def attempt(self) -> int:
        """Start due attempts and let them end. Return their number."""
        self.step()
        attempts = len(self.spawned)
        while self.spawned:
            await self.spawned.pop(0)
        self.journal.durable_position = self.ledger.head
        return attempts

    def delivery(self, delivery_id: str = "d1") -> Delivery:
        state = self.ledger.state
        return next(
            row
            for ref in state.listings.refs
            for row in state.deliveries.newest_first(ref)
            if row.id == delivery_id
        )

    def webhook(self, ref: str = BOT_REF) -> Webhook:
        webhook = self.ledger.state.listings[ref].webhook
        assert webhook is not None
        return webhook

    def fold(self) -> None:
        """The records must give the live state."""
        folded = fold(self.journal.records, DELIVERIES_KEPT)
        assert folded.digest() == self.ledger.state.digest()


def staged(token: str | None = None, may_send: Callable[[], bool] = lambda: True) -> Stage:
    stage = Stage(may_send=may_send)
    stage.commit(*listed(url=URL, token=token))
    return stage
