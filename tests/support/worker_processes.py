"""`serve --workers N` as a program over a real Redis, and clients that must not notice its restarts."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.gateways import BOT, OPERATOR_TOKEN, USER, WAIT_SECONDS, ProcessGateway, eventually
from tests.support.redis_server import RedisServer

READY = re.compile(r"worker (\d+) is ready")


class Workers(ProcessGateway):
    """The supervisor and its workers, not started yet."""

    def __init__(self, folder: Path, url: str, workers: int = 2, **environment: str) -> None:
        super().__init__(
            folder,
            **{
                "VOTEGATE_REDIS__URL": url,
                "VOTEGATE_REDIS__NODE": "node",
                "VOTEGATE_REDIS__BEAT_SECONDS": "0.1",
                "VOTEGATE_SERVER__ACCESS_LOG": "off",
                "VOTEGATE_SERVER__WORKERS": str(workers),
                "VOTEGATE_WEBHOOKS__ALLOW_HTTP": "true",
                **environment,
            },
        )
        self.workers = workers

    def start(self, *arguments: str) -> "Workers":
        """Return when all workers are ready."""
        super().start(*arguments)
        self.until_ready(1)
        return self

    def until_ready(self, times: int) -> None:
        """Wait until each worker has said so many times that it is ready."""

        def are_ready() -> bool:
            assert self.process.poll() is None, self.log
            said = Counter(READY.findall(self.log))
            return len(said) == self.workers and min(said.values()) >= times

        eventually(are_ready)

    @property
    def pids(self) -> list[int]:
        """The processes of the workers, in the order of their starts."""
        pid = self.process.pid
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def pid_of(self, worker: int) -> int | None:
        """Return the process of a worker, once it serves."""
        found: int | None = self.done("GET", "/debug/overview.json")["workers"][worker - 1]["pid"]
        return found

    def end(self) -> None:
        """Kill everything that is left."""
        if not hasattr(self, "process"):
            return
        left = self.pids if self.process.poll() is None else []
        self.close()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def workers_of(
    folder: Path, redis: RedisServer, workers: int = 2, limit: int = 100, **environment: str
) -> Iterator[Workers]:
    """Workers that are ready."""
    own = {"VOTEGATE_LIMITS__VOTERS__REQUESTS": str(limit)}
    gateway = Workers(folder / "data", redis.url, workers, **own, **environment)
    try:
        yield gateway.start()
    finally:
        gateway.end()


_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Load:
    """Clients that keep their connections, clients with a new one for each request, and voters.

    None sends a request a second time, so each lost one is counted; a client that `goes_on` then takes a new
    connection. A client that keeps its connection checks before it sends that it is still open.
    """

    def __init__(self, url: str, key: str, *, kept: int = 8, new: int = 4, goes_on: bool = False) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._address = host, int(port)
        self._check = _request("GET", f"/bots/{BOT}/voters/{USER}", key)
        self._goes_on = goes_on
        self.clients = kept + new + 1
        self._clients = [self._keeping() for _ in range(kept)] + [self._coming() for _ in range(new)]
        self._users = itertools.count(10**17)
        self.answered = 0
        self.lost: list[str] = []
        self.voted: list[str] = []
        """The users whose votes were acknowledged."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(WAIT_SECONDS)

    def ask_on(self, more: int = 200) -> None:
        """Return when there are many more answers."""
        goal = self.answered + more
        eventually(lambda: self.lost or self.answered > goal)
        assert self.lost == [], self.lost

    async def _run(self) -> None:
        await asyncio.gather(*self._clients, self._voting())

    async def _keeping(self) -> None:
        connection: _Connection | None = None
        while not self._stop.is_set():
            if connection is not None and connection[0].at_eof():
                connection[1].close()
                connection = None
            connection = await self._once(connection, self._check, "kept")
            if connection is None and not self._may_go_on:
                return
        if connection is not None:
            connection[1].close()

    async def _coming(self) -> None:
        while not self._stop.is_set() and self._may_go_on:
            connection = await self._once(None, self._check, "new")
            if connection is not None:
                connection[1].close()

    async def _voting(self) -> None:
        while not self._stop.is_set() and self._may_go_on:
            user = str(next(self._users))
            vote = _request("POST", f"/manage/bots/{BOT}/votes", f"Bearer {OPERATOR_TOKEN}", {"user": user})
            connection = await self._once(None, vote, user)
            if connection is not None:
                connection[1].close()
            if not any(user in each for each in self.lost):
                self.voted.append(user)
            await asyncio.sleep(0.02)

    @property
    def _may_go_on(self) -> bool:
        return self._goes_on or not self.lost

    async def _once(self, connection: _Connection | None, data: bytes, name: str) -> _Connection | None:
        """Ask once. Return the connection, if it is still open. A loss is noted by the name."""
        try:
            connection = connection or await asyncio.open_connection(*self._address)
            if not await self._ask(connection, data):
                return connection
        except (OSError, EOFError, ValueError) as error:
            self.lost.append(f"{name}: {error!r}")
        if connection is not None:
            connection[1].close()
        return None

    async def _ask(self, connection: _Connection, data: bytes) -> bool:
        """Ask, and read the answer. Return true if it is the last one of its connection."""
        reader, writer = connection
        writer.write(data)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if " 200 " not in head[:20] and " 201 " not in head[:20]:
            raise ValueError(f"{head} {body!r}")
        self.answered += 1
        return "connection: close" in head


def _request(method: str, path: str, authorization: str, body: Any = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode() + content


def users_of(received: Sequence[Any]) -> Counter[str]:
    """Return how often a webhook about a vote of each user came."""
    found: Counter[str] = Counter()
    for each in received:
        with contextlib.suppress(KeyError, ValueError):
            found[str(json.loads(each.body)["user"])] += 1
    return found
