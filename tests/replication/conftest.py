"""A Redis, and what may come between it and its clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cutting import CuttingProxy
from tests.redis_server import RedisServer


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """An empty Redis on this machine."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[CuttingProxy]:
    """A wire to it."""
    with CuttingProxy(redis_server.port) as proxy:
        yield proxy
