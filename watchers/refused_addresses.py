"""Log lines about addresses that are refused for their failures.

Invariant: one line when it begins and one when it ends, and neither contains anything that was sent.

Somebody guesses keys or the operator token, or a client is broken: without the address nobody can tell.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable

from core.actors import REQUEST_ID
from core.clock import NS_PER_SECOND, Clock
from ratelimit.address import shown_address
from ratelimit.bucket import Decision

LOOK_SECONDS = 0.25
log = logging.getLogger(__name__)


class RefusedAddresses:
    """As many as the guard counts, each with the end of its window."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: list[tuple[int, str]] = []  # a heap of (monotonic ns, key)
        self.direct_id: Callable[[], str] = str
        """Returns the id of a vote check that is answered directly: its context does not know it, because
        most checks cause no line."""

    def began(self, key: str, decision: Decision) -> None:
        """Log that an address has used up its failures."""
        self.step()  # its window before this one may have ended, without a line so far
        ends_ns = decision.started_ns + decision.window_seconds * NS_PER_SECOND
        heapq.heappush(self._ends, (ends_ns, key))
        text = "the address %s is refused for %d s: %d of its requests failed within %d s"
        within = decision.window_seconds - decision.reset_seconds
        before = REQUEST_ID.set(REQUEST_ID.get() or self.direct_id())
        log.warning(text, shown_address(key), decision.reset_seconds, decision.limit, max(within, 1))
        REQUEST_ID.reset(before)

    def __len__(self) -> int:
        """Return the number of addresses that are refused."""
        return len(self._ends)

    def some(self, most: int) -> list[str]:
        """Return up to `most` of them, as they are shown."""
        return [shown_address(key) for _, key in self._ends[:most]]

    def step(self) -> None:
        """Log the addresses that are no longer refused."""
        now_ns = self._clock.monotonic_ns()
        while self._ends and self._ends[0][0] <= now_ns:
            log.info("the address %s is no longer refused", shown_address(heapq.heappop(self._ends)[1]))

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.step()
