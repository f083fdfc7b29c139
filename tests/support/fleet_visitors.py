"""Callers of a fleet that keep calling, and remember the votes that were acknowledged.

Every call must be answered with success: a 5xx, or no answer, fails the test.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.gateways import BOT, Client, eventually
from tests.support.redis_server import RedisServer

BOT_PATH = f"/manage/bots/{BOT}"
ACTUAL_COUNT = 1_000
CHECKED_AT_ONCE = 1_000
UNLIMITED = {
    "VOTEGATE_LIMITS__STATS__REQUESTS": "1000000",
    "VOTEGATE_LIMITS__VOTERS__REQUESTS": "1000000",
}
CLAIM_SECONDS = 0.5
PATIENT = {"VOTEGATE_REDIS__CLAIM_TIMEOUT_SECONDS": str(CLAIM_SECONDS)}
"""Votes wait longer for a claim than a busy machine needs."""
LOOPS = {
    "registry": "hearing of other nodes",
    "publishing": "telling other nodes",
    "following": "reading other nodes",
    "usage": "telling what limits allow",
}
"""Loops of a node that use Redis, with their names in the log."""


class Visitors:
    """Callers of a bot's API. Each vote is of a new user, from `first_user` on."""

    def __init__(self, fleet: FleetOfEdges, key: str, first_user: int = 700_000_000_000_000_000) -> None:
        self.fleet = fleet
        self.key = key
        self.answered = 0
        self.voted: list[str] = []
        """Users whose votes were acknowledged."""
        self._first_user = first_user

    @property
    def next_user(self) -> str:
        """Return the user who votes next."""
        return str(self._first_user + len(self.voted))

    def vote(self, edge: Client) -> str:
        user = self.next_user
        edge.cast(user)
        self.voted.append(user)
        self.answered += 1
        return user

    def visit(self, edge: Client) -> None:
        """Make each kind of call once."""
        user = self.vote(edge)
        calls = [
            edge.voters(self.key, user=user),
            edge.voters(self.key, user=self.voted[0]),
            edge.stats(self.key, {"server_count": ACTUAL_COUNT + len(self.voted) % 50}),
            edge.operate("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": ACTUAL_COUNT}),
            edge.operate("POST", f"{BOT_PATH}/votes/check", {"users": [user]}),
            edge.operate("GET", BOT_PATH),
            edge.request("GET", "/readyz"),
        ]
        assert [call.status_code for call in calls] == [200] * len(calls)
        assert calls[0].json()["voted"] is True
        self.answered += len(calls)

    def visiting_until(self, condition: Callable[[], bool], *edges: Client) -> None:
        """Visit all nodes until the condition is true, and then once more."""

        def visited() -> bool:
            for edge in edges:
                self.visit(edge)
            return condition()

        eventually(visited)
        for edge in edges:
            self.visit(edge)

    def all_known(self, *edges: Edge) -> None:
        """Wait until the nodes have the same content. It must have every acknowledged vote."""
        self.fleet.converge(*edges)
        for edge in edges:
            assert unknown(edge, self.voted) == []


class Place(NamedTuple):
    """A fleet with its visitors, its Redis, and the proxy between them."""

    server: RedisServer
    proxy: CuttingProxy
    visitors: Visitors

    @property
    def nodes(self) -> list[Edge]:
        return self.visitors.fleet.edges


def unknown(edge: Client, users: list[str]) -> list[str]:
    """Return the users whose votes the node does not know."""
    found = []
    for start in range(0, len(users), CHECKED_AT_ONCE):
        some = {"users": users[start : start + CHECKED_AT_ONCE]}
        found += edge.done("POST", f"{BOT_PATH}/votes/check", some)["votes"]
    return [vote["user"] for vote in found if not vote["voted"]]


def failing(edge: Edge) -> set[str]:
    """Return the loops of a node that fail at the moment."""
    return set(edge.replication["failing"])


def told(log: str, loop: str) -> tuple[int, int]:
    """Count the lines of a node's log that say that a loop fails, and that it works again."""
    return log.count(f"Redis: {LOOPS[loop]} fails"), log.count(f"Redis: {LOOPS[loop]} works again")


def with_secrets_of(edge: Edge, folder: Path, *secrets: str) -> Path:
    """Empty a data folder, and copy some of the fleet's secrets into it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for secret in secrets:
        shutil.copy(edge.folder / secret, folder)
    return folder


def _is_ready(edge: Edge) -> bool:
    return edge.request("GET", "/readyz").status_code == 200


@contextmanager
def wired(folder: Path, *arguments: str) -> Iterator[Place]:
    """Run two nodes that know each other and a bot, with a proxy to Redis that can be cut."""
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", *arguments)
    try:
        server.start()
        with CuttingProxy(server.port) as proxy, fleet_of(folder, proxy.url) as fleet:
            first, second = (fleet.edge(name, **UNLIMITED, **PATIENT) for name in ("rome", "oslo"))
            visitors = Visitors(fleet, first.list_bot(actual=ACTUAL_COUNT))
            visitors.vote(first)
            eventually(lambda: second.operate("GET", BOT_PATH).json().get("state") == "approved")
            visitors.vote(second)
            visitors.all_known(first, second)
            for edge in fleet.edges:
                eventually(partial(_is_ready, edge))
            yield Place(server, proxy, visitors)
    finally:
        server.close()
