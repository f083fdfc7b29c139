"""The order in which deliveries are due. The state has the pending deliveries; the outbox only orders them.

The outbox reads the log. A delivery enters with the position of its record: when it is queued, and when it is
to be attempted again. It may leave once that position is durable, it is due, and its endpoint has room.

Each endpoint has a queue of its own, in the order of votes, and endpoints take turns. An endpoint has room
unless it is suspended (then it gets one probe at a time), has asked for a wait, has as many running attempts
as it may have, or catches up at its pace. An endpoint whose last attempt took long has room for one attempt;
all of these together get half of the slots, so slow endpoints never use up the slots of quick ones. A test
goes before the endpoint's queue.

All times are steady time (core/clock.py), except those of facts in the log. The time of a fact is converted
when its delivery enters, and bounded by the longest possible wait. So setting the wall clock, even while a
fact is written, neither delays a delivery for long, nor lets it leave early, nor makes it expire.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from core.clock import Moment
from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryQueued,
    DeliveryTaken,
    EndpointHealthSet,
    Event,
    ListingRemoved,
    SlotsSet,
)
from core.rows import Delivery, Suspension, Webhook
from core.state import State
from outbound.slots import Slots
from webhook.attempts import RetryPolicy, due_at_ms, to_steady_ms

PATIENT_PROBES = 5  # with the oldest delivery: half an hour, if the first suspension takes a minute


class QueueEntry(NamedTuple):
    """A delivery in its queue. Entries sort by age, and by `order` if they have the same age."""

    since_ms: int
    order: int
    delivery_id: str


_NO_ENTRY = QueueEntry(0, 0, "")


@dataclass(slots=True)
class EndpointQueue:
    """The queue of one endpoint, and the facts about the endpoint.

    Four facts decide if a delivery may leave: `probe_ms`, `not_before_ms`, `in_flight` and `slow`. Each may
    change alone, in any state of the others.
    """

    waiting: list[QueueEntry] = field(default_factory=list)  # a heap
    urgent: deque[QueueEntry] = field(default_factory=deque)
    probe_ms: int | None = None  # the time of the next probe while the endpoint is suspended
    probes: int = 0
    probed: QueueEntry = _NO_ENTRY  # the entry that left last
    not_before_ms: int = 0  # the end of the wait that the endpoint, or a failure, has asked for
    in_flight: int = 0  # running attempts
    urgent_in_flight: bool = False  # one of them is a test
    slow: bool = False  # the last attempt took long; then one attempt at a time
    to_catch_up: int = 0  # deliveries that leave at the endpoint's pace, because they had to wait
    misses: int = 0  # consecutive failures with an unknown party at fault
    gone: bool = False  # the webhook is removed, and no delivery has entered since

    @property
    def is_idle(self) -> bool:
        """True if nothing waits, nothing runs, and nothing needs to be remembered."""
        return not (self.waiting or self.urgent or self.in_flight or self.slow) and self.probe_ms is None

    def enter(self, entry: QueueEntry) -> None:
        self.gone = False
        heapq.heappush(self.waiting, entry)

    def enter_urgent(self, entry: QueueEntry) -> None:
        """Add a test: it leaves before all other deliveries, and after the tests before it."""
        self.gone = False
        self.urgent.append(entry)

    def may_move(self, now_ms: int, room: int) -> bool:
        """Return True if the next delivery may leave. `room` is the most attempts that may run at once."""
        if self.probe_ms is not None:
            return not self.in_flight and self.probe_ms <= now_ms
        return self.in_flight < (1 if self.slow else room)

    def first(self, pending: Container[str]) -> str | None:
        """Return the id of the next pending delivery, or None. Drops entries that are no longer pending."""
        while self.waiting and self.waiting[0].delivery_id not in pending:
            heapq.heappop(self.waiting)
        return self.waiting[0].delivery_id if self.waiting else None

    def first_urgent(self, pending: Container[str]) -> str | None:
        """Return the id of the next pending test, or None. One test runs at a time. Drops entries as `first`
        does."""
        while self.urgent and self.urgent[0].delivery_id not in pending:
            self.urgent.popleft()
        return self.urgent[0].delivery_id if self.urgent and not self.urgent_in_flight else None

    def leave(self, kept_since_ms: int) -> QueueEntry:
        """Take the next entry out of the queue.

        After PATIENT_PROBES failed probes, each probe takes the entry after the previous one, in turn: a
        delivery that always fails must not be the only probe. An entry from before `kept_since_ms` still
        comes first, because it has expired.
        """
        if (
            self.probe_ms is None
            or self.probes <= PATIENT_PROBES
            or self.waiting[0].since_ms <= kept_since_ms
        ):
            left = heapq.heappop(self.waiting)
        else:
            left = min((entry for entry in self.waiting if entry > self.probed), default=self.waiting[0])
            self.waiting.remove(left)
            heapq.heapify(self.waiting)
        self.probed = left
        return left

    def suspend(self, probe_ms: int, probes: int) -> None:
        """Suspend the endpoint. The next probe is number `probes` of this suspension."""
        self.probe_ms, self.probes = probe_ms, probes

    def flow(self) -> None:
        """End a suspension. The deliveries that waited leave at the endpoint's pace."""
        if self.probe_ms is not None:
            self.to_catch_up = max(len(self.waiting) - 1, 0)
        self.probe_ms = None

    def forget_pace(self) -> None:
        """Forget how fast the endpoint is: its settings may lead to another one now."""
        self.slow, self.not_before_ms, self.misses = False, 0, 0

    def forget(self) -> None:
        """Note that the webhook is removed, and drop all entries."""
        self.waiting, self.probe_ms, self.to_catch_up, self.gone = [], None, 0, True
        self.urgent.clear()
        self.forget_pace()


