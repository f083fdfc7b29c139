"""A restart of the workers one after the other, under load: nothing fails, and nothing is lost or doubled."""

import signal
from pathlib import Path

import pytest

from tests.support.contract import set_webhook
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver
from tests.support.worker_processes import Load, Workers, users_of, workers_of

UNLIMITED = 1_000_000_000


def votes_at(workers: Workers) -> int:
    """Return the votes that the worker knows which answers."""
    votes: int = workers.done("GET", "/debug/overview.json")["counts"]["votes"]
    return votes


@pytest.mark.parametrize("restarts", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_restart_of_all_workers_fails_no_request_and_loses_and_doubles_no_vote_or_webhook(
    tmp_path: Path, redis_server: RedisServer, receiver: Receiver, restarts: int
) -> None:
    with workers_of(tmp_path, redis_server, limit=UNLIMITED) as workers:
        key = workers.list_bot()
        set_webhook(workers, receiver.url)
        workers.session.close()
        with Load(workers.base_url, key) as load:
            load.ask_on()
            for restart in range(restarts):
                workers.process.send_signal(signal.SIGHUP)
                workers.until_ready(restart + 2)
                load.ask_on()
        assert load.lost == []
        eventually(lambda: set(users_of(receiver.received)) == set(load.voted))
        assert set(users_of(receiver.received).values()) == {1}
        eventually(lambda: votes_at(workers) == len(load.voted))
        assert workers.signal(signal.SIGTERM) == 0
