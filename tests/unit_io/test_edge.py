"""How many connections there may be, on either server; `tests/wire/test_full_house.py` tells who makes room.

What the edge answers to malformed requests is told in `tests/contract`.
"""

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.gateway import WAIT_SECONDS, ThreadGateway, eventually, running


@pytest.fixture(params=["httptools", "tornado"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway with room for two connections."""
    with running(tmp_path / "data", **{"server.connections": 2, "server.wire": request.param}) as gateway:
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


@pytest.mark.parametrize("small", ["tornado"], indirect=True)
def test_a_connection_too_many_is_closed_and_disturbs_nobody(small: ThreadGateway) -> None:
    with ExitStack() as stack:
        kept = [connect(small, stack) for _ in range(2)]
        assert [is_served(connection) for connection in kept] == [True, True]
        for _ in range(3):
            assert not is_served(connect(small, stack))
        assert [is_served(connection) for connection in kept] == [True, True]
        kept[0].request("GET", "/debug/state", headers={"Authorization": f"Bearer {small.operator_token}"})
        tally = json.load(kept[0].getresponse())["connections"]
        assert tally == {"open": 2, "refused": 3, "closed_for_others": 0}


def test_a_connection_that_is_closed_makes_room_for_another(small: ThreadGateway) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            kept = [connect(small, stack) for _ in range(2)]
            assert eventually(lambda: is_served(kept[0]))  # noqa: B023 (waited for here)
            assert eventually(lambda: is_served(kept[1]))  # noqa: B023 (waited for here)
            for connection in kept:
                connection.close()
