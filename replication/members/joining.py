"""A new node of a fleet, until it has a copy.

Invariant: it is not ready before it has a copy or knows what the nodes that are there know.

A node that has read others before has a copy, however old, and is ready at once. So is one that has listings
of its own and hears nobody: it was a gateway alone, or is the first node of a fleet.
"""

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView, name_and_epoch
from replication.members.registry import Registry

NO_COPY = "this node has no copy of its fleet yet"
NOT_HEARD = "this node has no copy of its fleet yet, and Redis has not answered"


class Joining:
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
