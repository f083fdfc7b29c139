"""replication/members.py: the nodes that are there share what one of them does for all."""

import asyncio
from contextlib import AsyncExitStack, aclosing

from core.fleet_table import FleetTable
from replication.members import ALIVE_BEATS, Registry
from tests.support.fake_clock import FakeClock
from tests.support.reading_node import BEAT_SECONDS, link_to, registry_of
from tests.support.redis_server import RedisServer

REFS = {f"servers/{number}" for number in range(50)}
BOTS = {f"bots/{number}" for number in range(50)}


def chosen(node: Registry) -> set[str]:
    return {ref for ref in REFS if node.is_chosen(ref)}


def test_one_of_the_nodes_that_are_there_is_chosen_and_none_that_hears_nobody(
    redis_server: RedisServer,
) -> None:
    async def story() -> None:
        clock, nodes = FakeClock(), list[Registry]()
        async with AsyncExitStack() as stack:
            for name in "ab":
                link, fleet = link_to(redis_server.url), FleetTable()
                await stack.enter_async_context(aclosing(link.redis))
                fleet.named(f"{name}.1")
                nodes.append(registry_of(name, link, fleet, clock))
            a, b = nodes
            assert chosen(a) == chosen(b) == set()
            for node in (a, b, a):
                await node.step(0)
            assert chosen(a) | chosen(b) == REFS
            assert chosen(a) & chosen(b) == set()
            assert chosen(a)
            assert chosen(b)
            clock.advance(ALIVE_BEATS * BEAT_SECONDS)
            assert chosen(a) == chosen(b) == set()
            await a.step(0)
            assert chosen(a) == REFS, "the other one is gone"
            a.forget_time()
            assert chosen(a) == set()

    asyncio.run(story())


def test_only_nodes_that_offer_a_kind_are_chosen_for_its_listings(redis_server: RedisServer) -> None:
    async def story() -> None:
        clock, nodes = FakeClock(), list[Registry]()
        async with AsyncExitStack() as stack:
            for name, kinds in (("a", ()), ("b", ("bots",)), ("c", ("servers", "bots"))):
                link, fleet = link_to(redis_server.url), FleetTable()
                await stack.enter_async_context(aclosing(link.redis))
                fleet.named(f"{name}.1")
                nodes.append(registry_of(name, link, fleet, clock))
                nodes[-1].kinds = kinds
            a, b, c = nodes
            for node in (*nodes, *nodes):
                await node.step(0)
            assert chosen(b) == set(), "it does not offer servers"
            assert chosen(a) | chosen(c) == REFS
            assert chosen(a) & chosen(c) == set()
            assert all(
                (a.is_chosen(ref), b.is_chosen(ref), c.is_chosen(ref)).count(True) == 1 for ref in BOTS
            )
            assert any(map(b.is_chosen, BOTS))

    asyncio.run(story())
