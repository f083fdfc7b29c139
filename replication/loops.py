"""Loops of work that needs Redis: their pace, and their retries during an outage.

A step costs about the same whatever it carries: a round trip to Redis, a record of the journal, threads and
turns of the event loop. So a step that had work is followed by a pause, and the next one takes everything
that has gathered. Work after a pause starts at once. After a full step there is no pause, because more is
there already.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.failures import Unavailable
from replication.redis_link import UNREACHABLE

log = logging.getLogger(__name__)

QUOTED = "caused error: "  # redis-py puts the command of a pipeline before it, and the error behind it
ERROR_CHARACTERS = 120
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.05, 1.0


class RetryingLoop:
    """A loop of work that needs Redis, retried for ever.

    Invariant: the log has one line when an outage begins, and one when it ends.
    """

    def __init__(
        self,
        purpose: str,
        clock: Clock,
        drop_idle: Callable[[], Awaitable[None]],
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`purpose` names the work in log lines. The loop calls `on_failure` and `drop_idle` after each step
        that fails."""
        self.failure: str | None = None
        """The reason of the outage that lasts."""
        self._purpose = purpose
        self._clock = clock
        self._drop_idle = drop_idle
        self._on_failure = on_failure
        self._failed_since_ns = 0
        self._wait_seconds = FIRST_WAIT_SECONDS

    async def run(self, step: Callable[[], Awaitable[float]]) -> None:
        """Step until cancelled. A step returns the seconds until the next one. Failed steps are retried with
        exponential backoff."""
        task = asyncio.current_task()
        while task is None or not task.cancelling():
            seconds = await self._once(step)
            await asyncio.sleep(seconds)
        raise asyncio.CancelledError  # redis-py took the first one for a time-out

    async def _once(self, step: Callable[[], Awaitable[float]]) -> float:
        try:
            seconds = await step()
        except (*UNREACHABLE, Unavailable) as error:
            if self.failure is None:
                self._failed_since_ns = self._clock.monotonic_ns()
                log.warning("Redis: %s fails: %s", self._purpose, described(error))
            self.failure = described(error)
            self._on_failure()
            await self._drop_idle()
            seconds, self._wait_seconds = (
                self._wait_seconds,
                min(self._wait_seconds * 2, LONGEST_WAIT_SECONDS),
            )
            return seconds
        if self.failure is not None:
            outage_seconds = (self._clock.monotonic_ns() - self._failed_since_ns) / NS_PER_SECOND
            log.info("Redis: %s works again after %.1f s", self._purpose, outage_seconds)
        self.failure, self._wait_seconds = None, FIRST_WAIT_SECONDS
        return seconds


def described(error: Exception) -> str:
    """Describe the error in one short line, without the command that redis-py quotes."""
    text = "".join(filter(str.isprintable, str(error).rpartition(QUOTED)[2]))[:ERROR_CHARACTERS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
