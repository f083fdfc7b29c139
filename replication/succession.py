"""Leases on work that one node does for the fleet: the webhooks of a node that is gone, and the reminders."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from core.clock import NS_PER_SECOND, Clock
from core.events import DeliveryTaken, Event, OwnerMessageTaken
from core.failures import Unavailable
from core.fleet_table import FleetView, name_and_epoch
from core.ledger import Ledger
from replication.members import Registry
from replication.redis_link import EntryId, Link

log = logging.getLogger(__name__)

TAKEN_AT_ONCE = 64


class Succession:
    """The succession to a node that is gone.

    Invariant: one successor, and it sends only what is known to be unsent.

    A node is gone if its status has not changed for the length of a lease; so is an older epoch of a node
    that is there. The successor is the node that gets the lease in Redis after it has read the gone node's
    stream to the end. A node that starts again reads what its successor did before it sends anything, if that
    can be read.
    """

    def __init__(
        self,
        link: Link,
        registry: Registry,
        ledger: Ledger,
        clock: Clock,
        lease_seconds: float,
        has_read: Callable[[str, EntryId], bool],
    ) -> None:
        """`has_read` tells if this node has read the stream of a name up to an entry."""
        self._link = link
        self._registry = registry
        self._ledger = ledger
        self._clock = clock
        self._has_read = has_read
        self._lease_ns = round(lease_seconds * NS_PER_SECOND)
        self._gone_since_ns: dict[str, int] = {}

    def reset(self) -> None:
        """Redis was away: the leases of gone nodes begin again."""
        self._gone_since_ns.clear()

    async def step(self) -> None:
        """Take over the webhooks and messages of nodes that are gone. Raises UNREACHABLE."""
        now_ns, state = self._clock.monotonic_ns(), self._ledger.state
        senders = {message.node for message in state.listings.untold.values() if message.node}
        owners = [
            node_id for node_id in {*state.deliveries.remote_counts, *senders} if self._is_gone(node_id)
        ]
        self._gone_since_ns = {node_id: self._gone_since_ns.get(node_id, now_ns) for node_id in owners}
        for node_id, since_ns in list(self._gone_since_ns.items()):
            if now_ns - since_ns >= self._lease_ns and await self._succeeds(node_id):
                await self._take_over(node_id)

    def _is_gone(self, node_id: str) -> bool:
        name, _ = name_and_epoch(node_id)
        if name == self._registry.name:
            return True  # an older epoch of this node
        if name in self._registry.refused.reasons:
            return False  # the node is there, though this one does not understand it
        member = self._registry.others.get(name)
        if member is None or not self._registry.is_there(name):
            return True
        return member.status.label != node_id

    async def has_read_gone(self) -> bool:
        """Return True if nothing is unread of nodes that are silent. Raises UNREACHABLE."""
        for name in [*self._registry.others]:
            if not self._registry.is_there(name):
                newest = await self._link.newest(self._link.key("stream", name))
                if newest is not None and not self._has_read(name, newest.id):
                    return False
        return True

    async def _succeeds(self, node_id: str) -> bool:
        """Return True if this node is the successor."""
        name, epoch = name_and_epoch(node_id)
        newest = await self._link.newest(self._link.key("stream", name))
        if newest is not None and name != self._registry.name:
            end = newest.id
            if not self._has_read(name, end if end.epoch == epoch else EntryId(end.epoch, 0)):
                return False
        lease, own = self._link.key("successor", node_id), self._ledger.state.fleet.label
        return await self._link.holds(lease, own, self._lease_ns // 1_000_000)

    async def _take_over(self, node_id: str) -> None:
        state = self._ledger.state
        rows = [
            row
            for of_listing in list(state.deliveries.remote.values())
            for row in of_listing.values()
            if row.owner == node_id
        ]
        messages = [(ref, row) for ref, row in state.listings.untold.items() if row.node == node_id]
        log.warning(
            "node %s is gone: sending its %d webhooks and %d messages", node_id, len(rows), len(messages)
        )
        for start in range(0, max(len(rows), len(messages)), TAKEN_AT_ONCE):
            at_ms, few = self._clock.now_ms(), slice(start, start + TAKEN_AT_ONCE)
            taken: list[Event] = [
                *(
                    DeliveryTaken(row.id, row.ref, at_ms)
                    for row in rows[few]
                    if state.deliveries.find(row.ref, row.id) is row
                ),
                *(
                    OwnerMessageTaken(ref, row.decided_ms, at_ms)
                    for ref, row in messages[few]
                    if state.listings.untold.get(ref) is row
                ),
            ]
            try:
                self._ledger.commit(taken)
            except Unavailable:
                return  # the lease stands, and the next step goes on
            await asyncio.sleep(0)


class LeaderLease:
    """The leader lease of a fleet: its holder sends the reminders. Invariant: the holder knows until when.

    It is a key in Redis, which the holder renews with every heartbeat. A node takes it only when it has read
    what the others have sent, those included that are gone; without Redis nobody keeps it for longer than the
    lease. A node that was paused may find out late that another one has the lease: what it sends then has the
    nonce of what the other one sends.
    """

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
        self._lease = link.key("reminders")
        self._fleet = fleet
        self._clock = clock
        self._has_read_gone = has_read_gone
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
        holder = await self._link.redis.get(self._lease)
        may_have_it = holder == own.encode() or (
            holder is None and is_caught_up and await self._has_read_gone()
        )
        has_it = may_have_it and await self._link.holds(self._lease, own, self._lease_ns // 1_000_000)
        self._until_ns = asked_ns + self._lease_ns if has_it else None

    async def leave(self) -> None:
        """Give the lease back, so that another node has it at once. Raises UNREACHABLE."""
        if (
            self.is_ours()
            and await self._link.redis.get(self._link.key("reminders")) == self._fleet.label.encode()
        ):
            await self._link.redis.delete(self._link.key("reminders"))
        self._until_ns = None
