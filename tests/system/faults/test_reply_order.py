"""No byte of a reply, and no webhook, leaves before the sync behind it has returned."""

import asyncio
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.serve import Gateway, serve
from settings.model import load_settings
from storage.disk import Disk
from tests.support.fake_clock import FakeClock
from tests.support.gateways import BOT, DEFAULTS, OPERATOR_TOKEN, USER, WAIT_SECONDS, Client

TURNS = 200
"""Turns of the gateway's loop in which it could do what it should not."""


class WatchedDisk(Disk):
    """Calls `at_sync`, in the thread that syncs, before a sync returns."""

    def __init__(self) -> None:
        self.at_sync: Callable[[], None] = lambda: None

    def sync(self, file: int) -> None:
        super().sync(file)
        self.at_sync()


class WatchedGateway(Client):
    """A gateway in a thread, and what could be read outside while it was syncing."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.operator_token = OPERATOR_TOKEN
        self.disk = WatchedDisk()
        self.seen: list[bool] = []
        """For each sync that was watched, whether anything had come out."""
        flags = {"data_dir": folder, "server.port": 0, "operator.token": OPERATOR_TOKEN}
        self._settings = load_settings(None, {}, {**DEFAULTS, **flags})
        self._ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await serve(self._settings, FakeClock(), self._stop, self._started, self.disk)

    async def _started(self, gateway: Gateway) -> None:
        self.base_url = gateway.base_url
        self._ready.set()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(WAIT_SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()
        self.session.close()

    @contextmanager
    def watching(self, outside: socket.socket) -> Iterator[None]:
        """Looks, before each sync returns and after many turns of the loop, whether a socket is readable."""
        looking = threading.Lock()  # so that nobody looks at a socket that has been closed

        async def turns() -> None:
            for _ in range(TURNS):
                await asyncio.sleep(0)

        def look() -> None:
            with looking:
                if self.disk.at_sync is look:
                    asyncio.run_coroutine_threadsafe(turns(), self._loop).result(WAIT_SECONDS)
                    self.seen.append(bool(select.select([outside], [], [], 0)[0]))

        self.disk.at_sync = look
        try:
            yield
        finally:
            with looking:
                self.disk.at_sync = lambda: None

    def raw_request(self, method: str, path: str, authorization: str, body: object) -> bytes:
        content = json.dumps(body)
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: gateway",
            f"Authorization: {authorization}",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*lines, "", content]).encode()

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        host, port = self.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS) as connection:
            yield connection


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedGateway]:
    gateway = WatchedGateway(tmp_path / "data")
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.mark.parametrize("request_of", ["stats", "vote", "key"])
def test_no_byte_of_a_reply_leaves_before_its_sync_has_returned(
    watched: WatchedGateway, request_of: str
) -> None:
    key = watched.list_bot()
    operator = f"Bearer {OPERATOR_TOKEN}"
    request, status = {
        "stats": (watched.raw_request("PATCH", f"/bots/{BOT}/stats", key, {"server_count": 999}), b" 200 "),
        "vote": (
            watched.raw_request("POST", f"/manage/bots/{BOT}/votes", operator, {"user": USER}),
            b" 201 ",
        ),
        "key": (watched.raw_request("POST", f"/manage/bots/{BOT}/keys", operator, {"name": "x"}), b" 201 "),
    }[request_of]
    with watched.connection() as client, watched.watching(client):
        client.sendall(request)
        answer = client.recv(65_536)
        assert watched.seen[:1] == [False]
        assert answer.startswith(b"HTTP/1.1" + status)


def test_no_webhook_leaves_before_the_sync_of_its_vote_has_returned(watched: WatchedGateway) -> None:
    watched.list_bot()
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        receiver.settimeout(WAIT_SECONDS)
        url = f"http://127.0.0.1:{receiver.getsockname()[1]}/"
        watched.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": url})
        with watched.watching(receiver):
            watched.cast()
            assert watched.seen[:1] == [False]
            connection, _ = receiver.accept()
            with connection:
                assert connection.recv(65_536).startswith(b"POST / HTTP/1.1\r\n")
                connection.sendall(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
