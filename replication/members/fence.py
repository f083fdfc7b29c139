"""The fence around webhooks after a pause of the process.

Invariant: a paused node sends nothing before it has caught up.

A node that does not run for the length of a lease is gone to the others, and one of them sends its webhooks.
The paused process notices only that more time has passed between two looks at the clock than ever does.
"""

import logging

from core.clock import NS_PER_SECOND, Clock

log = logging.getLogger(__name__)

BEATS_TO_HEAR = 2  # after so many, a successor has reported the webhooks that it sent


class Fence:
    def __init__(self, clock: Clock, lease_seconds: float, patience_seconds: float) -> None:
        """`patience_seconds` bounds how long nothing is sent when nothing can be heard."""
        self._clock = clock
        self._most_ns = round(lease_seconds * NS_PER_SECOND / 2)
        self._patience_ns = round(patience_seconds * NS_PER_SECOND)
        self._seen_ns = clock.monotonic_ns()
        self._closed_until_ns: int | None = None
        self._beats = 0

    @property
    def tick_seconds(self) -> float:
        """The longest time between two calls of `look`."""
        return min(self._most_ns / NS_PER_SECOND / 4, 1.0)

    def look(self) -> None:
        """Close the fence after a pause; open it when patience is over."""
        now_ns = self._clock.monotonic_ns()
        paused_ns, self._seen_ns = now_ns - self._seen_ns, now_ns
        if paused_ns >= self._most_ns:
            log.warning(
                "this process did not run for %.1f s: webhooks wait until it knows what others have sent",
                paused_ns / NS_PER_SECOND,
            )
            self._closed_until_ns, self._beats = now_ns + self._patience_ns, 0
        elif self._closed_until_ns is not None and now_ns >= self._closed_until_ns:
            self._closed_until_ns = None

    def may_send(self) -> bool:
        self.look()
        return self._closed_until_ns is None

    def heartbeat(self, *, is_caught_up: bool) -> None:
        """The others' statuses were read; `is_caught_up`: they know nothing that this node does not."""
        self._beats += 1
        if is_caught_up and self._beats >= BEATS_TO_HEAR:
            self._closed_until_ns = None
