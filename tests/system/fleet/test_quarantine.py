"""Quarantines, roles and other facts about people that one node sets hold at all nodes."""

from pathlib import Path

from tests.support.contract import BOT_PATH
from tests.support.fleet_threads import threads_of
from tests.support.gateways import USER
from tests.support.redis_server import RedisServer

ONE = f"/manage/users/{USER}"


def test_a_user_under_quarantine_at_one_node_cannot_vote_at_another(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with threads_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.node("a"), fleet.node("b")
        a.list_bot()
        a.done("PUT", f"{ONE}/quarantines/vote", {"reason": "Bought votes."})
        a.done("PUT", f"{ONE}/moderator")
        fleet.converge()

        assert b.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 403
        assert b.done("GET", ONE) == a.done("GET", ONE)

        b.done("DELETE", f"{ONE}/quarantines/vote")
        fleet.converge()
        assert a.cast()["vote"] == 1
