"""What waits for one endpoint, in the order of votes. Law: a line knows its endpoint and no other.

All times are steady (core/clock.py).
"""

import heapq
from collections import deque
from collections.abc import Container
from typing import NamedTuple

PATIENT_PROBES = 5  # with the oldest event: half an hour, if the first suspension is of a minute


class QueueEntry(NamedTuple):
    """A delivery's place in its line: by age, and among those of the same age by order."""

    since_ms: int
    order: int
    delivery_id: str


class EndpointQueue:
    """`probe_ms` is set while the endpoint is suspended: when it is next asked for a sign of life.

    `slow`: its last answer took long. `misses`: how often in a row nobody could say whose failure it was.
    `to_catch_up`: how many are to leave at the endpoint's pace and not as fast as they can. `is_ready`: the
    line is among those that take turns. `gone`: so is the endpoint, for all that is known.
    """

    __slots__ = (
        "gone",
        "in_flight",
        "is_ready",
        "misses",
        "not_before_ms",
        "probe_ms",
        "probed",
        "probes",
        "slow",
        "to_catch_up",
        "urgent",
        "urgent_in_flight",
        "waiting",
    )

    def __init__(self) -> None:
        self.waiting: list[QueueEntry] = []  # a heap
        self.urgent: deque[QueueEntry] = deque()
        self.probes = 0
        self.probed = QueueEntry(0, 0, "")  # that of the last one that left
        self.urgent_in_flight = False
        self.in_flight = 0
        self.slow = False
        self.probe_ms: int | None = None
        self.not_before_ms = 0
        self.to_catch_up = 0
        self.misses = 0
        self.is_ready = False
        self.gone = False

    @property
    def is_idle(self) -> bool:
        """Nothing waits, runs, or needs remembering."""
        return not (self.waiting or self.urgent or self.in_flight or self.slow) and self.probe_ms is None

    def enter(self, place: QueueEntry) -> None:
        self.gone = False
        heapq.heappush(self.waiting, place)

    def enter_urgent(self, place: QueueEntry) -> None:
        """Goes ahead of those who wait, behind others that do."""
        self.gone = False
        self.urgent.append(place)

    def may_move(self, now_ms: int, room: int) -> bool:
        """Whether the first of those who wait may leave, when `room` may be under way at once."""
        if self.probe_ms is not None:
            return not self.in_flight and self.probe_ms <= now_ms
        return self.in_flight < (1 if self.slow else room)

    def first(self, pending: Container[str]) -> str | None:
        """The first of those who wait that is still pending; others are forgotten."""
        while self.waiting and self.waiting[0].delivery_id not in pending:
            heapq.heappop(self.waiting)
        return self.waiting[0].delivery_id if self.waiting else None

    def first_urgent(self, pending: Container[str]) -> str | None:
        """The first of those who need not wait, one at a time; what is no longer pending is forgotten."""
        while self.urgent and self.urgent[0].delivery_id not in pending:
            self.urgent.popleft()
        return self.urgent[0].delivery_id if self.urgent and not self.urgent_in_flight else None

    def leave(self, kept_since_ms: int) -> QueueEntry:
        """The first of those who wait leaves.

        After many probes in vain, the next one is the one behind the probe before it: an event that always
        fails must not be the only one that an endpoint is asked with. What has waited since before
        `kept_since_ms` comes first all the same, because its time is over.
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
        """`probes` is the number of the next one."""
        self.probe_ms, self.probes = probe_ms, probes

    def flow(self) -> None:
        """The endpoint takes everything again; what was held back for it follows at its pace."""
        if self.probe_ms is not None:
            self.to_catch_up = max(len(self.waiting) - 1, 0)
        self.probe_ms = None

    def forget_pace(self) -> None:
        """The endpoint may be another now: nothing is known of how fast it is, or wants it to be."""
        self.slow, self.not_before_ms, self.misses = False, 0, 0

    def forget(self) -> None:
        """The endpoint is gone, and with it all that waited."""
        self.waiting, self.probe_ms, self.to_catch_up, self.gone = [], None, 0, True
        self.urgent.clear()
        self.forget_pace()
