"""Which delivery is due. Law: pure; what is pending lives in the state, the outbox only orders it.

The outbox reads the log: a queued delivery, or one to be retried, enters at the position of its record and
may leave once that position is durable, its time has come, and its endpoint has room. The caps keep slow
endpoints from taking every place: what has no room waits in a line of its endpoint's own, and an endpoint
that has just timed out has room for one until it answers.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.events import DeliveryAttempted, DeliveryQueued, Event
from core.rows import Attempt, Delivery, Outcome


@dataclass(frozen=True)
class DeliveryPolicy:
    """`retries` follow a failed first attempt, each `retry_delay_ms` after the failure before it."""

    retries: int
    retry_delay_ms: int
    in_flight: int
    in_flight_per_endpoint: int


class Due(NamedTuple):
    """A delivery in line. Ordered by time, and by arrival where times are equal."""

    due_ms: int
    order: int
    delivery_id: str
    ref: str


class Outbox:
    def __init__(self, policy: DeliveryPolicy) -> None:
        self._policy = policy
        self._order = 0
        self._not_durable: deque[tuple[int, Due]] = deque()
        self._due: list[Due] = []
        self._waiting: dict[str, list[Due]] = {}  # heaps, so that what comes back keeps its place
        self._in_flight: dict[str, int] = {}
        self._total_in_flight = 0
        self._slow: set[str] = set()

    @property
    def in_flight(self) -> int:
        return self._total_in_flight

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Reads a committed record."""
        for event in events:
            if isinstance(event, DeliveryQueued):
                self.add(event.delivery_id, event.ref, event.at_ms, position)
            elif isinstance(event, DeliveryAttempted) and event.next_attempt_ms is not None:
                self.add(event.delivery_id, event.ref, event.next_attempt_ms, position)

    def add(self, delivery_id: str, ref: str, due_ms: int, position: int) -> None:
        """A delivery that may leave at `due_ms`, once the record at `position` is durable."""
        self._order += 1
        self._not_durable.append((position, Due(due_ms, self._order, delivery_id, ref)))

    def take(self, now_ms: int, durable: int) -> list[Due]:
        """The deliveries to attempt now; each counts as in flight until its ref is `release`d."""
        while self._not_durable and self._not_durable[0][0] <= durable:
            heapq.heappush(self._due, self._not_durable.popleft()[1])
        taken = []
        while self._due and self._due[0].due_ms <= now_ms and self._total_in_flight < self._policy.in_flight:
            entry = heapq.heappop(self._due)
            room = 1 if entry.ref in self._slow else self._policy.in_flight_per_endpoint
            if self._in_flight.get(entry.ref, 0) >= room:
                heapq.heappush(self._waiting.setdefault(entry.ref, []), entry)
                continue
            self._in_flight[entry.ref] = self._in_flight.get(entry.ref, 0) + 1
            self._total_in_flight += 1
            taken.append(entry)
        return taken

    def release(self, ref: str, *, slow: bool = False) -> None:
        """An attempt for the listing has ended, `slow` if by the time-out: its next in line may leave."""
        if slow:
            self._slow.add(ref)
        else:
            self._slow.discard(ref)
        self._total_in_flight -= 1
        self._in_flight[ref] -= 1
        if not self._in_flight[ref]:
            del self._in_flight[ref]
        line = self._waiting.get(ref)
        room = 1 if slow else self._policy.in_flight_per_endpoint
        while line and room > self._in_flight.get(ref, 0):
            heapq.heappush(self._due, heapq.heappop(line))
            room -= 1
        if not line:
            self._waiting.pop(ref, None)

    def next_due_ms(self) -> int | None:
        """When `take` is next worth calling for the passing of time alone; None for never."""
        if not self._due or self._total_in_flight >= self._policy.in_flight:
            return None
        return self._due[0].due_ms

    def outcome(self, delivery: Delivery, attempt: Attempt) -> DeliveryAttempted:
        """What an attempt means for its delivery: 2xx delivers, anything else is retried or final."""
        outcome: Outcome
        next_attempt_ms = None
        if attempt.status is not None and attempt.error is None:
            outcome = "delivered"
        elif delivery.tries < self._policy.retries:
            outcome = "retry"
            next_attempt_ms = attempt.at_ms + attempt.duration_ms + self._policy.retry_delay_ms
        else:
            outcome = "failed"
        return DeliveryAttempted(
            delivery.id, delivery.ref, delivery.made + 1, attempt, outcome, next_attempt_ms
        )
