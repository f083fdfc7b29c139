"""Loops of work that needs Redis: their pace, and their retries during an outage."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.failures import Unavailable
from replication.redis_link import UNREACHABLE


class Pacing:
    """The interval between steps of a loop.

    Invariant: work after a pause starts at once, work that follows is batched.

    A step costs about the same whatever it carries: a round trip to Redis, a record of the journal, threads
    and turns of the event loop. So after a step that had work, the next one waits until the interval since
    its beginning has passed, and takes everything that has gathered. After a full step it does not wait,
    because more is there already.
    """

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

    async def run(self, step: Callable[[], Awaitable[None]]) -> None:
        """Step until cancelled. Failed steps are retried with exponential backoff."""
        task = asyncio.current_task()
        while task is None or not task.cancelling():
            await self._once(step)
        raise asyncio.CancelledError  # redis-py took the first one for a time-out

    async def _once(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except (*UNREACHABLE, Unavailable) as error:
            self._failed(error)
            await self._drop_idle()
            await asyncio.sleep(self._wait_seconds)
            self._wait_seconds = min(self._wait_seconds * 2, LONGEST_WAIT_SECONDS)
        else:
            self._succeeded()

    def _failed(self, error: Exception) -> None:
        if self.failure is None:
            self._failed_since_ns = self._clock.monotonic_ns()
            log.warning("Redis: %s fails: %s", self._purpose, described(error))
        self.failure = described(error)
        self._on_failure()

    def _succeeded(self) -> None:
        if self.failure is not None:
            seconds = (self._clock.monotonic_ns() - self._failed_since_ns) / NS_PER_SECOND
            log.info("Redis: %s works again after %.1f s", self._purpose, seconds)
        self.failure = None
        self._wait_seconds = FIRST_WAIT_SECONDS


def described(error: Exception) -> str:
    """Describe the error in one short line, without the command that redis-py quotes."""
    text = "".join(filter(str.isprintable, str(error).rpartition(QUOTED)[2]))[:ERROR_CHARACTERS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
