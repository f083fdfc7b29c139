"""The day on which a key was last used, at whatever node."""

from pathlib import Path

from tests.support.fleet_threads import NOW_MS, ThreadNode, threads_of
from tests.support.gateways import BOT
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import HOUR_MS

DAY_MS = 24 * HOUR_MS


def last_used(node: ThreadNode) -> str | None:
    used: str | None = node.done("GET", f"/manage/bots/{BOT}/keys")["keys"][0]["last_used"]
    return used


def test_the_latest_day_is_known_at_all_nodes(tmp_path: Path, redis_server: RedisServer) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.node("a", NOW_MS), fleet.node("b", NOW_MS + DAY_MS)
        key = a.list_bot()
        fleet.converge()
        for node in (b, a):
            assert node.voters(key).status_code == 200
            node.restart()  # what was used in its last minute is written then
            fleet.converge()
            assert (last_used(a), last_used(b)) == ("2025-06-16", "2025-06-16")
