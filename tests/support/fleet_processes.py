"""Gateways of one fleet, each a process of its own, over a real Redis."""

import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from storage.folder import DIGEST_SECRET, KEYS
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import BOT, eventually

SHARED_SECRETS = (KEYS, DIGEST_SECRET)
BEAT_SECONDS = 0.1


class Edge(ForkedGateway):
    """A node of a fleet, not started yet. Its folder has the secrets of the fleet."""

    def __init__(self, folder: Path, name: str, url: str, **environment: str) -> None:
        super().__init__(
            folder,
            **{
                "VOTEGATE_REDIS__URL": url,
                "VOTEGATE_REDIS__NODE": name,
                "VOTEGATE_REDIS__BEAT_SECONDS": str(BEAT_SECONDS),
                "VOTEGATE_REDIS__USAGE_SECONDS": "0.05",
                "VOTEGATE_SERVER__ACCESS_LOG": "off",
                **environment,
            },
        )
        self.name = name

    @property
    def replication(self) -> Any:
        return self.done("GET", "/debug/overview.json")["replication"]

    @property
    def fleet_digest(self) -> Any:
        return self.done("GET", "/debug/data.json")["fleet_digest"]

    def stop(self) -> None:
        """Stop it as an operator does. It has sent everything to the other nodes then."""
        self.session.close()  # otherwise it would wait for this connection
        assert self.signal(signal.SIGTERM) == 0

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def votes_of(self, users: Sequence[str], bot: str = BOT) -> list[int]:
        """Return the vote counts of these users, as far as this node knows."""
        checked = self.done("POST", f"/manage/bots/{bot}/votes/check", {"users": users})["votes"]
        return [vote["vote"] for vote in checked]


class FleetOfEdges:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.edges: list[Edge] = []

    def edge(self, name: str, url: str | None = None, **environment: str) -> Edge:
        """A node, started. The first one makes the secrets of all."""
        folder = self.folder / name
        if self.edges and not folder.exists():
            folder.mkdir(parents=True)
            for secret in SHARED_SECRETS:
                shutil.copy(self.edges[0].folder / secret, folder)
        edge = Edge(folder, name, url or self.url, **environment)
        self.edges.append(edge)
        edge.start()
        return edge

    def converge(self, *edges: Edge) -> str:
        """Waits until all of them have the same content, and returns its digest."""

        def same() -> str:
            digests = {edge.fleet_digest for edge in edges}
            return digests.pop() if len(digests) == 1 else ""

        return eventually(same)

    def close(self) -> None:
        for edge in self.edges:
            if hasattr(edge, "process"):
                edge.close()


@contextmanager
def fleet_of(folder: Path, url: str) -> Iterator[FleetOfEdges]:
    fleet = FleetOfEdges(folder, url)
    try:
        yield fleet
    finally:
        fleet.close()
