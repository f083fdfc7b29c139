"""An upgrade: the old process ends, the new one takes its socket, and no request or vote is lost.

The listening socket stays open all the while, as systemd keeps it. The new process starts when the old one
has ended and given the data folder back. Meanwhile connections wait in the socket.
"""

import contextlib
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.gateways import BOT, ROOT, Client, eventually
from tests.support.installed_gateway import BINARY
from tests.support.raw_http_client import Asking
from tests.support.redis_server import RedisServer
from tests.support.socket_activation import FROM_SOURCE, Activated
from tests.support.worker_processes import Load, Workers
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


SCRIPT = """#!{python}
import sys
sys.path.insert(0, {root!r})
print({name!r}, file=sys.stderr)
from server import cli
cli(prog_name="votegate")
"""


def put_script(place: Path, name: str) -> None:
    """Put a program such as pip installs in place, at once. It says its name first."""
    unfinished = place.with_suffix(".new")
    unfinished.write_text(SCRIPT.format(python=sys.executable, root=str(ROOT), name=name))
    unfinished.chmod(0o755)
    unfinished.replace(place)


def put_binary(place: Path, name: str) -> None:
    """Put a copy of the binary in place, at once. It cannot say a name."""
    assert name
    unfinished = place.with_suffix(".new")
    shutil.copy(BINARY, unfinished)
    unfinished.replace(place)


PROGRAMS = [put_script, *([put_binary] if BINARY.exists() else [])]


@pytest.mark.parametrize("put", PROGRAMS)
def test_a_restart_of_the_workers_upgrades_them_to_the_program_that_is_at_its_path_now(
    tmp_path: Path, redis_server: RedisServer, put: Callable[[Path, str], None]
) -> None:
    program = tmp_path / "votegate"
    put(program, "the old program")
    gateway = Workers(tmp_path / "data", redis_server.url, VOTEGATE_LIMITS__VOTERS__REQUESTS="1000000000")
    gateway.program = [str(program), "serve"]
    gateway.interpreter = ()
    try:
        gateway.start()
        key = gateway.list_bot()
        gateway.session.close()
        before = program.stat().st_ino
        put(program, "the new program")
        with Load(gateway.base_url, key) as load:
            load.ask_on(20)
            gateway.process.send_signal(signal.SIGHUP)
            gateway.until_ready(2)
            load.ask_on(20)
        assert load.lost == []
        assert program.stat().st_ino != before
        if put is put_script:
            assert gateway.log.count("the old program") == 3  # the supervisor stays the old one
            assert gateway.log.count("the new program") == 2
        assert gateway.signal(signal.SIGTERM) == 0
    finally:
        gateway.end()
