"""Log lines about bots without an actual server count.

Invariant: one line for each bot and day, and it says what to do.

A bot's first correct push is answered 500 then, and its owner can do nothing about it: the operator can.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.newest import Newest

QUIET_SECONDS = 86_400
MAX_BOTS = 10_000
log = logging.getLogger(__name__)


class MissingCounts:
    """The bots that a line was logged for. Beyond `bots` in a day, a bot may get a second line."""

    def __init__(self, clock: Clock, bots: int = MAX_BOTS) -> None:
        self._clock = clock
        self._told = Newest[str, int](bots)  # ref -> monotonic ns

    def tell(self, ref: str, why: str | None) -> None:
        """Log a push that found no actual count. `why` is the reason that the source of counts gives."""
        now_ns, told_ns = self._clock.monotonic_ns(), self._told.get(ref)
        if told_ns is not None and now_ns - told_ns < QUIET_SECONDS * NS_PER_SECOND:
            return
        self._told[ref] = now_ns
        log.warning("a push of %s was answered 500: %s", ref, why or "the look-up of its server count fails.")
