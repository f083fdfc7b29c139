"""The parts that only observe the gateway: they measure, count, log and show. Invariant: when one of them
fails, nothing else does.

The machine may refuse an observer `/proc`, a file descriptor or a thread. An observer may also have a bug.
Every observer therefore runs through here: as a loop, or as a call, such as a reader of the log or the
reading of a number. A failure becomes a line of the log with a traceback, at most one a minute for each
observer, a count in `/metrics`, and a concern on `/debug`. The observer goes on.

The other loops and readers are no observers, because votes and replies depend on them: their failure ends the
process. `docs/architecture.md` lists both, under "What may fail".
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import ParamSpec, TypeVar

from core.clock import NS_PER_SECOND, Clock

PAUSE_SECONDS = 1.0
"""The time between the failure of a loop and its next run."""
FAILING_SECONDS = 60
"""The period after its newest failure in which an observer counts as failing."""
_FAILING_NS = FAILING_SECONDS * NS_PER_SECOND
log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class Observers:
    """The observers of a gateway by name, and the failures of each."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._told_ns: dict[str, int] = {}
        """When the newest line about an observer was logged."""
        self._newest: dict[str, tuple[int, str]] = {}
        """The newest failure of an observer: its time, and its error."""

    @property
    def failures(self) -> Mapping[str, int]:
        """The failures of each observer since the start."""
        return self._failures

    def failing(self) -> Mapping[str, str]:
        """Return the observers that have failed within the last minute, with the newest error of each."""
        since_ns = self._clock.monotonic_ns() - _FAILING_NS
        return {name: error for name, (at_ns, error) in self._newest.items() if at_ns > since_ns}

    async def run(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until it returns or is cancelled. After each failure it is called again."""
        while not await self.once(name, loop):  # noqa: ASYNC110 (it does not wait for a condition)
            await asyncio.sleep(PAUSE_SECONDS)

    async def once(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do some work. Return False if it fails."""
        self._failures.setdefault(name, 0)
        try:
            await work()
        except Exception as error:
            self._note(name, error)
            return False
        return True

    def calling(self, name: str, call: Callable[P, T]) -> Callable[P, T | None]:
        """Return a call that returns None where the given one fails."""
        self._failures.setdefault(name, 0)
        return partial(self._call, name, call)

    def _call(self, name: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self._note(name, error)
            return None

    def _note(self, name: str, error: Exception) -> None:
        now_ns = self._clock.monotonic_ns()
        self._failures[name] += 1
        # Only an error of the system is quoted: the text of any other may hold a secret.
        self._newest[name] = (now_ns, str(error) if isinstance(error, OSError) else type(error).__name__)
        told_ns = self._told_ns.get(name)
        if told_ns is None or now_ns - told_ns >= _FAILING_NS:
            self._told_ns[name] = now_ns
            log.error("the observer %s fails; everything else goes on", name, exc_info=error)
