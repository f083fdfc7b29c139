"""The interval between steps of a loop.

Invariant: work after a pause starts at once, work that follows is batched.

A step costs about the same whatever it carries: a round trip to Redis, a record of the journal, threads and
turns of the event loop. So after a step that had work, the next one waits until the interval since its
beginning has passed, and takes everything that has gathered. After a full step it does not wait, because more
is there already.
"""

import asyncio

from core.clock import NS_PER_SECOND, Clock


class Pacing:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._interval_ns = round(seconds * NS_PER_SECOND)
        self._not_before_ns = clock.monotonic_ns()

    @property
    def wait_seconds(self) -> float:
        """The time until the next step may begin."""
        return max(self._not_before_ns - self._clock.monotonic_ns(), 0) / NS_PER_SECOND

    async def turn(self) -> None:
        """Return when the next step may begin."""
        seconds = self.wait_seconds
        if seconds:
            await asyncio.sleep(seconds)

    def began(self, *, full: bool = False) -> None:
        """A step has found work; a `full` one as much as it can take."""
        self._not_before_ns = self._clock.monotonic_ns() + (0 if full else self._interval_ns)
