"""An upgrade: the old process ends, the new one takes its socket, and no request or vote is lost.

The listening socket stays open all the while, as systemd keeps it. The new process starts when the old one
has ended and given the data folder back. Meanwhile connections wait in the socket.
"""

import contextlib
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.gateways import BOT, Client, eventually
from tests.support.installed_gateway import BINARY
from tests.support.raw_http_client import Asking
from tests.support.socket_activation import FROM_SOURCE, Activated
from wire.listening import listen

FIRST_USER = 700_000_000_000_000_000
VOTES = 10


class Voting:
    """A site that casts one vote after the other, each over a connection of its own."""

    def __init__(self, client: Client) -> None:
        self.cast: list[str] = []
        self.refused: list[str] = []
        self._client = client
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        user = FIRST_USER
        while not self._ending.is_set():
            user += 1
            try:
                self._client.session.headers["Connection"] = "close"
                self._client.cast(str(user))
            except Exception as error:
                self.refused.append(repr(error))
                return
            self.cast.append(str(user))

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


COMMANDS = [FROM_SOURCE, *([[str(BINARY), "serve"]] if BINARY.exists() else [])]


@pytest.mark.parametrize("program", COMMANDS, ids=["source", "binary"][: len(COMMANDS)])
def test_an_upgrade_under_load_refuses_nobody_and_forgets_no_vote(
    tmp_path: Path, program: Sequence[str]
) -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, contextlib.ExitStack() as stack:
        old = Activated(tmp_path / "data", listening, program).start()
        stack.callback(old.close)
        url = old.base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        key = old.list_bot()
        site = Client()
        site.base_url, site.operator_token = url, old.operator_token
        stack.callback(site.session.close)
        voting, asking = Voting(site), Asking(url)
        stack.callback(voting.end)
        stack.callback(asking.end)
        eventually(lambda: len(voting.cast) >= VOTES or voting.refused)

        old.session.close()
        assert old.signal(signal.SIGTERM) == 0
        before, asked = len(voting.cast), asking.answered
        new = Activated(tmp_path / "data", listening, program).start()
        stack.callback(new.close)
        eventually(lambda: len(voting.cast) >= before + VOTES or voting.refused)
        eventually(lambda: asking.answered > asked + VOTES)
        voting.end()
        asking.end()

        assert (voting.refused, asking.wrong) == ([], [])
        new.base_url = url
        for user in voting.cast:
            answer = new.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": [user]})
            assert answer["votes"][0]["voted"] is True, user
        assert new.voters(key, user=voting.cast[0]).json()["voted"] is True
