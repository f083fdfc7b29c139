"""replication/usage.py: what limiters have allowed is told once, and lost without harm."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from core.fleet_table import FleetTable
from core.rows import Policy
from ratelimit.bucket import SharedBuckets
from replication.redis_link import UNREACHABLE, Envelopes, Link
from replication.usage import Usage, Uses
from storage.sealing import Keyring, new_key
from tests.support.coroutines import run
from tests.support.cutting_proxy import CuttingProxy
from tests.support.journals import KEYS
from tests.support.reading_node import link_to
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, OTHER_REF

POLICY = Policy(1_000, 60)
USES = "votegate:uses"


class Limiting:
    """A node, as far as it limits."""

    def __init__(self, label: str, link: Link) -> None:
        self.buckets = SharedBuckets()
        self.link = link
        self.heard: list[tuple[str, int]] = []
        fleet = FleetTable()
        fleet.named(label)
        self.usage = Usage(link, fleet, self.buckets.told, self.hear)

    def hear(self, ref: str, used: int) -> None:
        self.heard.append((ref, used))

    def allow(self, count: int, ref: str = BOT_REF) -> None:
        for _ in range(count):
            assert self.buckets.take(ref, POLICY, 0).allowed

    async def listen(self) -> list[tuple[str, int]]:
        """All that it hears from now on until there is no more, and has heard before."""
        found = await self.link.read({USES: await self.usage.cursor()}, 1_000)
        self.usage.receive(found.get(USES, ()))
        return self.heard


@asynccontextmanager
async def limiting(label: str, url: str) -> AsyncIterator[Limiting]:
    link = link_to(url)
    async with aclosing(link.redis):
        node = Limiting(label, link)
        await node.usage.cursor()
        yield node


def test_allowed_requests_are_sent_once(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with limiting("a.1", redis_server.url) as a, limiting("b.1", redis_server.url) as b:
            a.allow(3)
            a.allow(1, OTHER_REF)
            await a.usage.send()
            await a.usage.send()
            a.allow(2)
            await a.usage.send()
            assert await b.listen() == [(BOT_REF, 3), (OTHER_REF, 1), (BOT_REF, 2)]
            assert len(await b.listen()) == 3

    run(story())


def test_its_own_uses_are_nothing_new_to_a_node(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with limiting("a.1", redis_server.url) as a, limiting("b.1", redis_server.url) as b:
            a.allow(3)
            await a.usage.send()
            b.allow(2)
            await b.usage.send()
            assert (await a.listen(), await b.listen()) == ([(BOT_REF, 2)], [(BOT_REF, 3)])

    run(story())


def test_redis_is_asked_nothing_as_long_as_there_is_nothing_to_tell(
    redis_server: RedisServer, proxy: CuttingProxy
) -> None:
    del redis_server

    async def story() -> None:
        async with limiting("a.1", proxy.url) as a:
            proxy.cut()
            await a.usage.send()
            a.allow(1)
            for _ in range(2):  # and then, until it answers
                with pytest.raises(UNREACHABLE):
                    await a.usage.send()
            proxy.restore()
            await a.usage.send()
            proxy.cut()
            await a.usage.send()

    run(story())


def test_a_redis_that_takes_nothing_is_not_taken_for_one_that_works(redis_server: RedisServer) -> None:
    """It may answer whatever is read."""

    async def story() -> None:
        async with limiting("a.1", redis_server.url) as a:
            redis_server.config("maxmemory", 1)
            a.allow(1)
            for _ in range(3):
                with pytest.raises(UNREACHABLE):
                    await a.usage.send()
            redis_server.config("maxmemory", 0)
            await a.usage.send()

    run(story())


def test_requests_allowed_in_an_outage_count_nowhere_else(
    redis_server: RedisServer, proxy: CuttingProxy
) -> None:
    async def story() -> None:
        async with limiting("a.1", proxy.url) as a, limiting("b.1", redis_server.url) as b:
            proxy.cut()
            for _ in range(3):
                a.allow(100)
                with pytest.raises(UNREACHABLE):
                    await a.usage.send()
            proxy.restore()
            await a.usage.send()
            a.allow(2)
            await a.usage.send()
            assert await b.listen() == [(BOT_REF, 2)]

    run(story())


def test_a_node_hears_from_now_on_after_an_outage_of_its_own(redis_server: RedisServer) -> None:
    async def story() -> None:
        async with limiting("a.1", redis_server.url) as a, limiting("b.1", redis_server.url) as b:
            a.allow(100)
            await a.usage.send()
            b.usage.forget_cursor()
            await b.usage.cursor()
            a.allow(2)
            await a.usage.send()
            assert await b.listen() == [(BOT_REF, 2)]

    run(story())


def test_entries_from_outside_the_fleet_limit_nobody(redis_server: RedisServer) -> None:
    stranger = Envelopes(Keyring([new_key()]))
    fleet = Envelopes(KEYS)
    garbage = [
        b"",
        b"garbage",
        stranger.seal(Uses("c.1", {BOT_REF: 9}), USES),
        fleet.seal(Uses("c.1", {BOT_REF: 9}), "votegate:another-place"),
        fleet.seal(["another", "version", 7], USES),
    ]

    async def story() -> None:
        async with limiting("a.1", redis_server.url) as a, limiting("b.1", redis_server.url) as b:
            with redis_server.client() as client:
                for envelope in garbage:
                    client.xadd(USES, {"e": envelope})
                client.xadd(USES, {"another field": b"x"})
            a.allow(2)
            await a.usage.send()
            assert await b.listen() == [(BOT_REF, 2)]

    run(story())
