"""A node of a fleet at work. No caller of the gateway waits for it.

Five loops run beside each other, each with its own outages: heartbeats and what follows from them, this
node's stream, the streams of the others with copies where they have gaps, counts for the limiters, and files
that other nodes lack. This
module alone knows all rooms: it hands the values of one to the other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from core.clock import NS_PER_SECOND, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from replication.blob_exchange import BlobExchange
from replication.claims import Claims
from replication.copies import CopyLost, Donor, Fetcher, Offer
from replication.follower import Follower, Gaps
from replication.members import CopyRequest, Registry
from replication.publisher import Publisher
from replication.readiness import Fence, Isolation, Joining
from replication.redis_link import UNREACHABLE, Link, described
from replication.succession import LeaderLease, Succession
from replication.usage import Usage
from replication.warnings import Differences, Eviction, Lag, Warnings, warn_of_distance, warn_of_silence

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.05, 1.0
TRIM_BEATS = 5
POLL_SECONDS = 0.02
LEAVE_SECONDS = 2.0


class RetryingLoop:
    """A loop of work that needs Redis, retried for ever.

    Invariant: the log has one line when an outage begins, and one when it ends.

    A step costs about the same whatever it carries: a round trip to Redis, a record of the journal, threads
    and turns of the event loop. So a step that had work is followed by a pause, and the next one takes
    everything that has gathered. Work after a pause starts at once. After a full step there is no pause,
    because more is there already.
    """

    def __init__(
        self,
        purpose: str,
        clock: Clock,
        drop_idle: Callable[[], Awaitable[None]],
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`purpose` names the work in log lines. The loop calls `on_failure` and `drop_idle` after each step
        that fails."""
        self.failure: str | None = None
        """The reason of the outage that lasts."""
        self._purpose = purpose
        self._clock = clock
        self._drop_idle = drop_idle
        self._on_failure = on_failure
        self._failed_since_ns = 0
        self._wait_seconds = FIRST_WAIT_SECONDS

    async def run(self, step: Callable[[], Awaitable[float]]) -> None:
        """Step until cancelled. A step returns the seconds until the next one. Failed steps are retried with
        exponential backoff."""
        task = asyncio.current_task()
        while task is None or not task.cancelling():
            seconds = await self._once(step)
            await asyncio.sleep(seconds)
        raise asyncio.CancelledError  # redis-py took the first one for a time-out

    async def _once(self, step: Callable[[], Awaitable[float]]) -> float:
        try:
            seconds = await step()
        except (*UNREACHABLE, Unavailable) as error:
            if self.failure is None:
                self._failed_since_ns = self._clock.monotonic_ns()
                log.warning("Redis: %s fails: %s", self._purpose, described(error))
            self.failure = described(error)
            self._on_failure()
            await self._drop_idle()
            seconds, self._wait_seconds = (
                self._wait_seconds,
                min(self._wait_seconds * 2, LONGEST_WAIT_SECONDS),
            )
            return seconds
        if self.failure is not None:
            outage_seconds = (self._clock.monotonic_ns() - self._failed_since_ns) / NS_PER_SECOND
            log.info("Redis: %s works again after %.1f s", self._purpose, outage_seconds)
        self.failure, self._wait_seconds = None, FIRST_WAIT_SECONDS
        return seconds


@dataclass(frozen=True)
class Pace:
    """The intervals of the loops, and the room that a stream may take."""

    batch_seconds: float
    """The pause after a step that has sent or read something."""
    usage_seconds: float
    ready_seconds: float
    """The longest time, after a start, that webhooks wait for what other nodes have sent."""
    stream_bytes: int


@dataclass(frozen=True)
class NodeParts:
    """The parts that a node runs."""

    registry: Registry
    publisher: Publisher
    follower: Follower
    gaps: Gaps
    usage: Usage
    donor: Donor
    fetcher: Fetcher
    claims: Claims
    succession: Succession
    leader_lease: LeaderLease | None
    """None where no reminder is sent."""
    fence: Fence
    isolation: Isolation
    joining: Joining
    warnings: Warnings
    differences: Differences
    eviction: Eviction
    lag: Lag
    blobs: BlobExchange


