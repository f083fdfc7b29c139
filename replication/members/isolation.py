"""A node that hears nothing from Redis, and refuses requests then.

Invariant: it answers again only when it has listened to the others, and knows what they know or has waited a
while for that.

Its answers are then never older than `after_seconds` and the lag of its streams. So it refuses from its
start on until it has heard the others once.
"""

from collections.abc import Callable

from core.clock import NS_PER_SECOND, Clock
from replication.members.registry import LISTENED_BEATS, Registry
from replication.members.warnings import Warnings


class Isolation:
    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        warnings: Warnings,
        after_seconds: float | None,
        patience_seconds: float,
    ) -> None:
        """
        Args:
            after_seconds: how long this node may hear nothing before it refuses; None if it never refuses.
            patience_seconds: how long it waits, once it hears again, for what it has missed.
        """
        self.is_cut_off = after_seconds is not None
        self.switch: Callable[[], None] = lambda: None
        """Is called when this node begins to refuse, and when it ends."""
        self._registry = registry
        self._clock = clock
        self._warnings = warnings
        self._after_seconds = after_seconds
        self._patience_ns = round(patience_seconds * NS_PER_SECOND)
        self._heard_since_ns: int | None = None
        self._beats = 0
        """The heartbeats since then."""

    @property
    def may_refuse(self) -> bool:
        return self._after_seconds is not None

    def look(self) -> None:
        """Begin to refuse if nothing was heard for too long; to be called often."""
        if self._after_seconds is None:
            return
        unheard_seconds = self._registry.unheard_ns / NS_PER_SECOND
        if not self._registry.is_hearing:
            self._heard_since_ns, self._beats = None, 0
        if unheard_seconds > self._after_seconds:
            self._set(is_cut_off=True)

    def heartbeat(self, *, is_caught_up: bool) -> None:
        """The statuses of the others were read; `is_caught_up`: they know nothing that this node does not."""
        if not self.is_cut_off:
            return
        now_ns = self._clock.monotonic_ns()
        if self._heard_since_ns is None:
            self._heard_since_ns = now_ns
        self._beats += 1
        if self._beats <= LISTENED_BEATS:  # others that were cut off, too, say only now what they did
            return
        if is_caught_up or now_ns - self._heard_since_ns >= self._patience_ns:
            self._set(is_cut_off=False)

    def _set(self, *, is_cut_off: bool) -> None:
        name = self._registry.name
        self._warnings.note(
            ("cut off", ""),
            f"this node ({name}) has heard nothing from Redis for more than {self._after_seconds:g} s: "
            "it refuses requests until it does (redis.cut_off)"
            if is_cut_off
            else None,
            f"this node ({name}) hears from Redis again, and answers requests",
        )
        if self.is_cut_off is not is_cut_off:
            self.is_cut_off = is_cut_off
            self.switch()
