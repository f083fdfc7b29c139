"""replication/node.py: work after a pause starts at once, and work that follows is batched."""

import asyncio
from pathlib import Path

from replication.follower import ENTRIES_AT_ONCE
from replication.node import RetryingLoop
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock
from tests.support.gateways import running
from tests.support.publishing_node import publishing, users_in
from tests.support.reading_node import reading
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF

PACE = 60.0
"""Seconds; no test waits for so long."""
MOMENT = 0.02


def test_a_step_waits_as_long_as_the_one_before_it_says() -> None:
    async def story() -> None:
        pauses, steps = [0.0, MOMENT, PACE], 0

        async def step() -> float:
            nonlocal steps
            steps += 1
            return pauses[steps - 1]

        async def drop_idle() -> None: ...

        work = asyncio.create_task(RetryingLoop("working", FakeClock(), drop_idle).run(step))
        await until(lambda: steps == len(pauses))
        await asyncio.wait([work], timeout=MOMENT)
        work.cancel()
        assert steps == len(pauses)

    run(story())


def test_votes_that_gather_between_two_steps_are_sent_together(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            await node.vote(1)
            await node.publisher.step()
            await node.vote(2)
            await node.vote(3)
            await node.publisher.step()
            votes = [users_in([entry]) for entry in await node.stream()]
            assert [users for users in votes if users] == [["1"], ["2", "3"]]

    run(story())


def test_a_reader_pauses_after_entries_unless_there_may_be_more(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with (
            publishing(tmp_path, redis_server.url) as author,
            reading(redis_server.url, author.ledger.state.fleet.label) as reader,
        ):
            node_id, known = author.ledger.state.fleet.label, author.publisher.top or 0
            await reader.node.applying.move_cursors({node_id: known})  # as if it had a copy
            votes = reader.node.state.votes

            await author.tell_each(*range(1, ENTRIES_AT_ONCE + 2))
            assert await reader.follower.step() is False
            assert votes.voters(BOT_REF) == ENTRIES_AT_ONCE

            assert await reader.follower.step() is True
            assert votes.voters(BOT_REF) == ENTRIES_AT_ONCE + 1
            assert await reader.follower.step() is False

    run(story())


def test_a_gateway_tells_votes_that_follow_each_other_in_fewer_entries(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    users = [str(700_000_000_000_000_000 + number) for number in range(20)]
    fleet = {"redis.url": redis_server.url, "redis.node": "a", "redis.pace_seconds": 0.5}
    with running(tmp_path / "a", **fleet) as gateway:
        gateway.list_bot()
        for user in users:
            gateway.cast(user)
    with redis_server.client() as client:
        assert 0 < int(client.xlen("votegate:stream:a")) < len(users)
