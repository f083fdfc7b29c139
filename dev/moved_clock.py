"""A clock that a developer can move ahead, so that nobody waits a day for the next vote of a user."""

from core.clock import NS_PER_MS, Clock


class MovedClock:
    """The time of another clock, plus the time by which this one was moved.

    Invariant: its three times move together, and none goes back.

    The rules of votes, limits and sessions read it. Timers, the disk and the sender of webhooks read
    the clock of the machine, because a receiver compares the time of a webhook with its own clock.
    """

    def __init__(self, machine: Clock) -> None:
        self.machine = machine
        self.ahead_ms = 0

    def move(self, ms: int) -> None:
        """Move the clock ahead."""
        self.ahead_ms += ms

    def now_ms(self) -> int:
        return self.machine.now_ms() + self.ahead_ms

    def monotonic_ns(self) -> int:
        return self.machine.monotonic_ns() + self.ahead_ms * NS_PER_MS

    def steady_ms(self) -> int:
        return self.machine.steady_ms() + self.ahead_ms
