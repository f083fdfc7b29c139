"""replication/follower.py: nothing is merged that no node with the fleet's secret has sent."""

import asyncio

from core.fleet_table import FleetTable
from replication.facts import VoteFact
from replication.members import Registry
from replication.publisher import Entry
from replication.redis_link import ENVELOPE, Link
from tests.support.fake_clock import FakeClock
from tests.support.memory_nodes import DIGESTS
from tests.support.reading_node import BEAT_SECONDS, Reading, reading
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, USER

AUTHOR = "a"
SECRET, ANOTHER_SECRET = DIGESTS.fleet, "of another fleet"


async def sends_a_vote(link: Link, epoch: int) -> None:
    """The author appends a vote to its stream."""
    stream, id_ = link.key("stream", AUTHOR), f"{epoch}-1"
    entry = Entry(0, b"proof", [VoteFact(BOT_REF, USER, epoch, 1_000)])
    await link.redis.xadd(stream, {ENVELOPE: link.seal(entry, f"{stream}/{id_}")}, id=id_)


async def says(link: Link, epoch: int, secret: str) -> None:
    """The author writes its status, and leaves."""
    fleet = FleetTable()
    fleet.named(f"{AUTHOR}.{epoch}")
    registry = Registry(link, AUTHOR, secret, fleet, FakeClock(), BEAT_SECONDS, {})
    await link.redis.delete(link.key("alive", AUTHOR))
    await registry.step(0)


async def follows(reader: Reading, seconds: float = BEAT_SECONDS) -> dict[str, int]:
    """Read once, later. Returns the user's counts by node id."""
    reader.clock.advance(seconds)
    await reader.follower.step()
    node_ids = list(reader.node.state.fleet.numbers)
    return {node_ids[at]: count for at, count in reader.node.state.votes.parts(BOT_REF, int(USER)).items()}


def test_entries_of_an_epoch_wait_until_a_status_of_it_was_read(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with reading(redis_server.url, f"{AUTHOR}.1") as reader:
            author = reader.link
            await sends_a_vote(author, 2)
            for _ in range(2):
                assert await follows(reader) == {}
            await says(author, 2, SECRET)
            await reader.registry.step(0)
            assert await follows(reader) == {"a.2": 2}

    asyncio.run(story())


def test_entries_of_a_node_that_is_gone_are_merged_although_its_last_status_was_not_read(
    redis_server: RedisServer,
) -> None:
    async def story() -> None:
        async with reading(redis_server.url, f"{AUTHOR}.1") as reader:
            await sends_a_vote(reader.link, 2)
            assert await follows(reader, 0) == {}
            assert await follows(reader, reader.lost_seconds) == {"a.2": 2}

    asyncio.run(story())


def test_entries_of_a_node_with_another_secret_are_skipped_when_it_has_the_right_one(
    redis_server: RedisServer,
) -> None:
    async def story() -> None:
        async with reading(redis_server.url, f"{AUTHOR}.1") as reader:
            author = reader.link
            await says(author, 2, ANOTHER_SECRET)
            await sends_a_vote(author, 2)
            await reader.registry.step(0)
            assert reader.registry.refused.reasons.keys() == {AUTHOR}
            assert await follows(reader) == {}

            await says(author, 3, SECRET)
            await sends_a_vote(author, 3)
            await reader.registry.step(0)
            assert await follows(reader) == {"a.3": 3}

    asyncio.run(story())
