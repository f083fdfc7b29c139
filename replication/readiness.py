"""When a node may send webhooks, and when it may answer requests: not while others know more than it does."""

import logging
from collections.abc import Callable

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView, name_and_epoch
from replication.members import LISTENED_BEATS, Registry
from replication.warnings import Warnings

log = logging.getLogger(__name__)

BEATS_TO_HEAR = 2  # after so many, a successor has reported the webhooks that it sent


class Fence:
    """The fence around webhooks after a pause of the process.

    Invariant: a paused node sends nothing before it has caught up.

    A node that does not run for the length of a lease is gone to the others, and one of them sends its
    webhooks. The paused process notices only that more time has passed between two looks at the clock than
    ever does.
    """

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


class Isolation:
    """A node that hears nothing from Redis, and refuses requests then.

    Invariant: it answers again only when it has listened to the others, and knows what they know or has
    waited a while for that.

    Its answers are then never older than `after_seconds` and the lag of its streams. So it refuses from its
    start on until it has heard the others once.
    """

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


NO_COPY = "this node has no copy of its fleet yet"
NOT_HEARD = "this node has no copy of its fleet yet, and Redis has not answered"


class Joining:
    """A new node of a fleet, until it has a copy.

    Invariant: it is not ready before it has a copy or knows what the nodes that are there know.

    A node that has read others before has a copy, however old, and is ready at once. So is one that has
    listings of its own and hears nobody: it was a gateway alone, or is the first node of a fleet.
    """

    def __init__(
        self,
        registry: Registry,
        fleet: FleetView,
        clock: Clock,
        *,
        has_listings: bool,
        patience_seconds: float,
        lost_seconds: float,
    ) -> None:
        """To be made before this node reads anything.

        Args:
            has_listings: true if the journal has listings.
            patience_seconds: how long a node with listings of its own waits for Redis.
            lost_seconds: how long a node that is silent may come back and give a copy.
        """
        names = {name_and_epoch(node_id)[0] for node_id in fleet.numbers}
        self._registry = registry
        self._clock = clock
        self._may_be_alone = has_listings and names <= {registry.name}  # else a copy was interrupted
        self._patience_ns = round(patience_seconds * NS_PER_SECOND)
        self._lost_ns = round(lost_seconds * NS_PER_SECOND)
        self._since_ns = clock.monotonic_ns()
        self._is_over = bool(fleet.cursors)

    def took_copy(self) -> None:
        self._is_over = True

    def heartbeat(self, *, is_caught_up: bool) -> None:
        """The statuses of the others were read; `is_caught_up`: they know nothing that this node does not."""
        registry = self._registry
        if self._is_over or not registry.has_listened or registry.refused.reasons:
            return
        may_answer = [name for name in registry.others if registry.silent_ns(name) < self._lost_ns]
        self._is_over = is_caught_up or not may_answer

    def missing(self) -> str | None:
        """Return why this node should get no requests yet; None if it has a copy or needs none."""
        if self._is_over:
            return None
        if self._registry.is_hearing:
            return NO_COPY
        if self._may_be_alone and self._clock.monotonic_ns() - self._since_ns >= self._patience_ns:
            return None
        return NOT_HEARD
