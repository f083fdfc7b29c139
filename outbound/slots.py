"""Limits on how many attempts run at once. Invariant: slow endpoints never hold more than half of the slots.

An attempt holds a slot from its start to its end, except while it resolves a name: then it holds a slot for
look-ups instead. So name servers that never answer do not delay attempts that need no look-up. After its
look-up an attempt gets the next slot that becomes free, before every attempt that has not begun. If no slot
for look-ups is free, the attempt keeps its own slot during the look-up.
"""

from collections import deque
from collections.abc import Callable


class Slots:
    """A fixed number of slots. Slow endpoints get at most half of them."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken = self._slow_taken = 0
        self._waiting: deque[Slot] = deque()
        self._slow_waiting: deque[Slot] = deque()

    def is_free(self, *, slow: bool = False) -> bool:
        """Return True if a slot may be taken. Then no attempt of that kind is waiting for one."""
        if self._taken >= self._number:
            return False
        return not slow or self._slow_taken < max(self._number // 2, 1)

    def take(self, *, slow: bool) -> None:
        self._taken += 1
        self._slow_taken += slow

    def give(self, *, slow: bool) -> None:
        self._taken -= 1
        self._slow_taken -= slow
        if self._waiting and self.is_free():
            self._waiting.popleft().arrive()
        elif self._slow_waiting and self.is_free(slow=True):
            self._slow_waiting.popleft().arrive()

    def wait(self, slot: "Slot") -> None:
        """Call `slot.arrive` when a slot is free, first come, first served."""
        if self.is_free(slow=slot.slow):
            slot.arrive()
        else:
            (self._slow_waiting if slot.slow else self._waiting).append(slot)

    def withdraw(self, slot: "Slot") -> None:
        """Take `slot` out of the waiting queue, if it is there."""
        waiting = self._slow_waiting if slot.slow else self._waiting
        if slot in waiting:
            waiting.remove(slot)


class Slot:
    """The slot of one attempt.

    `held` is True while the attempt has a slot for attempts. `waited_ns` is the time that the attempt waited
    to get its slot back. The endpoint did not cause that wait, so it is not part of the endpoint's response
    time.
    """

    def __init__(self, slots: Slots, look_ups: Slots, *, slow: bool, left: Callable[[], None]) -> None:
        """The caller has taken the slot already. `left` is called when a look-up frees it."""
        self.slow = slow
        self.held = True
        self.waited_ns = 0
        self._slots = slots
        self._look_ups = look_ups
        self._left = left
        self._looks_up = False
        self._arrived: Callable[[], None]  # while it waits

    def look_up(self) -> None:
        """Begin a look-up. The caller calls `found` at its end."""
        if self._look_ups.is_free(slow=self.slow):
            self._look_ups.take(slow=self.slow)
            self._looks_up, self.held = True, False
            self._slots.give(slow=self.slow)
            self._left()

    def found(self) -> None:
        """End the look-up, successful or not."""
        if self._looks_up:
            self._looks_up = False
            self._look_ups.give(slow=self.slow)

    def come_back(self, arrived: Callable[[], None]) -> None:
        """Wait for a slot for attempts, and call `arrived` once it is held."""
        self._arrived = arrived
        self._slots.wait(self)

    def stay_away(self) -> None:
        """Stop waiting for a slot."""
        if not self.held:
            self._slots.withdraw(self)

    def arrive(self) -> None:
        """Take a free slot."""
        self._slots.take(slow=self.slow)
        self.held = True
        self._arrived()
