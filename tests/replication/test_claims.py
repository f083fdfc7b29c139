"""replication/claims.py: claims over a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from core.clock import NS_PER_MS
from core.fleet_table import FleetTable
from core.state import State
from core.vote_table import VoteTable
from languages.refusals import Refusal
from replication.claims import FIRST_MS, ClaimPolicy, Claims
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fake_clock import FakeClock
from tests.support.gateways import BOT, USER, WAIT_SECONDS
from tests.support.memory_nodes import DIGESTS
from tests.support.reading_node import link_to
from tests.support.redis_server import RedisServer

REF = f"bot:{BOT}"
COOLDOWN_MS = 3_600_000
PREFIX = "votegate"
KEY = f"{PREFIX}:vote:{DIGESTS.vote(REF, USER)}"


def known(fleet: FleetTable, votes: VoteTable) -> State:
    """Return the part of a state that decides if a claim is over."""
    return cast("State", SimpleNamespace(fleet=fleet, votes=votes))


class Claimant(NamedTuple):
    """The parts of a node that claim votes."""

    claims: Claims
    fleet: FleetTable
    votes: VoteTable
    clock: FakeClock

    async def vote(self) -> bool:
        """Return true if the vote was taken; otherwise another node has it."""
        try:
            async with self.claims.holding(REF, USER, self.clock.now_ms()):
                return True
        except Refusal:
            return False


@asynccontextmanager
async def claimant(
    url: str, *, timeout_seconds: float = WAIT_SECONDS, cooldown_ms: int = COOLDOWN_MS
) -> AsyncIterator[Claimant]:
    """Yield a node that finishes all of its commands before the context ends."""
    link, fleet, votes, clock = link_to(url), FleetTable(), VoteTable(), FakeClock()
    async with aclosing(link.redis), asyncio.TaskGroup() as tasks:
        claims = Claims(
            link,
            DIGESTS,
            known(fleet, votes),
            clock,
            tasks.create_task,
            ClaimPolicy(cooldown_ms, timeout_seconds, longest_seconds=timeout_seconds),
        )
        yield Claimant(claims, fleet, votes, clock)


def lasts_ms(redis: RedisServer) -> int:
    """Return the time until the claim expires; it is negative if there is no claim."""
    with redis.client() as client:
        found: Any = client.pttl(KEY)
        return int(found)


def put(redis: RedisServer, value: bytes | str) -> None:
    with redis.client() as client:
        client.set(KEY, value)


# -- one claim ---------------------------------------------------------------------------------------------


def test_a_vote_that_was_taken_is_claimed_for_the_cooldown(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a:
            assert await a.vote()

    asyncio.run(story())
    assert FIRST_MS < lasts_ms(redis_server) <= COOLDOWN_MS


def test_another_node_is_told_when_the_user_can_vote_again(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a, claimant(redis_server.url) as b:
            at_ms = a.clock.now_ms()
            assert await a.vote()
            b.clock.advance(60)
            with pytest.raises(Refusal, match="voted_too_soon") as refused:
                async with b.claims.holding(REF, USER, b.clock.now_ms()):
                    pass
            assert refused.value.facts["next_vote_ms"] == at_ms + COOLDOWN_MS

    asyncio.run(story())


def test_a_vote_that_was_not_taken_is_claimed_by_the_next_one(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a:
            with pytest.raises(LookupError):
                async with a.claims.holding(REF, USER, a.clock.now_ms()):
                    raise LookupError
        async with claimant(redis_server.url) as b:
            assert await b.vote()

    asyncio.run(story())


def test_a_vote_that_was_taken_stays_claimed_although_it_could_not_be_promised(
    redis_server: RedisServer,
) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a:
            at_ms = a.clock.now_ms()
            with suppress(LookupError):
                async with a.claims.holding(REF, USER, at_ms):
                    a.votes.put(REF, int(USER), 1, at_ms)
                    raise LookupError
        async with claimant(redis_server.url) as b:
            assert not await b.vote()

    asyncio.run(story())


def test_a_claim_that_another_node_has_by_now_is_not_given_back(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a:
            at_ms = a.clock.now_ms()
            with suppress(LookupError):
                async with a.claims.holding(REF, USER, at_ms):
                    put(redis_server, f"{at_ms} of-another-one")
                    raise LookupError
        async with claimant(redis_server.url) as b:
            assert not await b.vote()

    asyncio.run(story())


@pytest.mark.parametrize("cooldown_ms", [COOLDOWN_MS, 500])
def test_a_node_that_dies_before_the_commit_keeps_nobody_from_voting_for_long(
    redis_server: RedisServer, proxy: CuttingProxy, cooldown_ms: int
) -> None:
    async def story() -> None:
        async with (
            claimant(proxy.url, cooldown_ms=cooldown_ms) as a,
            claimant(redis_server.url, cooldown_ms=cooldown_ms) as b,
        ):
            async with a.claims.holding(REF, USER, a.clock.now_ms()):
                proxy.cut()
            assert not await b.vote()
            assert 0 < lasts_ms(redis_server) <= min(FIRST_MS, cooldown_ms)
            with redis_server.client() as client:
                client.delete(KEY)  # as its end does
            assert await b.vote()

    asyncio.run(story())


# -- claims that are over ----------------------------------------------------------------------------------


def erase(node: Claimant) -> None:
    node.fleet.erased_at(DIGESTS.user(USER), node.clock.now_ms())


def remove(node: Claimant) -> None:
    node.fleet.removed_at(REF, node.clock.now_ms())


def wait_for_the_cooldown(node: Claimant) -> None:
    node.clock.advance_ms(COOLDOWN_MS)


END = pytest.mark.parametrize("end", [erase, remove, wait_for_the_cooldown])


@END
def test_a_claim_that_is_over_keeps_nobody_from_voting(redis_server: RedisServer, end: Any) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a, claimant(redis_server.url) as b:
            assert await a.vote()
            assert not await b.vote()
            for node in (a, b):
                end(node)
                node.clock.advance_ms(1)
            assert await b.vote()
            assert not await a.vote()

    asyncio.run(story())


@END
def test_one_of_two_nodes_that_find_a_claim_over_takes_the_vote(redis_server: RedisServer, end: Any) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a, claimant(redis_server.url) as b:
            put(redis_server, f"{a.clock.now_ms()} of-a-third-one")
            for node in (a, b):
                end(node)
                node.clock.advance_ms(1)
            assert sorted(await asyncio.gather(a.vote(), b.vote())) == [False, True]

    asyncio.run(story())


@pytest.mark.parametrize("value", ["", "garbage", "-1 x", "9" * 15 + " x", "9" * 40 + " x", b"\xff\x00"])
def test_garbage_in_place_of_a_claim_keeps_nobody_from_voting(
    redis_server: RedisServer, value: bytes | str
) -> None:
    async def story() -> None:
        put(redis_server, value)
        async with claimant(redis_server.url) as a, claimant(redis_server.url) as b:
            assert await a.vote()
            assert not await b.vote()

    asyncio.run(story())


def test_a_key_of_another_type_keeps_nobody_from_voting(redis_server: RedisServer) -> None:
    async def story() -> None:
        with redis_server.client() as client:
            client.rpush(KEY, "a list")
        async with claimant(redis_server.url) as a:
            assert await a.vote()

    asyncio.run(story())


# -- Redis does not answer ---------------------------------------------------------------------------------


def test_a_vote_is_taken_although_redis_hangs_and_the_next_ones_do_not_ask(
    redis_server: RedisServer, proxy: CuttingProxy, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with claimant(proxy.url, timeout_seconds=0.05) as a:
            proxy.hang()
            assert await a.vote()
            assert not a.claims.is_answering
            with pytest.raises(StopIteration) as took:  # at once: it waits for nothing
                a.vote().send(None)
            assert took.value.value

    asyncio.run(story())
    assert caplog.text.count("votes are not claimed") == 1
    assert lasts_ms(redis_server) < 0


@pytest.mark.parametrize("gone", [RedisServer.stop, RedisServer.kill])
def test_votes_are_claimed_again_once_redis_is_back(
    redis_server: RedisServer, gone: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with claimant(redis_server.url) as a, claimant(redis_server.url) as b:
            assert await a.vote()
            gone(redis_server)
            assert await a.vote()
            redis_server.start()
            assert await a.vote()  # asks nobody for a moment
            a.clock.advance(1)
            assert await a.vote()
            assert not await b.vote()

    asyncio.run(story())
    assert "votes are claimed again" in caplog.text


@pytest.mark.parametrize(
    ("round_trips_ms", "seconds"),
    [
        ([], 2),  # nobody knows yet how far Redis is
        ([1, 1], 0.1),
        ([1, 200, 1], 0.8),
        ([200, 200], 0.8),
        ([2_000], 2),
    ],
)
def test_a_vote_waits_for_some_round_trips_within_bounds(round_trips_ms: list[int], seconds: float) -> None:
    link, state = link_to("redis://127.0.0.1:1"), known(FleetTable(), VoteTable())
    measured = [ms * NS_PER_MS for ms in round_trips_ms]
    policy = ClaimPolicy(COOLDOWN_MS, 0.1, longest_seconds=2)
    assert Claims(link, DIGESTS, state, FakeClock(), lambda _: None, policy, measured).wait_seconds == seconds


def test_a_value_counts_once_in_the_fleet(redis_server: RedisServer) -> None:
    async def story() -> list[bool]:
        async with claimant(redis_server.url) as one, claimant(redis_server.url) as other:
            uses = ((one, "a"), (other, "a"), (other, "b"), (one, "a"))
            return [await each.claims.first_use(value, 1_200) for each, value in uses]

    assert asyncio.run(story()) == [True, False, True, False]


def test_a_value_counts_at_each_node_while_redis_does_not_answer(proxy: CuttingProxy) -> None:
    async def story() -> list[bool]:
        async with claimant(proxy.url, timeout_seconds=0.05) as a:
            proxy.hang()
            return [await a.claims.first_use("a", 1_200) for _ in range(2)]

    assert asyncio.run(story()) == [True, True]
