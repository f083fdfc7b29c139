"""The feed of votes at two nodes: each tells the votes of both, once, and those that are removed."""

from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.fleet_processes import Edge, fleet_of
from tests.support.gateways import BOT, eventually
from tests.support.redis_server import RedisServer

FIRST = 7 * 10**17


class Reader:
    """Reads the feed of a node from its beginning on."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.lines: list[Any] = []
        self.cursor: str | None = None
        self.read()

    def read(self) -> list[Any]:
        while True:
            after = f"?after={self.cursor}" if self.cursor is not None else ""
            page = self.edge.done("GET", f"/manage/votes{after}")
            self.lines += page["votes"]
            self.cursor = page["next"]
            if not page["more"]:
                return self.lines

    def votes(self) -> dict[str, int]:
        """Return the votes of a site that follows the feed. A node that has taken another's table sends the
        present counts again."""
        lines = [line for line in self.read() if line["type"] in {"vote", "standing"}]
        told = Counter((line["user"], line["vote"]) for line in lines if line["type"] == "vote")
        assert all(times == 1 for times in told.values())
        return {line["user"]: line["vote"] for line in lines}


def test_both_nodes_tell_the_votes_of_both_once_and_those_that_are_removed(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    try:
        server.start()
        with fleet_of(tmp_path, server.url) as fleet:
            here, there = fleet.edge("rome"), fleet.edge("oslo")
            here.list_bot()
            fleet.converge(here, there)
            readers = [Reader(here), Reader(there)]
            for number in range(20):
                (here, there)[number % 2].cast(str(FIRST + number))
            server.flush()  # every node tells again what Redis has forgotten
            for number in range(20, 40):
                (here, there)[number % 2].cast(str(FIRST + number))
            fleet.converge(here, there)

            told = {str(FIRST + number): 1 for number in range(40)}
            for reader in readers:
                eventually(lambda: reader.votes() == told)  # noqa: B023 (what is on disk, behind the state)

            gone = [str(FIRST), str(FIRST + 1)]
            here.done("POST", f"/manage/bots/{BOT}/votes/strike", {"users": gone, "reason": "bought"})
            for reader in readers:
                eventually(lambda: reader.read()[-1]["type"] == "struck")  # noqa: B023 (it ends in here)
                removed = [(line["id"], line["user"]) for line in reader.lines if line["type"] == "struck"]
                assert removed == [(BOT, user) for user in gone]
    finally:
        server.close()
