"""A disk that is slow, in the operator's log. Law: one line when it begins, and one when it ends.

Whoever changes something waits until the disk has it. A disk that takes seconds refuses nothing, so without
a line nobody would see why every vote and every push takes so long.
"""

import asyncio
import logging

from core.clock import NS_PER_SECOND, Clock

SLOW_SECONDS = 2
"""The length of a write that is slow. After one, a write in half that time is quick again."""
LOOK_SECONDS = 0.25
_SLOW_NS = SLOW_SECONDS * NS_PER_SECOND
log = logging.getLogger(__name__)


class SlowDisk:
    """Measures each write of the journal from its beginning, so that one that never ends is told, too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns: int | None = None
        self._slow_since_ns: int | None = None
        self._quiet_since_ns = 0

    def begin(self) -> None:
        """Note that a write begins."""
        self._began_ns = self._clock.monotonic_ns()

    def end(self) -> None:
        """Note that the write has ended."""
        self.step()
        now_ns = self._quiet_since_ns = self._clock.monotonic_ns()
        took_ns = now_ns - self._began_ns if self._began_ns is not None else 0
        self._began_ns = None
        if took_ns * 2 <= _SLOW_NS:
            self._over(now_ns)

    def step(self) -> None:
        """Look at the write under way."""
        now_ns = self._clock.monotonic_ns()
        if self._began_ns is None:
            if now_ns - self._quiet_since_ns >= _SLOW_NS:  # nobody waits any more
                self._over(now_ns)
        elif self._slow_since_ns is None and now_ns - self._began_ns >= _SLOW_NS:
            self._slow_since_ns = self._began_ns
            log.warning("the disk is slow: a write has taken %d s so far, and changes wait", SLOW_SECONDS)

    def _over(self, now_ns: int) -> None:
        if self._slow_since_ns is not None:
            seconds = (now_ns - self._slow_since_ns) / NS_PER_SECOND
            log.info("the disk is slow no longer: it was for %.1f s", seconds)
            self._slow_since_ns = None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.step()