# -- the outbox ----------------------------------------------------------------------------------------------

# Deliveries that became due before a start leave after it in batches.
RESTART_BATCH = 100
RESTART_GAP_MS = 100


@dataclass(frozen=True)
class OutboxPolicy:
    """The limits of the outbox.

    `in_flight` attempts may run at once, `in_flight_per_endpoint` of them to one endpoint. `look_ups` more
    may resolve a name. An endpoint that catches up gets a delivery each `catch_up_gap_ms`.
    """

    in_flight: int
    in_flight_per_endpoint: int
    catch_up_gap_ms: int
    look_ups: int


class Due(NamedTuple):
    """A delivery to attempt now.

    `probe`: it probes a suspended endpoint. `slow`: it holds a slot for slow endpoints. `urgent`: it is a
    test. `expired`: it is to be given up instead.
    """

    delivery_id: str
    ref: str
    probe: bool
    slow: bool
    urgent: bool
    expired: bool


class EndpointStanding(NamedTuple):
    """The number of running attempts to an endpoint, its slowness, and the wait until the next attempt."""

    in_flight: int
    slow: bool
    wait_ms: int


class Outbox:
    """Orders the pending deliveries, and counts the running attempts."""

    def __init__(self, policy: OutboxPolicy, retries: RetryPolicy, state: State, now: Moment) -> None:
        """Take over the pending deliveries. Those that are due already leave in batches."""
        self._policy = policy
        self._retries = retries
        self._pending = state.deliveries.pending
        self._order = 0
        self._entries: dict[str, QueueEntry] = {}  # of running attempts
        self._not_durable: deque[tuple[int, int, QueueEntry]] = deque()
        self._due: list[tuple[int, int, QueueEntry]] = []
        self._timers: list[tuple[int, str]] = []
        self._queues: dict[str, EndpointQueue] = {}
        self._ready: OrderedDict[str, None] = OrderedDict()
        """The endpoints that wait for their turn, but for the slow ones."""
        self._slow_ready: OrderedDict[str, None] = OrderedDict()
        self._slow_turn = False
        self._in_flight = 0
        self.slots, self.look_ups = Slots(policy.in_flight), Slots(policy.look_ups)
        self._stopped_until_ms: int | None = None
        for listing in state.listings.unpacked():
            if listing.webhook is not None:
                self._set_suspension(listing.ref, listing.webhook.suspension, now)
        overdue = 0
        for row in state.deliveries.pending.values():
            due_ms = _due_ms(row, now)
            if due_ms <= now.steady_ms:
                due_ms = now.steady_ms + overdue // RESTART_BATCH * RESTART_GAP_MS
                overdue += 1
                if row.ref in self._queues:
                    self._queues[row.ref].to_catch_up += 1
                else:
                    self._queues[row.ref] = EndpointQueue()
                    # The queue gets a turn then even if its deliveries are removed before they enter it.
                    heapq.heappush(self._timers, (due_ms, row.ref))
            self._add(self._entry(row.id, _since_ms(row, now)), due_ms, position=0)

    @property
    def in_flight(self) -> int:
        """The number of running attempts, including those that resolve a name."""
        return self._in_flight

    @property
    def suspended(self) -> list[str]:
        """The refs of the suspended endpoints."""
        return [ref for ref, queue in self._queues.items() if queue.probe_ms is not None]

    def standing(self, ref: str, now_ms: int) -> EndpointStanding:
        """Return the running attempts and the wait of a listing's endpoint."""
        queue = self._queues.get(ref)
        if queue is None:
            return EndpointStanding(0, slow=False, wait_ms=0)
        return EndpointStanding(queue.in_flight, queue.slow, max(queue.not_before_ms - now_ms, 0))

    @property
    def stopped(self) -> bool:
        """True while the proxy is down. Then a single attempt leaves now and then, as a probe."""
        return self._stopped_until_ms is not None

    # -- reading the log -------------------------------------------------------------------------------

    def on_record(self, position: int, events: Sequence[Event], now: Moment) -> None:
        """Read a record that has just been committed."""
        for event in events:
            match event:
                case DeliveryQueued() if event.delivery_id in self._pending:
                    self._add(self._entry(event.delivery_id, now.steady_ms), now.steady_ms, position)
                case DeliveryTaken() if (row := self._pending.get(event.delivery_id)) is not None:
                    self._add(self._entry(row.id, _since_ms(row, now)), now.steady_ms, position)
                case DeliveryAttempted() | DeliveryDropped():
                    entry = self._entries.pop(event.delivery_id, None)
                    if (row := self._pending.get(event.delivery_id)) is not None:
                        entry = entry or self._entry(row.id, _since_ms(row, now))
                        self._add(entry, _due_ms(row, now), position)
                case EndpointHealthSet():
                    self._set_suspension(event.ref, event.suspension, now)
                case SlotsSet(webhook=Webhook(suspension=None)):
                    self._forget_pace(event.ref)
                    self._set_suspension(event.ref, None, now)
                case SlotsSet(webhook=None) | ListingRemoved() if event.ref in self._queues:
                    self._queues[event.ref].forget()
                    self._make_ready(event.ref)

    def _entry(self, delivery_id: str, since_ms: int) -> QueueEntry:
        """Return an entry after all others of the same age, or with the order that the delivery has
        already."""
        self._order += 1
        known = self._entries.get(delivery_id)
        return QueueEntry(since_ms, self._order if known is None else known.order, delivery_id)

    def _add(self, entry: QueueEntry, due_ms: int, position: int) -> None:
        """Add a delivery that may leave at `due_ms`, once the record at `position` is durable."""
        self._not_durable.append((position, due_ms, entry))

    def _set_suspension(self, ref: str, suspension: Suspension | None, now: Moment) -> None:
        if suspension is not None:
            longest_ms = self._retries.longest_to_probe_ms(suspension.times)
            probe_ms = to_steady_ms(suspension.probe_ms, longest_ms, now)
            self._queues.setdefault(ref, EndpointQueue()).suspend(probe_ms, suspension.times)
            heapq.heappush(self._timers, (probe_ms, ref))
        elif ref in self._queues:
            self._queues[ref].flow()
            self._make_ready(ref)

    def _forget_pace(self, ref: str) -> None:
        """Forget the pace of an endpoint with new settings, and take it out of the queue of slow
        endpoints."""
        if ref in self._queues:
            self._slow_ready.pop(ref, None)
            self._queues[ref].forget_pace()

    # -- attempts --------------------------------------------------------------------------------------

    def take(self, now_ms: int, durable: int) -> list[Due]:
        """Return the deliveries to attempt now. Each counts as a running attempt until `release`."""
        self._arrive(now_ms, durable)
        while self._timers and self._timers[0][0] <= now_ms:
            self._make_ready(heapq.heappop(self._timers)[1])
        taken: list[Due] = []
        while self._has_place(now_ms) and (refs := self._next_turns()):
            due = self._next(refs.popitem(last=False)[0], now_ms)
            if due is not None:
                taken.append(due)
        return taken

    def release(self, due: Due, *, slow: bool | None = None, has_slot: bool = True) -> None:
        """End an attempt.

        `slow` tells if the endpoint took too long; None if that is unknown. `has_slot` is False if the
        attempt ended during its look-up.
        """
        queue = self._queues[due.ref]
        if slow is not None and not queue.gone:
            queue.slow = slow
        queue.in_flight -= 1
        queue.urgent_in_flight = queue.urgent_in_flight and not due.urgent
        self._in_flight -= 1
        if has_slot:
            self.slots.give(slow=due.slow)
        if due.delivery_id not in self._pending:
            self.forget(due.delivery_id)
        self._make_ready(due.ref)

    def put_back(self, due: Due, now_ms: int) -> None:
        """Put the delivery back into its queue, with its old order. The caller then calls `release`."""
        entry = self._entries.pop(due.delivery_id, None)
        self._enter(entry or self._entry(due.delivery_id, now_ms))

    def forget(self, delivery_id: str) -> None:
        """Forget the order of a delivery that will not be attempted again."""
        self._entries.pop(delivery_id, None)

    def hold_longer(self, ref: str, now_ms: int, delay_ms: int, longest_ms: int) -> None:
        """Let nothing leave for the endpoint for `delay_ms`, doubled for each consecutive miss."""
        queue = self._queues.setdefault(ref, EndpointQueue())
        self.hold(ref, now_ms + min(delay_ms << queue.misses, longest_ms))
        queue.misses = min(queue.misses + 1, 20)

    def understood(self, ref: str) -> None:
        """Count misses from zero again: the party at fault is known, or there was no failure."""
        if ref in self._queues:
            self._queues[ref].misses = 0

    def hold(self, ref: str, until_ms: int) -> None:
        """Let nothing leave for the endpoint before `until_ms`."""
        queue = self._queues.setdefault(ref, EndpointQueue())
        if queue.not_before_ms < until_ms:
            queue.not_before_ms = until_ms
            heapq.heappush(self._timers, (until_ms, ref))

    def stop(self, until_ms: int) -> None:
        """Let nothing leave for any endpoint before `until_ms`, and then one attempt at a time."""
        self._stopped_until_ms = until_ms

    def resume(self) -> None:
        """End a `stop`."""
        self._stopped_until_ms = None

    def next_due_ms(self) -> int | None:
        """Return the next time at which `take` may return more although nothing else has happened, or None.

        The caller has just called `take`.
        """
        first = min((heap[0][0] for heap in (self._due, self._timers) if heap), default=None)
        if self._stopped_until_ms is None:
            return first if self.slots.is_free() else None
        ready = self._ready or self._slow_ready
        if self._in_flight or (first is None and not ready):
            return None
        return self._stopped_until_ms if ready or first is None else max(first, self._stopped_until_ms)

    def _arrive(self, now_ms: int, durable: int) -> None:
        while self._not_durable and self._not_durable[0][0] <= durable:
            _, due_ms, entry = self._not_durable.popleft()
            if due_ms <= now_ms:
                self._enter(entry)
            else:
                heapq.heappush(self._due, (due_ms, entry.order, entry))
        while self._due and self._due[0][0] <= now_ms:
            self._enter(heapq.heappop(self._due)[2])

    def _enter(self, entry: QueueEntry) -> None:
        """Move a due delivery to the queue of its endpoint."""
        row = self._pending.get(entry.delivery_id)
        if row is None:
            return  # removed since it was queued
        queue = self._queues.setdefault(row.ref, EndpointQueue())
        if row.test:
            queue.enter_urgent(entry)
        else:
            queue.enter(entry)
        self._make_ready(row.ref)

    def _make_ready(self, ref: str) -> None:
        queue = self._queues.get(ref)
        if queue is not None and ref not in self._ready and ref not in self._slow_ready:
            (self._slow_ready if queue.slow else self._ready)[ref] = None

    def _next_turns(self) -> OrderedDict[str, None]:
        """Return the queue of endpoints whose turn it is, the quick or the slow one. Empty for none."""
        if self._slow_ready and self.slots.is_free(slow=True) and (self._slow_turn or not self._ready):
            self._slow_turn = False
            return self._slow_ready
        self._slow_turn = True
        return self._ready

    def _has_place(self, now_ms: int) -> bool:
        if self._stopped_until_ms is None:
            return self.slots.is_free()
        return now_ms >= self._stopped_until_ms and not self._in_flight

    def _next(self, ref: str, now_ms: int) -> Due | None:
        """Take the endpoint's next delivery, if it has room. Then the endpoint waits for its next turn."""
        queue, due = self._queues[ref], None
        if queue.not_before_ms <= now_ms:
            due = self._next_due(ref, queue, now_ms)
        if due is None:
            if queue.is_idle and queue.not_before_ms <= now_ms:
                del self._queues[ref]
            return None
        queue.in_flight += 1
        queue.urgent_in_flight = queue.urgent_in_flight or due.urgent
        self._in_flight += 1
        self.slots.take(slow=due.slow)
        if queue.to_catch_up:
            queue.to_catch_up -= 1
            self.hold(ref, now_ms + self._policy.catch_up_gap_ms)
        self._make_ready(ref)
        return due

    def _next_due(self, ref: str, queue: EndpointQueue, now_ms: int) -> Due | None:
        urgent = queue.first_urgent(self._pending)
        moves = queue.may_move(now_ms, self._policy.in_flight_per_endpoint)
        if urgent is None and (not moves or queue.first(self._pending) is None):
            return None
        if queue.slow and not self.slots.is_free(slow=True):
            self._make_ready(ref)  # it has become slow while it waited for its turn
            return None
        kept_since_ms = now_ms - self._retries.kept_ms
        if urgent is not None:
            entry, probe = queue.urgent.popleft(), False
        else:
            entry, probe = queue.leave(kept_since_ms), queue.probe_ms is not None
        self._entries[entry.delivery_id] = entry
        expired = entry.since_ms <= kept_since_ms
        return Due(entry.delivery_id, ref, probe, queue.slow, urgent is not None, expired)


def _since_ms(row: Delivery, now: Moment) -> int:
    """Return the steady time at which the delivery's round of attempts began."""
    return now.steady_ms - max(now.wall_ms - row.since_ms, 0)


def _due_ms(row: Delivery, now: Moment) -> int:
    """Return the steady time at which the delivery is due: now, if it has just been queued."""
    next_ms = row.next_attempt_ms or 0
    is_queued = not row.attempts or next_ms == row.since_ms
    return due_at_ms(next_ms, None if is_queued else row.attempts[-1], now)
