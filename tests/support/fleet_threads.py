"""Nodes of a fleet in threads of this process, each with a clock of its own that a test moves."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.fake_clock import FakeClock
from tests.support.fleet_processes import SHARED_SECRETS
from tests.support.gateways import ThreadGateway, eventually

NOW_MS = FakeClock().now_ms()


class ThreadNode(ThreadGateway):
    """A node, not started yet."""

    def __init__(self, folder: Path, name: str, url: str, now_ms: int = NOW_MS, **settings: object) -> None:
        quick = {"redis.beat_seconds": 0.05, "redis.usage_seconds": 0.05}
        patient = {"redis.claim_timeout_seconds": 5}  # a busy machine never needs that long for a claim
        own = {"redis.url": url, "redis.node": name, **quick, **patient}
        super().__init__(folder, **{**own, **settings})
        self.clock = FakeClock(now_ms)

    @property
    def replication(self) -> Any:
        return self.done("GET", "/debug/overview.json")["replication"]

    @property
    def fleet_digest(self) -> Any:
        return self.done("GET", "/debug/data.json")["fleet_digest"]


class ThreadFleet:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.nodes: list[ThreadNode] = []

    def node(self, name: str, now_ms: int = NOW_MS, settings: Mapping[str, object] = {}) -> ThreadNode:
        """A node, started. The first one makes the secrets of all."""
        path = self.folder / name
        if self.nodes and not path.exists():
            path.mkdir(parents=True)
            for secret in SHARED_SECRETS:
                shutil.copy(self.nodes[0].folder / secret, path)
        node = ThreadNode(path, name, self.url, now_ms, **settings)
        self.nodes.append(node)
        node.start()
        return node

    def advance(self, seconds: float) -> None:
        """Let time pass at all nodes."""
        for node in self.nodes:
            node.advance(seconds)

    def converge(self, *nodes: ThreadNode) -> None:
        """Waits until all of them have the same content."""
        eventually(lambda: len({node.fleet_digest for node in nodes or self.nodes}) == 1)


@contextmanager
def threads_of(folder: Path, url: str) -> Iterator[ThreadFleet]:
    fleet = ThreadFleet(folder, url)
    try:
        yield fleet
    finally:
        for node in fleet.nodes:
            node.stop()
