"""A Redis, and what may come between it and its clients; nodes with nothing between them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cutting import CuttingProxy
from tests.redis_server import RedisServer
from tests.replication.given import Node, a_node, one_ahead_of
from tests.unit.given import a_webhook


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


@pytest.fixture
def a() -> Node:
    """A node with a bot that has a webhook."""
    node = a_node()
    a_webhook(node.ledger)
    return node


@pytest.fixture
def b(a: Node) -> Node:
    """One that has heard of all that `a` did, and whose clock is ahead."""
    return one_ahead_of(a)
