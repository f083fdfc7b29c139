"""A process that was stopped. Law: it sends no webhook before it has heard what others sent for it meanwhile.

Who does not run for the length of a lease is gone to the others, and one of them sends its webhooks. The
process itself notices nothing, but that more time has passed between two looks than it ever does.
"""

import logging
from collections.abc import Callable

from core.clock import NS_PER_SECOND, Clock

log = logging.getLogger(__name__)

BEATS_TO_HEAR = 2  # whoever has sent something has said so by then


class Awake:
    def __init__(self, clock: Clock, lease_seconds: float, patience_seconds: float) -> None:
        """`patience_seconds`: for so long nothing is sent if nothing can be heard."""
        self._clock = clock
        self._most_ns = round(lease_seconds * NS_PER_SECOND / 2)
        self._patience_ns = round(patience_seconds * NS_PER_SECOND)
        self._seen_ns = clock.monotonic_ns()
        self._held_until_ns: int | None = None
        self._beats = 0
        self.on_release: Callable[[], None] = lambda: None

    @property
    def tick_seconds(self) -> float:
        """So often `look` is to be called at least."""
        return min(self._most_ns / NS_PER_SECOND / 4, 1.0)

    def look(self) -> None:
        """Notices that the process was stopped, and that it has waited for long enough."""
        now_ns = self._clock.monotonic_ns()
        stopped_ns, self._seen_ns = now_ns - self._seen_ns, now_ns
        if stopped_ns >= self._most_ns:
            log.warning(
                "this process did not run for %.1f s: webhooks wait until it knows what others have sent",
                stopped_ns / NS_PER_SECOND,
            )
            self._held_until_ns, self._beats = now_ns + self._patience_ns, 0
        elif self._held_until_ns is not None and now_ns >= self._held_until_ns:
            self._release()

    def may_send(self) -> bool:
        self.look()
        return self._held_until_ns is None

    def beat(self, *, is_even: bool) -> None:
        """The others have been heard; `is_even`: there is nothing that they know and this node does not."""
        self._beats += 1
        if self._held_until_ns is not None and is_even and self._beats >= BEATS_TO_HEAR:
            self._release()

    def _release(self) -> None:
        self._held_until_ns = None
        self.on_release()
