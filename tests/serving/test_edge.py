"""How many connections there may be; `tests/wire/test_full_house.py` tells who makes room.

What the edge answers to malformed requests is told in `tests/system/contract`.
"""

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.gateways import WAIT_SECONDS, ThreadGateway, eventually, running


@pytest.fixture
def small(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway with room for two connections."""
    with running(tmp_path / "data", **{"server.connections": 2}) as gateway:
        yield gateway


def connect(gateway: ThreadGateway, stack: ExitStack) -> http.client.HTTPConnection:
    host = gateway.base_url.removeprefix("http://")
    return stack.enter_context(closing(http.client.HTTPConnection(host, timeout=WAIT_SECONDS)))


def is_served(connection: http.client.HTTPConnection) -> bool:
    """Whether the gateway answers on the connection; it closes those that it has no room for."""
    try:
        connection.request("GET", "/healthz")
        with connection.getresponse() as response:
            return response.status == 200
    except (http.client.RemoteDisconnected, ConnectionError):
        return False


def test_a_connection_that_is_closed_makes_room_for_another(small: ThreadGateway) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            kept = [connect(small, stack) for _ in range(2)]
            assert eventually(lambda: is_served(kept[0]))  # noqa: B023 (waited for here)
            assert eventually(lambda: is_served(kept[1]))  # noqa: B023 (waited for here)
            for connection in kept:
                connection.close()
