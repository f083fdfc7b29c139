"""The deliveries that wait for one endpoint, in the order of votes. Law: a queue knows one endpoint only.

All times are steady time (core/clock.py).
"""

import heapq
from collections import deque
from collections.abc import Container
from enum import Enum, auto
from typing import NamedTuple

PATIENT_PROBES = 5  # with the oldest delivery: half an hour, if the first suspension takes a minute


class Turn(Enum):
    """The queue of the outbox in which an endpoint waits for its turn."""

    NONE = auto()
    QUICK = auto()
    SLOW = auto()


class QueueEntry(NamedTuple):
    """A delivery in its queue. Entries sort by age, and by `order` if they have the same age."""

    since_ms: int
    order: int
    delivery_id: str


class EndpointQueue:
    """The queue of one endpoint, and what is known of the endpoint.

    Four facts decide if a delivery may leave. Each may change alone, in any state of the others:

        probe_ms         the time of the next probe while the endpoint is suspended, else None
        not_before_ms    the end of the wait that the endpoint, or a failure, has asked for
        in_flight        the number of running attempts; `urgent_in_flight` if one of them is a test
        slow             the last attempt took long; then one attempt at a time

    `turn` tells in which queue of the outbox the endpoint waits for its turn. `to_catch_up` counts the
    deliveries that leave at the endpoint's pace, because they had to wait. `misses` counts failures in a row
    with an unknown party at fault. `gone` is True once the webhook is removed, until a delivery enters again.
    """

    __slots__ = (
        "gone",
        "in_flight",
        "misses",
        "not_before_ms",
        "probe_ms",
        "probed",
        "probes",
        "slow",
        "to_catch_up",
        "turn",
        "urgent",
        "urgent_in_flight",
        "waiting",
    )

    def __init__(self) -> None:
        self.waiting: list[QueueEntry] = []  # a heap
        self.urgent: deque[QueueEntry] = deque()
        self.probes = 0
        self.probed = QueueEntry(0, 0, "")  # the entry that left last
        self.urgent_in_flight = False
        self.in_flight = 0
        self.slow = False
        self.probe_ms: int | None = None
        self.not_before_ms = 0
        self.to_catch_up = 0
        self.misses = 0
        self.turn = Turn.NONE
        self.gone = False

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
