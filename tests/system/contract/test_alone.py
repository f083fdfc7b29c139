"""A gateway without `redis.url` is in no fleet: no part of one runs, and no fact of one is on disk."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import CoroutineType
from typing import Any

import pytest

from storage.folder import kept_keys
from tests.support.contract import BOT_PATH, set_webhook
from tests.support.cutting_proxy import HOST, held_port
from tests.support.gateways import BOT, OTHER_USER, ROOT, USER, ThreadGateway, running
from tests.support.journals import records_of

REPLICATION = str(ROOT / "replication")
OF_A_FLEET = {"stamp_ms", "pseudonym", "label", "node", "author"}
"""Fields that events have only in a fleet."""


@pytest.fixture
def member(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway in a fleet whose Redis is not there."""
    with held_port() as held:
        url = f"redis://{HOST}:{held.getsockname()[1]}/0"
        with running(tmp_path / "member", **{"redis.url": url, "redis.node": "a"}) as gateway:
            yield gateway


def do_everything(gateway: ThreadGateway) -> None:
    """Make a change of each kind that a fleet puts in order."""
    key = gateway.list_bot()
    gateway.list_server()
    assert gateway.stats(key, {"server_count": 1_000}).status_code == 200
    for user in (USER, OTHER_USER):
        gateway.cast(user)
    set_webhook(gateway, f"http://{HOST}:9/")  # after the votes: no attempt is in the journal
    gateway.done("DELETE", f"/manage/users/{USER}")
    gateway.done("DELETE", BOT_PATH)


def at_work(gateway: ThreadGateway) -> list[str]:
    """Return the running coroutines of `replication/`."""

    def coroutines() -> list[str]:
        return [
            each.__qualname__
            for each in (task.get_coro() for task in asyncio.all_tasks())
            if isinstance(each, CoroutineType) and each.cr_code.co_filename.startswith(REPLICATION)
        ]

    return gateway.on_loop(coroutines)


def events_of(gateway: ThreadGateway) -> list[dict[str, Any]]:
    """Stop the gateway. Return the events of its journal."""
    gateway.stop()
    keys = kept_keys(gateway.folder, needed=True)
    return [event for record in records_of(gateway.folder, keys=keys) for event in json.loads(record)]


def test_no_part_of_a_fleet_runs_or_is_shown(gateway: ThreadGateway, member: ThreadGateway) -> None:
    assert at_work(gateway) == []
    assert gateway.done("GET", "/debug/overview.json")["replication"] is None
    assert "Node.run" in at_work(member)
    assert member.done("GET", "/debug/overview.json")["replication"]["holds_name"] is False


def test_the_journal_has_no_field_of_a_fleet(gateway: ThreadGateway, member: ThreadGateway) -> None:
    for each in (gateway, member):
        do_everything(each)
    alone, in_a_fleet = events_of(gateway), events_of(member)

    assert in_a_fleet[0]["type"].startswith("node_named")
    assert {name for event in in_a_fleet for name in event} & OF_A_FLEET >= {"stamp_ms", "pseudonym"}
    assert not {name for event in alone for name in event} & OF_A_FLEET
    assert [event["type"] for event in alone] == [event["type"] for event in in_a_fleet[1:]]
    for event in alone:
        if event["type"].startswith("vote_cast"):
            assert event.keys() == {"type", "ref", "user", "count", "at_ms", "of_day", "of_month"}
            assert event["ref"].endswith(BOT)