class Node:
    def __init__(self, link: Link, ledger: Ledger, parts: NodeParts, pace: Pace, clock: Clock) -> None:
        self._ledger = ledger
        self._parts = parts
        self._pace = pace
        self._beats = 0
        self._tasks = asyncio.TaskGroup()
        self._ready = asyncio.Event()
        drop_idle, forget_cursor = link.drop_idle, parts.usage.forget_cursor
        forget_wanted = parts.blobs.forget_cursor
        self._loops = {
            "registry": RetryingLoop("hearing of other nodes", clock, drop_idle),
            "publishing": RetryingLoop("telling other nodes", clock, drop_idle),
            "following": RetryingLoop("reading other nodes", clock, drop_idle, forget_cursor),
            "usage": RetryingLoop("telling what limits allow", clock, drop_idle),
            "files": RetryingLoop("giving files to other nodes", clock, drop_idle, forget_wanted),
        }

    async def run(self) -> None:
        """Work until cancelled."""
        loops = self._loops
        async with self._tasks as tasks:
            tasks.create_task(self._watch_for_pauses())
            tasks.create_task(loops["registry"].run(self._heartbeat))
            tasks.create_task(loops["publishing"].run(self._publish))
            tasks.create_task(loops["following"].run(self._follow))
            tasks.create_task(loops["usage"].run(self._send_usage))
            tasks.create_task(loops["files"].run(self._give_files))

    async def until_ready(self, stop: asyncio.Event) -> None:
        """Return when this node knows what the others do, when it has waited long enough, or at `stop`."""
        waiting = [asyncio.ensure_future(each) for each in (self._ready.wait(), stop.wait())]
        await asyncio.wait(waiting, timeout=self._pace.ready_seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()

    @property
    def is_catching_up(self) -> bool:
        """True from the start until this node knows what the others do, while it hears them."""
        return not self._ready.is_set() and self._parts.registry.is_hearing

    def may_send_webhooks(self) -> bool:
        """Return False after a pause of the process, until this node knows what others sent meanwhile."""
        return self._parts.fence.may_send()

    def may_send_reminders(self) -> bool:
        """Return True if this node has the leader lease and knows what was sent."""
        lease = self._parts.leader_lease
        return lease is not None and self._parts.fence.may_send() and lease.is_ours()

    def why_not_ready(self) -> str | None:
        """Return why other nodes should get the requests; None if this one is ready."""
        if self._parts.isolation.is_cut_off:
            return "this node is cut off from Redis"
        return self._parts.joining.missing()

    def asks(self, ref: str) -> bool:
        """Return True if this node asks the chat platform about a listing for the whole fleet."""
        return self._parts.registry.is_chosen(ref)

    async def leave(self) -> None:
        """Send what is unsent, if that takes a moment only, and give the name back."""
        registry, publisher, lease = self._parts.registry, self._parts.publisher, self._parts.leader_lease
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                if registry.holds_name:
                    await self._ledger.durable(self._ledger.head)
                    await publisher.step()
                    await registry.step(*self._report())
                    if lease is not None:
                        await lease.leave()
                    await registry.leave()
        except (*UNREACHABLE, Unavailable) as error:
            log.info("left without telling everything: %s", type(error).__name__)
        publisher.close()

    def standing(self) -> dict[str, Any]:
        """Return the node as the debug page shows it."""
        parts, state = self._parts, self._ledger.state
        registry, request, behind = parts.registry, parts.fetcher.request, parts.gaps.missing()
        return {
            "node": state.fleet.label,
            "holds_name": registry.holds_name,
            "claims_votes": parts.claims.is_answering,
            "failing": {name: loop.failure for name, loop in self._loops.items() if loop.failure},
            "stream_position": parts.publisher.top,
            "unsent": parts.publisher.unsent,
            "copying_from": request.donor if request is not None else None,
            "nodes": {
                name: {
                    "node": member.status.label,
                    "state": registry.presence(name),
                    "silent_ms": registry.silent_ns(name) // 1_000_000 if registry.is_hearing else None,
                    "read_to": state.fleet.cursors.get(member.status.label, 0),
                    "behind": behind.get(member.status.label, 0),
                }
                for name, member in registry.others.items()
            },
            "refused": {**parts.follower.refused.reasons, **registry.refused.reasons},
        }

    def concerns(self) -> list[str]:
        """Return the warnings that last, in words."""
        return [*self._parts.warnings.current.values()]

    # -- the loops -------------------------------------------------------------------------------------

    async def _watch_for_pauses(self) -> None:
        fence, isolation = self._parts.fence, self._parts.isolation
        while True:
            fence.look()
            isolation.look()
            await asyncio.sleep(fence.tick_seconds)

    async def _heartbeat(self) -> float:
        parts = self._parts
        self._beats += 1
        if self._beats % TRIM_BEATS == 0 and parts.registry.holds_name:
            await parts.publisher.trim(self._pace.stream_bytes)  # first, because a full Redis still trims
        try:
            changes = await parts.registry.step(*self._report())
        except UNREACHABLE:
            parts.registry.forget_time()
            parts.succession.reset()
            raise
        finally:
            parts.lag.look()
            warn_of_silence(parts.registry, parts.warnings)
            warn_of_distance(parts.registry, parts.claims.policy, parts.warnings)
        for change in changes:
            parts.differences.compare(change)
        if parts.registry.holds_name:
            await self._act_on_statuses()
        return parts.registry.heartbeat_seconds

    async def _act_on_statuses(self) -> None:
        parts = self._parts
        if not await parts.publisher.is_reconciled():
            parts.publisher.recheck()
        parts.warnings.forget_all_but(parts.registry.others)
        parts.gaps.heartbeat()
        if parts.publisher.has_reconciled:
            self._give_copies()
        await parts.succession.step()
        await parts.eviction.look()
        is_caught_up = not parts.gaps.missing()
        parts.fence.heartbeat(is_caught_up=is_caught_up)
        parts.joining.heartbeat(is_caught_up=is_caught_up and not parts.gaps.has_closed)
        parts.isolation.heartbeat(is_caught_up=is_caught_up)
        if parts.leader_lease is not None:
            await parts.leader_lease.step(is_caught_up=is_caught_up)
        if self._beats > 1 and is_caught_up:
            self._ready.set()

    def _report(self) -> tuple[int, CopyRequest | None]:
        return self._parts.publisher.top or 0, self._parts.fetcher.request

    async def _publish(self) -> float:
        """Wait for work first: a step that succeeded counts as success while there is no work."""
        await self._parts.publisher.wait()
        if not self._parts.registry.holds_name:
            return POLL_SECONDS
        await self._parts.publisher.step()
        return self._pace.batch_seconds

    async def _follow(self) -> float:
        if not self._parts.registry.holds_name:
            return POLL_SECONDS
        donor = self._parts.gaps.donor()
        if donor is not None and await self._parts.fetcher.take_from(donor):
            self._parts.gaps.filled()
            self._parts.joining.took_copy()
        return self._pace.batch_seconds if await self._parts.follower.step() else 0

    async def _send_usage(self) -> float:
        await self._parts.usage.send()
        return self._pace.usage_seconds

    async def _give_files(self) -> float:
        await self._parts.blobs.step()
        return 0

    # -- copies for others -----------------------------------------------------------------------------

    def _give_copies(self) -> None:
        for offer in self._parts.donor.offers():
            self._parts.publisher.announce(offer.position)
            self._tasks.create_task(self._give(offer))

    async def _give(self, offer: Offer) -> None:
        try:
            await self._parts.donor.give(offer)
        except (*UNREACHABLE, CopyLost, Unavailable) as error:
            log.warning("the copy for node %s was given up: %s", offer.name, described(error))
