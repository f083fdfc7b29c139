"""A node's clock is set: nobody is gone for it, nobody is there for longer, and no vote is taken twice."""

import asyncio
from contextlib import aclosing

import pytest

from core.events import DeliveryMerged, Merged
from core.fleet_table import FleetTable
from core.ledger import Ledger
from core.rows import Delivery
from languages.refusals import Refusal
from replication.claims import ClaimPolicy, Claims
from replication.members import ALIVE_BEATS, Registry
from replication.redis_link import Link
from replication.succession import Succession
from tests.support.fake_clock import FakeClock
from tests.support.gateways import USER, WAIT_SECONDS
from tests.support.memory_ledger import MemoryJournal, empty_state
from tests.support.memory_nodes import DIGESTS
from tests.support.reading_node import BEAT_SECONDS, link_to, registry_of
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, NOW_MS, listed
from tests.support.sender_stage import URL

LEASE_SECONDS = 30.0
HOUR, DAY = 3_600, 86_400
COOLDOWN_MS = DAY * 1_000
jumps = pytest.mark.parametrize("jump", [-DAY, -HOUR, HOUR, DAY])


def registry(name: str, link: Link, clock: FakeClock) -> Registry:
    fleet = FleetTable()
    fleet.named(f"{name}.1")
    return registry_of(name, link, fleet, clock)


@jumps
def test_a_node_is_there_for_as_long_as_its_word_was_heard(redis_server: RedisServer, jump: int) -> None:
    async def story() -> None:
        link, clock = link_to(redis_server.url), FakeClock()
        async with aclosing(link.redis):
            await registry("a", link, clock).step(0)
            hearing = registry("b", link, clock)
            await hearing.step(0)
            clock.set_wall(jump)
            await hearing.step(0)
            assert (hearing.is_there("a"), hearing.silent_ns("a")) == (True, 0)
            clock.advance(ALIVE_BEATS * BEAT_SECONDS)
            assert not hearing.is_there("a")

    asyncio.run(story())


@jumps
def test_a_node_s_webhooks_are_taken_over_after_the_lease(redis_server: RedisServer, jump: int) -> None:
    async def story() -> None:
        link, clock = link_to(redis_server.url), FakeClock()
        ledger = Ledger(empty_state(), MemoryJournal(), head=0)
        row = Delivery("d1", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="a.1")
        ledger.commit([*listed(url=URL)])
        ledger.commit([Merged("a.1", 1), DeliveryMerged(row)])
        successor = Succession(
            link, registry("b", link, clock), ledger, clock, LEASE_SECONDS, lambda *_: True
        )
        async with aclosing(link.redis):
            await successor.step()
            clock.set_wall(jump)
            clock.advance(LEASE_SECONDS - 1)
            await successor.step()
            assert not ledger.state.deliveries.pending
            clock.set_wall(-2 * jump)
            clock.advance(1)
            await successor.step()
            assert [*ledger.state.deliveries.pending] == ["d1"]

    asyncio.run(story())


@jumps
def test_a_vote_that_another_node_has_claimed_is_refused_with_a_wait(
    redis_server: RedisServer, jump: int
) -> None:
    async def story() -> None:
        link, clock = link_to(redis_server.url), FakeClock()
        async with aclosing(link.redis), asyncio.TaskGroup() as tasks:
            a, b = (
                Claims(
                    link,
                    DIGESTS,
                    empty_state(),
                    clock,
                    tasks.create_task,
                    ClaimPolicy(COOLDOWN_MS, WAIT_SECONDS, longest_seconds=WAIT_SECONDS),
                )
                for _ in range(2)
            )
            claimed_ms = clock.now_ms()
            async with a.holding(BOT_REF, USER, claimed_ms):
                pass
            clock.set_wall(jump + (1 if jump < 0 else -1))
            with pytest.raises(Refusal, match="voted_too_soon") as refused:
                async with b.holding(BOT_REF, USER, clock.now_ms()):
                    pass
            assert refused.value.facts["next_vote_ms"] == claimed_ms + COOLDOWN_MS
            assert refused.value.facts["retry_seconds"] > 0

    asyncio.run(story())
