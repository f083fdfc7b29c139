"""How many attempts are under way. Law: pure; their number is bounded, and half of the slots are never a slow
endpoint's.

An attempt has a slot from its start to its end, but for the time in which it looks a name up: then it has one
of the slots of look-ups. So names whose servers never answer keep no webhook waiting that could just be sent.
Who comes back from a look-up gets the next slot that is given up, before any attempt that has not begun. When
all slots of look-ups are taken, an attempt keeps its own while it looks its name up.
"""

from collections import deque
from collections.abc import Callable


class Slots:
    """`number` of them, of which slow endpoints get half at the most."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken = self._slow_taken = 0
        self._waiting: deque[Slot] = deque()
        self._slow_waiting: deque[Slot] = deque()

    def is_free(self, *, slow: bool = False) -> bool:
        """Whether one may be taken; then nobody of that kind waits for one."""
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
        """Calls `slot.arrive` when one is free, in the order of those who wait."""
        if self.is_free(slow=slot.slow):
            slot.arrive()
        else:
            (self._slow_waiting if slot.slow else self._waiting).append(slot)

    def withdraw(self, slot: "Slot") -> None:
        """The slot waits no longer, if it did."""
        waiting = self._slow_waiting if slot.slow else self._waiting
        if slot in waiting:
            waiting.remove(slot)


class Slot:
    """Of one attempt. `held`: it has one of those of attempts, as at first. `waited_ns`: how long it has
    waited to have it again, which is nothing that its endpoint did."""

    def __init__(self, slots: Slots, look_ups: Slots, *, slow: bool, left: Callable[[], None]) -> None:
        """The slot is taken already. `left` is called when it is given up for a look-up."""
        self.slow = slow
        self.held = True
        self.waited_ns = 0
        self._slots = slots
        self._look_ups = look_ups
        self._left = left
        self._looks_up = False
        self._arrived: Callable[[], None] = _nobody

    def look_up(self) -> None:
        """A look-up begins; `found` follows."""
        if self._look_ups.is_free(slow=self.slow):
            self._look_ups.take(slow=self.slow)
            self._looks_up, self.held = True, False
            self._slots.give(slow=self.slow)
            self._left()

    def found(self) -> None:
        """The look-up is over, whatever came of it."""
        if self._looks_up:
            self._looks_up = False
            self._look_ups.give(slow=self.slow)

    def come_back(self, arrived: Callable[[], None]) -> None:
        """Waits for a slot of attempts, and calls `arrived` once it is held."""
        self._arrived = arrived
        self._slots.wait(self)

    def stay_away(self) -> None:
        """Waits no longer, if it still does."""
        if not self.held:
            self._slots.withdraw(self)

    def arrive(self) -> None:
        """Takes a slot that is free."""
        self._slots.take(slow=self.slow)
        self.held = True
        self._arrived()


def _nobody() -> None:
    pass
