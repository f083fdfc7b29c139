"""How often a loop steps. Law: what comes after a pause goes at once, and what follows goes together.

A step costs about the same whatever it carries: a way to Redis, a record of the journal, threads and turns of
the loop. So behind a step that had something to do the next one waits until a pace has passed since that
began, and takes all that has gathered; unless it was full, because then more is there already.
"""

import asyncio

from core.clock import NS_PER_SECOND, Clock


class Pacing:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._pace_ns = round(seconds * NS_PER_SECOND)
        self._not_before_ns = clock.monotonic_ns()

    @property
    def wait_seconds(self) -> float:
        """For how long the next step has to wait yet."""
        return max(self._not_before_ns - self._clock.monotonic_ns(), 0) / NS_PER_SECOND

    async def turn(self) -> None:
        """Returns when the next step may begin."""
        seconds = self.wait_seconds
        if seconds:
            await asyncio.sleep(seconds)

    def began(self, *, full: bool = False) -> None:
        """A step has found something to do; `full`: as much as it can take."""
        self._not_before_ns = self._clock.monotonic_ns() + (0 if full else self._pace_ns)
