"""One node at a time has the leader lease, over a real Redis."""

import asyncio
from contextlib import AsyncExitStack, aclosing

from core.fleet_table import FleetTable
from replication.succession import LeaderLease
from tests.support.fake_clock import FakeClock
from tests.support.reading_node import link_to
from tests.support.redis_server import RedisServer

LEASE_SECONDS = 3_600.0
KEY = "votegate:reminders"


class Node:
    def __init__(self, url: str, label: str) -> None:
        self.link, self.clock, fleet = link_to(url), FakeClock(), FleetTable()
        fleet.named(label)
        self.unread = False
        self.lease = LeaderLease(self.link, fleet, self.clock, LEASE_SECONDS, self.has_read_gone)

    async def has_read_gone(self) -> bool:
        return not self.unread

    async def beats(self, *, is_caught_up: bool = True) -> bool:
        await self.lease.step(is_caught_up=is_caught_up)
        return self.lease.is_ours()


def test_one_node_has_the_leader_lease_until_it_ends_or_it_leaves(redis_server: RedisServer) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            a, b = (Node(redis_server.url, label) for label in ("a.1", "b.1"))
            for node in (a, b):
                await stack.enter_async_context(aclosing(node.link.redis))
            assert not await a.beats(is_caught_up=False)
            assert await a.beats()
            assert not await b.beats()
            assert await a.beats(is_caught_up=False), "it keeps what it has"
            a.clock.advance(LEASE_SECONDS)
            assert not a.lease.is_ours(), "it was not renewed in time"
            assert await a.beats()
            await a.link.redis.delete(KEY)  # the lease ends
            b.unread = True
            assert not await b.beats()
            b.unread = False
            assert await b.beats()
            assert not await a.beats()
            await a.lease.leave()
            assert await b.beats()
            await b.lease.leave()
            assert not b.lease.is_ours()
            assert await a.beats()
            assert 0 < await a.link.redis.pttl(KEY) <= LEASE_SECONDS * 1_000

    asyncio.run(main())
