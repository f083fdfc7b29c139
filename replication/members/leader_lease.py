"""The leader lease of a fleet: its holder sends the reminders. Invariant: the holder knows until when.

It is a key in Redis, which the holder renews with every heartbeat. A node takes it only when it has
read what the others have sent, those included that are gone; without Redis nobody keeps it for longer than
the lease. A node that was paused may find out late that another one has the lease: what it sends then has the
nonce of what the other one sends.
"""

from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView
from replication.transport.link import Link


class LeaderLease:
    def __init__(
        self,
        link: Link,
        fleet: FleetView,
        clock: Clock,
        lease_seconds: float,
        has_read_gone: Callable[[], Awaitable[bool]],
    ) -> None:
        """`has_read_gone` tells if nodes that are gone have left nothing unread."""
        self._link = link
        self._fleet = fleet
        self._clock = clock
        self._has_read_gone = has_read_gone
        self._lasts_ms = round(lease_seconds * 1_000)
        self._lease_ns = round(lease_seconds * NS_PER_SECOND)
        self._until_ns: int | None = None

    def is_ours(self) -> bool:
        return self._until_ns is not None and self._clock.monotonic_ns() < self._until_ns

    async def step(self, *, is_caught_up: bool) -> None:
        """Take the lease if nobody has it, or renew it. Raises UNREACHABLE.

        Args:
            is_caught_up: true if the nodes that are there know nothing that this one does not.
        """
        asked_ns, own = self._clock.monotonic_ns(), self._fleet.label
        redis, key = self._link.redis, self._link.reminders
        holder = await redis.get(key)
        if holder == own.encode():
            has_it = bool(await redis.set(key, own, xx=True, px=self._lasts_ms))
        else:
            may_take = holder is None and is_caught_up and await self._has_read_gone()
            has_it = may_take and bool(await redis.set(key, own, nx=True, px=self._lasts_ms))
        self._until_ns = asked_ns + self._lease_ns if has_it else None

    async def leave(self) -> None:
        """Give the lease back, so that another node has it at once. Raises UNREACHABLE."""
        if self.is_ours() and await self._link.redis.get(self._link.reminders) == self._fleet.label.encode():
            await self._link.redis.delete(self._link.reminders)
        self._until_ns = None
