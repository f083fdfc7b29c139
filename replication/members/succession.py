"""Who sends the webhooks of a node that is gone. Law: one heir, and only of what is known to be unsent.

A node that says nothing for the length of a lease is gone, and so is an older epoch of one that is there.
The heir is whoever gets the claim in Redis, once it has read the dead node's stream to its end. A node that
starts again hears of it from its heir before it sends anything, if that can be heard.
"""

import asyncio
import logging
from collections.abc import Callable

from core.clock import NS_PER_SECOND, Clock
from core.events import DeliveryTaken
from core.fleet import name_and_epoch
from core.ledger import Ledger
from core.refusals import Unavailable
from replication.members.registry import Registry
from replication.transport.envelopes import Id, id_of
from replication.transport.link import Link

log = logging.getLogger(__name__)

TAKEN_AT_ONCE = 64


class Succession:
    def __init__(
        self,
        link: Link,
        registry: Registry,
        ledger: Ledger,
        clock: Clock,
        lease_seconds: float,
        has_read: Callable[[str, Id], bool],
    ) -> None:
        """`has_read` tells whether the stream of the node of a name was read up to an entry."""
        self._link = link
        self._registry = registry
        self._ledger = ledger
        self._clock = clock
        self._has_read = has_read
        self._lease_ns = round(lease_seconds * NS_PER_SECOND)
        self._gone_since_ns: dict[str, int] = {}

    def reset(self) -> None:
        """Nothing could be heard for a while."""
        self._gone_since_ns.clear()

    async def step(self) -> None:
        """Takes over what is to be taken over. Raises UNREACHABLE."""
        now_ns = self._clock.monotonic_ns()
        owners = [label for label in self._ledger.state.owners if self._is_gone(label)]
        self._gone_since_ns = {label: self._gone_since_ns.get(label, now_ns) for label in owners}
        for label, since_ns in list(self._gone_since_ns.items()):
            if now_ns - since_ns >= self._lease_ns and await self._inherits(label):
                await self._take_over(label)

    def _is_gone(self, label: str) -> bool:
        name, _ = name_and_epoch(label)
        if name == self._registry.name:
            return True  # an older epoch of this node
        if name in self._registry.refused.reasons:
            return False  # it is not understood, but there
        heard = self._registry.others.get(name)
        if heard is None or not self._registry.is_there(name):
            return True
        return heard.status.label != label

    async def _inherits(self, label: str) -> bool:
        name, epoch = name_and_epoch(label)
        newest = await self._link.newest(self._link.stream(name))
        if newest is not None and name != self._registry.name:
            end = id_of(newest[0])
            if not self._has_read(name, end if end.epoch == epoch else Id(end.epoch, 0)):
                return False
        lasts_ms = self._lease_ns // 1_000_000
        own = self._ledger.state.fleet.label
        key = self._link.heir(label)
        if await self._link.redis.set(key, own, nx=True, px=lasts_ms):
            return True
        return bool(await self._link.redis.get(key) == own.encode())

    async def _take_over(self, label: str) -> None:
        state = self._ledger.state
        rows = [
            row
            for of_listing in list(state.elsewhere.values())
            for row in of_listing.values()
            if row.owner == label
        ]
        log.warning("node %s is gone: sending its %d webhooks", label, len(rows))
        for start in range(0, len(rows), TAKEN_AT_ONCE):
            at_ms = self._clock.now_ms()
            taken = [
                DeliveryTaken(row.id, row.ref, at_ms)
                for row in rows[start : start + TAKEN_AT_ONCE]
                if state.delivery(row.ref, row.id) is row
            ]
            try:
                self._ledger.commit(taken)
            except Unavailable:
                return  # the claim stands, and the next step goes on
            await asyncio.sleep(0)
