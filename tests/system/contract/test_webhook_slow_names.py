"""Names whose servers never answer: they delay only their own votes."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import BOT_PATH, SHORT_DRAIN_SECONDS, attempted, deliveries, set_webhook
from tests.support.gateways import OTHER_BOT, WAIT_SECONDS, running
from tests.support.webhook_receiver import Receiver

OTHER_PATH = f"/manage/bots/{OTHER_BOT}"


@pytest.fixture
def silent() -> Iterator[list[socket.socket]]:
    """Name servers that never answer: so many that it takes long to have asked them all."""
    servers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    for server in servers:
        server.bind(("127.0.0.1", 0))
        server.settimeout(WAIT_SECONDS)
    yield servers
    for server in servers:
        server.close()


def test_a_vote_is_sent_while_another_endpoint_s_name_is_looked_up_even_if_one_attempt_may_be_under_way(
    tmp_path: Path, receiver: Receiver, silent: list[socket.socket]
) -> None:
    settings = {
        "webhooks.in_flight": 1,
        "webhooks.timeout_seconds": 300,
        "webhooks.allow_http": True,
        "webhooks.name_servers": ["{}:{}".format(*server.getsockname()) for server in silent],
        "server.drain_seconds": SHORT_DRAIN_SECONDS,
    }
    with running(tmp_path, **settings) as gateway:
        for path, url in ((BOT_PATH, "http://dead.example/"), (OTHER_PATH, receiver.url)):
            gateway.list_bot(path.rpartition("/")[2])
            set_webhook(gateway, url, path)

        gateway.cast()
        assert b"\x04dead\x07example\x00" in silent[0].recv(512)
        gateway.cast(path=OTHER_PATH)

        assert attempted(gateway, 1, OTHER_PATH)["state"] == "delivered"
        (waiting,) = deliveries(gateway)
        assert waiting["attempts"] == []
