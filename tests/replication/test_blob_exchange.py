"""replication/blob_exchange.py: nobody waits longer than a few seconds for a file of another node."""

import asyncio
from typing import Any

import pytest

from core.fleet_table import FleetTable
from replication import blob_exchange
from replication.blob_exchange import AT_ONCE, BlobExchange
from replication.redis_link import Envelopes, Link
from tests.support.coroutines import run
from tests.support.journals import KEYS

DIGESTS = [f"{number:064x}" for number in range(2 * AT_ONCE + 1)]


class SilentRedis:
    """A Redis in which nobody gives a file."""

    async def xadd(self, *_: object, **__: object) -> None:
        await asyncio.sleep(0)

    async def xread(self, *_: object, **__: object) -> None:
        await asyncio.sleep(0.01)


class DeafRedis(SilentRedis):
    """A Redis whose client drops one cancellation, as redis-py may on Python 3.11: `wait_for` returns what it
    waited for if that ends at the same moment."""

    def __init__(self) -> None:
        self.dropped = 0

    async def xread(self, *_: object, **__: object) -> None:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.dropped += 1
            if self.dropped > 1:
                raise


def exchange_over(redis: Any) -> BlobExchange:
    async def has_none(_: str) -> None:
        return None

    return BlobExchange(Link(redis, "votegate", Envelopes(KEYS)), FleetTable(), has_none)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_exchange, "FETCH_SECONDS", 0.2)


def test_a_cancellation_that_is_dropped_makes_nobody_wait() -> None:
    redis = DeafRedis()
    assert run(exchange_over(redis).fetch(DIGESTS[0])) is None
    assert redis.dropped == 1


def test_files_that_wait_for_others_are_given_up_as_soon() -> None:
    exchange = exchange_over(SilentRedis())

    async def story() -> float:
        began = asyncio.get_running_loop().time()
        assert set(await asyncio.gather(*map(exchange.fetch, DIGESTS))) == {None}
        return asyncio.get_running_loop().time() - began

    assert run(story()) < 2 * 0.2
