"""A node of a fleet at work. Law: nothing here is waited for by those who call the gateway.

Four loops beside each other, each with its own outages: the node's word and what follows from the others'
(`registry`), its own stream (`publisher`), the streams of the others (`follower`), and what the limiters
allow (`usage`).
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Unavailable
from replication.copies.donor import CopyLost, Donor
from replication.members.claims import Claims
from replication.members.eviction import Eviction
from replication.members.fence import Awake
from replication.members.registry import Registry
from replication.members.succession import Succession
from replication.members.warnings import Concerns
from replication.streams.follower import Follower
from replication.streams.gaps import Gaps
from replication.streams.lag import Lagging
from replication.streams.publisher import Publisher
from replication.streams.usage import Usage
from replication.transport.link import UNREACHABLE, Link
from replication.transport.retrying import Contact, described

log = logging.getLogger(__name__)

TRIM_BEATS = 5
POLL_SECONDS = 0.02
LEAVE_SECONDS = 2.0


@dataclass(frozen=True)
class Pace:
    """How often things are done, and how much a stream may take."""

    beat_seconds: float
    usage_seconds: float
    ready_seconds: float
    """For so long webhooks wait, after a start, for what other nodes have sent of them."""
    stream_bytes: int


@dataclass(frozen=True)
class Parts:
    """What a node is made of."""

    link: Link
    ledger: Ledger
    registry: Registry
    publisher: Publisher
    follower: Follower
    gaps: Gaps
    usage: Usage
    succession: Succession
    donor: Donor
    claims: Claims
    concerns: Concerns
    lagging: Lagging
    eviction: Eviction
    awake: Awake


class Node:
    def __init__(self, parts: Parts, pace: Pace, clock: Clock) -> None:
        self._parts = parts
        self._pace = pace
        self._clock = clock
        self._beats = 0
        self._giving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        drop_idle = parts.link.drop_idle
        self._contacts = {
            "registry": Contact("hearing of other nodes", clock, drop_idle),
            "publishing": Contact("telling other nodes", clock, drop_idle),
            "following": Contact("reading other nodes", clock, drop_idle, parts.usage.doubt),
            "usage": Contact("telling what limits allow", clock, drop_idle),
        }

    async def run(self) -> None:
        """Works until it is cancelled."""
        contacts = self._contacts
        try:
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._stay_awake())
                loops.create_task(contacts["registry"].run(self._beat))
                loops.create_task(contacts["publishing"].run(self._publish))
                loops.create_task(contacts["following"].run(self._follow))
                loops.create_task(contacts["usage"].run(self._tell_usage))
        finally:
            for task in self._tasks:
                task.cancel()

    async def until_ready(self, stop: asyncio.Event) -> None:
        """Returns when this node knows what the others do, or has waited for long enough."""
        waiting = [asyncio.ensure_future(each) for each in (self._ready.wait(), stop.wait())]
        await asyncio.wait(waiting, timeout=self._pace.ready_seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()

    @property
    def awake(self) -> Awake:
        """Says when webhooks may be sent."""
        return self._parts.awake

    async def leave(self) -> None:
        """Tells what there still is to tell, if that is possible in a moment, and gives the name back."""
        parts = self._parts
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                if parts.registry.holds_name:
                    await parts.ledger.durable(parts.ledger.head)
                    await parts.publisher.step()
                    await parts.registry.step(parts.publisher.top or 0)
                    await parts.registry.leave()
        except (*UNREACHABLE, Unavailable) as error:
            log.info("left without telling everything: %s", type(error).__name__)
        parts.publisher.close()

    def view(self) -> dict[str, Any]:
        """For the debug page."""
        parts = self._parts
        registry, cursors = parts.registry, parts.ledger.state.fleet.cursors
        behind = parts.gaps.missing()
        return {
            "node": parts.ledger.state.fleet.label,
            "holds_name": registry.holds_name,
            "claims_votes": parts.claims.is_answering,
            "failing": {name: contact.failure for name, contact in self._contacts.items() if contact.failure},
            "stream_position": parts.publisher.top,
            "unsent": parts.publisher.unsent,
            "copying_from": registry.wants or None,
            "digest": parts.ledger.state.shared_digest(),
            "nodes": {
                name: {
                    "node": heard.status.label,
                    "state": registry.presence(name),
                    "silent_ms": registry.silent_ns(name) // 1_000_000 if registry.is_hearing else None,
                    "read_to": cursors.get(heard.status.label, 0),
                    "behind": behind.get(heard.status.label, 0),
                }
                for name, heard in registry.others.items()
            },
            "refused": {**parts.follower.refused.reasons, **registry.refused.reasons},
            "concerns": [*parts.concerns.current.values()],
        }

    # -- the loops -------------------------------------------------------------------------------------

    async def _stay_awake(self) -> None:
        while True:
            self._parts.awake.look()
            await asyncio.sleep(self._parts.awake.tick_seconds)

    async def _beat(self) -> None:
        parts = self._parts
        self._beats += 1
        if self._beats % TRIM_BEATS == 0 and parts.registry.holds_name:
            await parts.publisher.trim(self._pace.stream_bytes)  # first: it is what a full Redis still does
        try:
            await parts.registry.step(parts.publisher.top or 0)
        except UNREACHABLE:
            parts.registry.forget_time()
            parts.succession.reset()
            raise
        finally:
            parts.lagging.look()
        if parts.registry.holds_name:
            if not await parts.publisher.is_agreed():
                parts.publisher.doubt()
            parts.concerns.forget_all_but(parts.registry.others)
            parts.gaps.beat()
            if parts.publisher.has_agreed:
                self._give_copies()
            await parts.succession.step()
            await parts.eviction.look()
            is_even = not parts.gaps.missing()
            parts.awake.beat(is_even=is_even)
            if self._beats > 1 and is_even:
                self._ready.set()
        await asyncio.sleep(self._pace.beat_seconds)

    async def _publish(self) -> None:
        """Waits for work first, so that what has worked is known to work while there is none."""
        await self._parts.publisher.wait()
        if self._parts.registry.holds_name:
            await self._parts.publisher.step()
        else:
            await asyncio.sleep(POLL_SECONDS)

    async def _follow(self) -> None:
        if self._parts.registry.holds_name:
            await self._parts.follower.step()
        else:
            await asyncio.sleep(POLL_SECONDS)

    async def _tell_usage(self) -> None:
        await self._parts.usage.tell()
        await asyncio.sleep(self._pace.usage_seconds)

    # -- copies for others -----------------------------------------------------------------------------

    def _give_copies(self) -> None:
        self._giving &= {heard.status.copy for heard in self._parts.registry.others.values()}
        for name, heard in self._parts.registry.others.items():
            copy = heard.status.copy
            if heard.status.wants == self._parts.registry.name and copy not in self._giving:
                self._giving.add(copy)
                self._spawn(self._give(name, copy))

    async def _give(self, name: str, copy: str) -> None:
        try:
            await self._parts.donor.give(name, copy)
        except (*UNREACHABLE, CopyLost, Unavailable) as error:
            log.warning("the copy for node %s was given up: %s", name, described(error))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
