"""Two nodes, of which one can be cut off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_threads import ThreadFleet, threads_of
from tests.support.redis_server import RedisServer


@pytest.fixture
def fleet(tmp_path: Path, redis_server: RedisServer, proxy: CuttingProxy) -> Iterator[ThreadFleet]:
    """Two nodes. The second one reaches Redis through the proxy."""
    with threads_of(tmp_path, redis_server.url) as fleet:
        fleet.node("a")
        fleet.node("b", settings={"redis.url": proxy.url})
        yield fleet
