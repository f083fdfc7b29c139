"""A server of a test closes every connection that it has accepted."""

import asyncio
import contextlib
import socket
from collections.abc import Callable

import pytest
import uvloop

from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_receivers import answering, receiving


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", range(5))
def test_a_connection_that_arrives_as_a_server_is_closed_is_closed_too(
    new_loop: Callable[[], asyncio.AbstractEventLoop], turns: int
) -> None:
    async def closing() -> socket.socket:
        async with receiving(answering()) as peer:
            client = socket.create_connection(("127.0.0.1", peer.port), timeout=WAIT_SECONDS)
            for _ in range(turns):
                await asyncio.sleep(0)
        return client

    with asyncio.Runner(loop_factory=new_loop) as runner:
        client = runner.run(closing())
    with client, contextlib.suppress(ConnectionResetError):
        assert client.recv(1) == b""
