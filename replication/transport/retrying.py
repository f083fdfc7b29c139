"""A loop of work that needs Redis, retried for ever.

Invariant: the log has one line when an outage begins, and one when it ends.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.refusals import Unavailable
from replication.transport.link import UNREACHABLE

log = logging.getLogger(__name__)

QUOTED = "caused error: "  # redis-py puts the command of a pipeline before it, and the error behind it
ERROR_CHARACTERS = 120
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.05, 1.0


class RetryingLoop:
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
