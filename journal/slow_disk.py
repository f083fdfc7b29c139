"""Log lines about a slow disk. Invariant: one line when the slowness begins, and one when it ends.

A change is answered once the disk has it. A disk that takes seconds refuses nothing, so without a line nobody
would see why every vote and every push takes so long.

The journal only notes when a write begins and ends. `step` draws the conclusions in an observer's loop, so
that it cannot fail a write.
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
    """Measures each write of the journal from its beginning: a write that never ends is logged, too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns: int | None = None
        self._slow_since_ns: int | None = None
        self._quick_at_ns: int | None = None
        """The end of a quick write after a slow one."""
        self._quiet_since_ns = 0
        self._is_told = False

    @property
    def is_slow(self) -> bool:
        """True from the line that logs the beginning to the line that logs the end."""
        return self._is_told

    def begin(self) -> None:
        """Note that a write begins."""
        self._began_ns = self._clock.monotonic_ns()

    def end(self) -> None:
        """Note that the write has ended."""
        now_ns = self._quiet_since_ns = self._clock.monotonic_ns()
        began_ns = self._began_ns if self._began_ns is not None else now_ns
        self._began_ns = None
        self._look(began_ns, now_ns)
        if (now_ns - began_ns) * 2 <= _SLOW_NS and self._slow_since_ns is not None:
            self._quick_at_ns = now_ns

    def step(self) -> None:
        """Look at the write under way, and log what has changed."""
        now_ns = self._clock.monotonic_ns()
        if self._began_ns is not None:
            self._look(self._began_ns, now_ns)
        elif now_ns - self._quiet_since_ns >= _SLOW_NS and self._quick_at_ns is None:
            self._quick_at_ns = now_ns  # nobody waits any more
        if self._slow_since_ns is not None and not self._is_told:
            self._is_told = True
            log.warning("the disk is slow: a write has taken %d s so far, and changes wait", SLOW_SECONDS)
        if self._slow_since_ns is not None and self._quick_at_ns is not None:
            seconds = (self._quick_at_ns - self._slow_since_ns) / NS_PER_SECOND
            log.info("the disk is slow no longer: it was for %.1f s", seconds)
            self._slow_since_ns, self._is_told = None, False
        self._quick_at_ns = None

    def _look(self, began_ns: int, now_ns: int) -> None:
        if now_ns - began_ns >= _SLOW_NS:
            self._quick_at_ns = None
            if self._slow_since_ns is None:
                self._slow_since_ns = began_ns

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.step()
