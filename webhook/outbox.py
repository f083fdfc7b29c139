"""Which delivery is due. Law: pure; what is pending lives in the state, the outbox only orders it.

The outbox reads the log: a queued delivery, or one to be attempted again, enters at the position of its
record and may leave once that position is durable, its time has come, and its endpoint can take it. Each
endpoint has a line of its own, in the order of votes; endpoints take turns. A line moves while its endpoint
has room: it is not suspended (but for one probe at a time), not told to wait, and not being caught up with
faster than its pace. Endpoints that took long the last time have room for one, and all of them together for
half of the slots, so that the slow can never take every slot from the quick. A test goes ahead of its line.

All times are steady (core/clock.py), but those of facts. A fact's time is converted when it enters, and with
it goes how long was to be waited at the most: a clock that is set then, or was wrong when the fact was
written, neither parks a delivery nor makes it leave early, nor gives it up.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.clock import Moment
from core.events import (
    DeliveryAttempted,
    DeliveryQueued,
    DeliveryTaken,
    EndpointHealthSet,
    Event,
    ListingRemoved,
    WebhookRemoved,
    WebhookSaved,
)
from core.rows import Delivery, Suspension
from core.state import State
from outbound.slots import Slots
from webhook.attempts import RetryPolicy, ended_ms
from webhook.endpoint_queue import EndpointQueue, QueueEntry

# What became due before a start leaves after it in batches.
RESTART_BATCH = 100
RESTART_GAP_MS = 100


@dataclass(frozen=True)
class OutboxPolicy:
    """How many attempts may be under way, in all and to one endpoint, beside `look_ups` that look a name up;
    `catch_up_gap_ms` lies between those of what was held back for an endpoint. What has waited for `kept_ms`
    is to be given up."""

    in_flight: int
    in_flight_per_endpoint: int
    catch_up_gap_ms: int
    kept_ms: int
    look_ups: int


class Due(NamedTuple):
    """A delivery to attempt now. `probe`: of a suspended endpoint. `slow`: in a place of the slow ones.
    `urgent`: a test. `expired`: it is to be given up instead."""

    delivery_id: str
    ref: str
    probe: bool
    slow: bool
    urgent: bool
    expired: bool


class Outbox:
    def __init__(self, policy: OutboxPolicy, retries: RetryPolicy, state: State, now: Moment) -> None:
        """Takes over what is pending. What has been due since before `now` is spread over some time."""
        self._policy = policy
        self._retries = retries
        self._pending = state.pending
        self._order = 0
        self._places: dict[str, QueueEntry] = {}  # of what is under way, until it comes back
        self._not_durable: deque[tuple[int, int, QueueEntry]] = deque()
        self._due: list[tuple[int, int, QueueEntry]] = []
        self._timers: list[tuple[int, str]] = []
        self._lines: dict[str, EndpointQueue] = {}
        self._ready: deque[str] = deque()
        self._slow_ready: deque[str] = deque()
        self._slow_turn = False
        self._in_flight = 0
        self.slots, self.look_ups = Slots(policy.in_flight), Slots(policy.look_ups)
        self._stopped_until_ms: int | None = None
        for listing in state.listings_at_hand():
            if listing.webhook is not None:
                self._set_suspension(listing.ref, listing.webhook.suspension, now)
        overdue = 0
        for row in state.pending.values():
            due_ms = _due_ms(row, now)
            if due_ms <= now.steady_ms:
                due_ms = now.steady_ms + overdue // RESTART_BATCH * RESTART_GAP_MS
                overdue += 1
                if row.ref in self._lines:
                    self._lines[row.ref].to_catch_up += 1
                else:
                    self._lines[row.ref] = EndpointQueue()
            self._add(self._place(row.id, _since_ms(row, now)), due_ms, position=0)

    @property
    def in_flight(self) -> int:
        """How many attempts are, those that look a name up among them."""
        return self._in_flight

    @property
    def suspended(self) -> list[str]:
        """The refs of the endpoints that are."""
        return [ref for ref, line in self._lines.items() if line.probe_ms is not None]

    @property
    def stopped(self) -> bool:
        """Nothing leaves but, now and then, one to see whether anything can."""
        return self._stopped_until_ms is not None

    # -- reading the log -------------------------------------------------------------------------------

    def on_record(self, position: int, events: Sequence[Event], now: Moment) -> None:
        """Reads a record that has just been committed."""
        for event in events:
            match event:
                case DeliveryQueued() if event.delivery_id in self._pending:
                    self._add(self._place(event.delivery_id, now.steady_ms), now.steady_ms, position)
                case DeliveryTaken() if (row := self._pending.get(event.delivery_id)) is not None:
                    self._add(self._place(row.id, _since_ms(row, now)), now.steady_ms, position)
                case DeliveryAttempted() if (row := self._pending.get(event.delivery_id)) is not None:
                    place = self._places.pop(row.id, None) or self._place(row.id, _since_ms(row, now))
                    self._add(place, _due_ms(row, now), position)
                case EndpointHealthSet():
                    self._set_suspension(event.ref, event.suspension, now)
                case WebhookSaved() if event.webhook.suspension is None:
                    self._forget_pace(event.ref)
                    self._set_suspension(event.ref, None, now)
                case WebhookRemoved() | ListingRemoved() if event.ref in self._lines:
                    self._lines[event.ref].forget()
                    self._make_ready(event.ref)

    def _place(self, delivery_id: str, since_ms: int) -> QueueEntry:
        """A place behind all others of its age, or in the order that it has had so far."""
        self._order += 1
        known = self._places.get(delivery_id)
        return QueueEntry(since_ms, self._order if known is None else known.order, delivery_id)

    def _add(self, place: QueueEntry, due_ms: int, position: int) -> None:
        """A delivery that may leave at `due_ms`, once the record at `position` is durable."""
        self._not_durable.append((position, due_ms, place))

    def _set_suspension(self, ref: str, suspension: Suspension | None, now: Moment) -> None:
        if suspension is not None:
            longest_ms = self._retries.longest_to_probe_ms(suspension.times)
            probe_ms = now.steady_ms + _wait_ms(suspension.probe_ms, longest_ms, now)
            self._lines.setdefault(ref, EndpointQueue()).suspend(probe_ms, suspension.times)
            heapq.heappush(self._timers, (probe_ms, ref))
        elif ref in self._lines:
            self._lines[ref].flow()
            self._make_ready(ref)

    def _forget_pace(self, ref: str) -> None:
        """The endpoint may be another now: it does not wait among the slow."""
        line = self._lines.get(ref)
        if line is None:
            return
        if line.slow and line.is_ready and ref in self._slow_ready:
            self._slow_ready.remove(ref)
            line.is_ready = False
        line.forget_pace()

    # -- attempts --------------------------------------------------------------------------------------

    def take(self, now_ms: int, durable: int) -> list[Due]:
        """The deliveries to attempt now; each counts as in flight until it is `release`d."""
        self._arrive(now_ms, durable)
        while self._timers and self._timers[0][0] <= now_ms:
            self._make_ready(heapq.heappop(self._timers)[1])
        taken: list[Due] = []
        while self._has_place(now_ms) and (queue := self._next_queue()):
            due = self._next(queue.popleft(), now_ms)
            if due is not None:
                taken.append(due)
        return taken

    def release(self, due: Due, *, slow: bool | None = None, has_slot: bool = True) -> None:
        """An attempt has ended, `slow` if it took its endpoint too long; None if that is not known. It has no
        slot if it ended over its look-up."""
        line = self._lines[due.ref]
        if slow is not None and not line.gone:
            line.slow = slow
        line.in_flight -= 1
        line.urgent_in_flight = line.urgent_in_flight and not due.urgent
        self._in_flight -= 1
        if has_slot:
            self.slots.give(slow=due.slow)
        if due.delivery_id not in self._pending:
            self.forget(due.delivery_id)
        self._make_ready(due.ref)

    def put_back(self, due: Due, now_ms: int) -> None:
        """Gives the delivery its place in line again; `release` follows."""
        place = self._places.pop(due.delivery_id, None)
        self._enter(place or self._place(due.delivery_id, now_ms))

    def forget(self, delivery_id: str) -> None:
        """The delivery does not come back."""
        self._places.pop(delivery_id, None)

    def hold_longer(self, ref: str, now_ms: int, delay_ms: int, longest_ms: int) -> None:
        """Nothing leaves for the endpoint for `delay_ms`, or twice as long as the last time if nobody could
        say since then whose failure it was."""
        line = self._lines.setdefault(ref, EndpointQueue())
        self.hold(ref, now_ms + min(delay_ms << line.misses, longest_ms))
        line.misses = min(line.misses + 1, 20)

    def understood(self, ref: str) -> None:
        """It is known whose failure it was, if any."""
        if ref in self._lines:
            self._lines[ref].misses = 0

    def hold(self, ref: str, until_ms: int) -> None:
        """Nothing leaves for the endpoint before `until_ms`."""
        line = self._lines.setdefault(ref, EndpointQueue())
        if line.not_before_ms < until_ms:
            line.not_before_ms = until_ms
            heapq.heappush(self._timers, (until_ms, ref))

    def stop(self, until_ms: int) -> None:
        """Nothing can leave, whatever the endpoint: from `until_ms` on, one at a time is let through."""
        self._stopped_until_ms = until_ms

    def resume(self) -> None:
        self._stopped_until_ms = None

    def next_due_ms(self) -> int | None:
        """When `take`, which has just been called, is next worth calling for the passing of time alone; None
        for never."""
        first = min((heap[0][0] for heap in (self._due, self._timers) if heap), default=None)
        if self._stopped_until_ms is None:
            return first if self.slots.is_free() else None
        ready = self._ready or self._slow_ready
        if self._in_flight or (first is None and not ready):
            return None
        return self._stopped_until_ms if ready or first is None else max(first, self._stopped_until_ms)

    def _arrive(self, now_ms: int, durable: int) -> None:
        while self._not_durable and self._not_durable[0][0] <= durable:
            _, due_ms, place = self._not_durable.popleft()
            if due_ms <= now_ms:
                self._enter(place)
            else:
                heapq.heappush(self._due, (due_ms, place.order, place))
        while self._due and self._due[0][0] <= now_ms:
            self._enter(heapq.heappop(self._due)[2])

    def _enter(self, place: QueueEntry) -> None:
        """The delivery is due: it goes to its endpoint's line."""
        row = self._pending.get(place.delivery_id)
        if row is None:
            return  # removed since it was queued
        line = self._lines.setdefault(row.ref, EndpointQueue())
        if row.test:
            line.enter_urgent(place)
        else:
            line.enter(place)
        self._make_ready(row.ref)

    def _make_ready(self, ref: str) -> None:
        line = self._lines.get(ref)
        if line is not None and not line.is_ready:
            line.is_ready = True
            (self._slow_ready if line.slow else self._ready).append(ref)

    def _next_queue(self) -> deque[str]:
        """Whose turn it is, the quick or the slow; empty for nobody's."""
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
        """The next of the line, if it may move; the line is ready again then, for its next turn."""
        line = self._lines[ref]
        line.is_ready = False
        due = None
        if line.not_before_ms <= now_ms:
            due = self._next_due(ref, line, now_ms)
        if due is None:
            if line.is_idle and line.not_before_ms <= now_ms:
                del self._lines[ref]
            return None
        line.in_flight += 1
        line.urgent_in_flight = line.urgent_in_flight or due.urgent
        self._in_flight += 1
        self.slots.take(slow=due.slow)
        if line.to_catch_up:
            line.to_catch_up -= 1
            self.hold(ref, now_ms + self._policy.catch_up_gap_ms)
        self._make_ready(ref)
        return due

    def _next_due(self, ref: str, line: EndpointQueue, now_ms: int) -> Due | None:
        urgent = line.first_urgent(self._pending)
        moves = line.may_move(now_ms, self._policy.in_flight_per_endpoint)
        if urgent is None and (not moves or line.first(self._pending) is None):
            return None
        if line.slow and not self.slots.is_free(slow=True):
            self._make_ready(ref)  # it has become slow since it was
            return None
        kept_since_ms = now_ms - self._policy.kept_ms
        if urgent is not None:
            place, probe = line.urgent.popleft(), False
        else:
            place, probe = line.leave(kept_since_ms), line.probe_ms is not None
        self._places[place.delivery_id] = place
        expired = place.since_ms <= kept_since_ms
        return Due(place.delivery_id, ref, probe, line.slow, urgent is not None, expired)


def _wait_ms(until_ms: int, longest_ms: int, now: Moment) -> int:
    """How long is to be waited for a time that a fact tells, when nothing was put off for longer."""
    return min(max(until_ms - now.wall_ms, 0), longest_ms)


def _since_ms(row: Delivery, now: Moment) -> int:
    """When the delivery's round began."""
    return now.steady_ms - max(now.wall_ms - row.since_ms, 0)


def _due_ms(row: Delivery, now: Moment) -> int:
    """When it is due. How long it was put off by its last attempt can be told from that."""
    next_ms = row.next_attempt_ms or 0
    if not row.attempts or next_ms == row.since_ms:
        return now.steady_ms  # it was queued, to be attempted at once
    return now.steady_ms + _wait_ms(next_ms, max(next_ms - ended_ms(row.attempts[-1]), 0), now)
