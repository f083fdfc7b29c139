"""replication/publisher.py: the entries that are cut off a stream, and those that stay."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.events import ListingSaved
from replication.members import ReadUpTo
from tests.support.coroutines import run
from tests.support.publishing_node import NAME, publishing, users_in
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER

AMPLE_BYTES = 1 << 30
USERS = [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("slowest", "stay"),
    [
        (None, USERS),  # nobody has read anything
        (-4, USERS),
        (-3, [6, 7, 8]),
        (-1, [8]),
        (0, [8]),  # the top stays, although all have read it
    ],
)
def test_entries_go_once_all_have_read_them_and_the_top_stays(
    redis_server: RedisServer, tmp_path: Path, slowest: int | None, stay: list[int]
) -> None:
    """`slowest` is how far behind the top the slowest node is; another one has read everything."""

    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            await node.tell_each(*USERS)
            top = node.ledger.head
            node.others.read = None if slowest is None else ReadUpTo(top + slowest, top)

            await node.publisher.trim(AMPLE_BYTES)

            stream = await node.stream()
            assert users_in(stream) == [str(user) for user in stay]
            assert stream[-1][0] == top
            await node.tell_each(9)
            assert users_in(await node.stream()) == [str(user) for user in (*stay, 9)]

    run(story())


def test_a_stream_that_takes_too_much_room_loses_its_oldest_entries_although_nobody_has_read_them(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            await node.tell_each(*range(1_000, 1_400))
            used = await node.link.redis.memory_usage(node.link.key("stream", NAME), samples=0) or 0
            everything = await node.stream()

            await node.publisher.trim(used)
            assert await node.stream() == everything
            assert not caplog.records

            await node.publisher.trim(used // 2)
            kept = await node.stream()
            assert len(everything) * 0.4 < len(kept) < len(everything) * 0.6
            assert kept == everything[-len(kept) :]

            await node.publisher.trim(1)
            assert await node.stream() == everything[-1:]

    run(story())
    assert caplog.text.count("a node that has not read it yet will take a copy") == 2


def test_a_few_large_entries_behind_many_small_ones_count_with_their_size(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            await node.tell_each(*range(1_000, 1_400))
            small = await node.link.redis.memory_usage(node.link.key("stream", NAME), samples=0) or 0
            for number in range(4):
                profile = replace(BOT_PROFILE, description="x" * small)
                saved = ListingSaved(BOT_REF, OWNER, profile, "in_review", NOW_MS + number)
                await node.ledger.durable(node.ledger.commit([saved]))
                await node.tell_all()

            await node.publisher.trim(3 * small)

            assert len(await node.stream()) < 400

    run(story())
