"""replication/loops.py: what comes after a pause goes at once, and what follows goes together."""

import asyncio
from pathlib import Path

from replication.follower import ENTRIES_AT_ONCE
from replication.loops import Pacing
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.gateways import running
from tests.support.memory_nodes import finished
from tests.support.publishing_node import publishing, users_in
from tests.support.reading_node import reading
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF

PACE = 60.0
"""Seconds; no test waits for so long."""
MOMENT = 0.02


def test_a_step_behind_a_pause_does_not_wait() -> None:
    clock = FakeClock()
    pacing = Pacing(clock, PACE)
    assert pacing.wait_seconds == 0
    pacing.began()
    clock.advance(PACE)
    assert pacing.wait_seconds == 0
    finished(pacing.turn())


def test_a_step_waits_until_the_pace_has_passed_since_the_last_one_began() -> None:
    clock = FakeClock()
    pacing = Pacing(clock, PACE)
    pacing.began()
    assert pacing.wait_seconds == PACE
    clock.advance(PACE - 1)
    assert pacing.wait_seconds == 1


def test_a_step_behind_a_full_one_does_not_wait() -> None:
    pacing = Pacing(FakeClock(), PACE)
    pacing.began()
    pacing.began(full=True)
    assert pacing.wait_seconds == 0


def test_without_a_pace_no_step_waits() -> None:
    pacing = Pacing(FakeClock(), 0)
    pacing.began()
    assert pacing.wait_seconds == 0


def test_a_turn_that_comes_later_is_waited_for() -> None:
    pacing = Pacing(FakeClock(), MOMENT)
    pacing.began()

    async def story() -> None:
        turn = asyncio.ensure_future(pacing.turn())
        await asyncio.sleep(0)
        assert not turn.done()
        await turn

    run(story())


def test_a_vote_behind_a_pause_is_told_at_once_and_those_that_follow_are_told_together(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url, pace_seconds=PACE) as node:
            node.clock.advance(PACE)
            publisher = node.publisher
            await node.vote(1)
            publisher.wake()
            await publisher.wait()
            await publisher.step()

            await node.vote(2)
            await node.vote(3)
            publisher.wake()
            waiting = asyncio.ensure_future(publisher.wait())
            await asyncio.wait([waiting], timeout=MOMENT)
            assert not waiting.done()
            waiting.cancel()
            assert users_in(await node.stream()) == ["1"]

            node.clock.advance(PACE)
            await publisher.wait()
            await publisher.step()
            votes = [users_in([entry]) for entry in await node.stream()]
            assert [users for users in votes if users] == [["1"], ["2", "3"]]

    run(story())


def test_a_reader_waits_behind_what_it_has_found_unless_there_may_be_more(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with (
            publishing(tmp_path, redis_server.url) as author,
            reading(redis_server.url, author.ledger.state.fleet.label, PACE) as reader,
        ):
            known = author.publisher.top or 0
            await reader.node.applying.move_cursors(
                {author.ledger.state.fleet.label: known}
            )  # as if it had a copy
            votes = reader.node.state.votes

            await author.tell_each(*range(1, ENTRIES_AT_ONCE + 2))
            await reader.follower.step()
            assert votes.voters(BOT_REF) == ENTRIES_AT_ONCE
            assert reader.pacing.wait_seconds == 0

            await reader.follower.step()
            assert votes.voters(BOT_REF) == ENTRIES_AT_ONCE + 1
            assert reader.pacing.wait_seconds == PACE

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
