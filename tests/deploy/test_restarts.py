"""Restarts under load, with a socket of systemd: clients that keep their connections lose no request."""

import contextlib
import itertools
import select
import signal
import threading
from collections.abc import Sequence
from operator import gt
from pathlib import Path

import pytest

from tests.support.gateways import BOT, USER, eventually
from tests.support.raw_http_client import HEALTH, OPERATOR, Caller, request
from tests.support.socket_activation import Activated
from wire.listening import listen

PAUSES = (0.0, 0.0, 0.0, 0.001, 0.01, 0.05, 0.2, 0.5)
"""The seconds of each client between an answer and its next request."""
MORE = 20


class Keeping:
    """A client that keeps its connection until an answer says that it is the last one.

    It replaces a connection that the server has closed before a request. It never sends a request again, so
    each lost one is counted.
    """

    def __init__(self, url: str, requests: Sequence[bytes], pause_seconds: float) -> None:
        self.answered = 0
        self.last_answers = 0
        """Answers that announced the end of their connection."""
        self.lost: list[str] = []
        self._url = url
        self._requests = itertools.cycle(requests)
        self._pause_seconds = pause_seconds
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        caller = None
        while not self._enough.wait(self._pause_seconds):
            if caller is not None and select.select([caller.socket], [], [], 0)[0]:
                caller.close()
                caller = None
            try:
                caller = caller or Caller(self._url)
                answer = caller.ask(next(self._requests))
            except (OSError, AssertionError) as error:
                self.lost.append(repr(error))
                return
            if answer.status != 200:
                self.lost.append(repr(answer))
            self.answered += 1
            if answer.closes:
                self.last_answers += 1
                caller.close()
                caller = None
        if caller is not None:
            caller.close()


@pytest.mark.parametrize("restarts", [3, pytest.param(20, marks=pytest.mark.long)])
def test_a_restart_under_load_loses_no_request_of_a_kept_connection(tmp_path: Path, restarts: int) -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, contextlib.ExitStack() as stack:
        gateway = Activated(tmp_path / "data", listening)
        gateway.environment["VOTEGATE_SERVER__ACCESS_LOG"] = "off"
        gateway.environment["VOTEGATE_LIMITS__VOTERS__REQUESTS"] = "1000000000"
        stack.callback(gateway.close)
        url = gateway.base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        gateway.start()
        check = request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {gateway.list_bot()}")
        votes = request("GET", "/manage/votes", OPERATOR)
        gateway.session.close()

        clients = []
        for pause in PAUSES:
            clients.append(Keeping(url, [check, check, HEALTH, votes], pause))
            stack.callback(clients[-1].end)

        def lost() -> list[str]:
            return [each for client in clients for each in client.lost]

        def ask_on() -> None:
            """Return when the clients that never pause have many more answers."""
            goals = [client.answered + MORE for client in clients[:3]]
            eventually(lambda: lost() or all(map(gt, [each.answered for each in clients], goals)))
            assert lost() == []

        ask_on()
        for _ in range(restarts):
            assert gateway.signal(signal.SIGTERM) == 0
            gateway.start()
            ask_on()
        for client in clients:
            client.end()
        assert lost() == []
        assert sum(client.last_answers for client in clients) >= restarts
