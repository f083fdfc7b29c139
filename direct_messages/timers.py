"""Timers for messages that may be due. All times are steady time (core/clock.py).

A timer only says when to look. The rows at that time decide what is sent. A look at many rows runs in slices.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=tuple[str, ...])

PAUSE_MS = 1
"""The pause after a slice."""


class Timer(NamedTuple):
    """When to look at a message, once the record at `position` is durable."""

    due_ms: int
    position: int


class Timers(Generic[K]):
    """The timers by keys, and the looks that run."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        """Set when a message may be due earlier than `next_due_ms` has said."""
        self._timers: dict[K, Timer] = {}
        self._heap: list[tuple[int, K]] = []
        """The timers by their times. An entry whose timer has moved is skipped."""
        self._looks = deque[Iterator[None]]()
        self._now_ms = self._durable = 0

    def set(self, key: K, due_ms: int | None, position: int) -> None:
        """Set a timer, or remove it if nothing is to be sent."""
        known = self._timers.pop(key, None)
        if due_ms is None:
            return
        if known is not None and abs(known.due_ms - due_ms) <= 1:
            self._timers[key] = known  # the same, by clocks that are read at two moments
            return
        heappush(self._heap, (due_ms, key))
        self._timers[key] = Timer(due_ms, position)
        self.wake.set()

    def remove(self, key: K) -> None:
        self._timers.pop(key, None)

    def add_look(self, slices: Iterator[None]) -> None:
        """Run a look at many rows, which yields after a slice."""
        self._looks.append(slices)
        self.wake.set()

    @property
    def has_looks(self) -> bool:
        return bool(self._looks)

    def run_slice(self, now_ms: int, durable: int) -> bool:
        """Run one slice of the looks. Return False once none is left."""
        self._now_ms, self._durable = now_ms, durable
        if self._looks and next(self._looks[0], self) is self:
            self._looks.popleft()
        return bool(self._looks)

    def next_due(self) -> K | None:
        """Return the key of the first timer if it is due and its record is durable."""
        first = self._first()
        if first is None or first[1].due_ms > self._now_ms or first[1].position > self._durable:
            return None
        return first[0]

    def next_due_ms(self) -> int | None:
        """Return the time of the next look."""
        if self._looks:
            return self._now_ms + PAUSE_MS
        first = self._first()
        if first is None or (first[1].due_ms <= self._now_ms and first[1].position > self._durable):
            return None  # a record that becomes durable wakes the sender
        return first[1].due_ms

    def wake_if_due(self, now_ms: int) -> None:
        """Look again if anything is due: most records become durable long before that."""
        if self._heap and self._heap[0][0] <= now_ms:
            self.wake.set()

    def _first(self) -> tuple[K, Timer] | None:
        """Return the earliest timer."""
        while self._heap:
            due_ms, key = self._heap[0]
            timer = self._timers.get(key)
            if timer is not None and timer.due_ms == due_ms:
                return key, timer
            heappop(self._heap)
        return None
