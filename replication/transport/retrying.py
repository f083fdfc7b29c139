"""One thing that is asked of Redis again and again. Law: an outage is told once, and so is its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.refusals import Unavailable
from replication.transport.link import UNREACHABLE

log = logging.getLogger(__name__)

QUOTED = "caused error: "  # behind the command, in a pipeline's errors
WORDS_CHARACTERS = 120
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.05, 1.0


class Contact:
    def __init__(
        self,
        what: str,
        clock: Clock,
        drop_idle: Callable[[], Awaitable[None]],
        on_loss: Callable[[], None] = lambda: None,
    ) -> None:
        """`what` is what fails, in words; `drop_idle` and `on_loss` are called after each try that does."""
        self.failure: str | None = None
        """Why it does not work, while it does not."""
        self._what = what
        self._clock = clock
        self._drop_idle = drop_idle
        self._on_loss = on_loss
        self._lost_ns = 0
        self._wait_seconds = FIRST_WAIT_SECONDS

    async def run(self, step: Callable[[], Awaitable[None]]) -> None:
        """Steps until it is cancelled; waits between tries that fail, longer each time."""
        task = asyncio.current_task()
        while task is None or not task.cancelling():
            await self._once(step)
        raise asyncio.CancelledError  # it was raised before, and redis-py has taken it for a time-out

    async def _once(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except (*UNREACHABLE, Unavailable) as error:
            self._failed(error)
            await self._drop_idle()
            await asyncio.sleep(self._wait_seconds)
            self._wait_seconds = min(self._wait_seconds * 2, LONGEST_WAIT_SECONDS)
        else:
            self._worked()

    def _failed(self, error: Exception) -> None:
        if self.failure is None:
            self._lost_ns = self._clock.monotonic_ns()
            log.warning("Redis: %s fails: %s", self._what, described(error))
        self.failure = described(error)
        self._on_loss()

    def _worked(self) -> None:
        if self.failure is not None:
            lost_seconds = (self._clock.monotonic_ns() - self._lost_ns) / NS_PER_SECOND
            log.warning("Redis: %s works again after %.1f s", self._what, lost_seconds)
        self.failure = None
        self._wait_seconds = FIRST_WAIT_SECONDS


def described(error: Exception) -> str:
    """In one short line, without what was sent: redis-py quotes the command that failed."""
    words = "".join(filter(str.isprintable, str(error).rpartition(QUOTED)[2]))[:WORDS_CHARACTERS]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
