"""replication/warnings.py: the log tells of a Redis that may evict keys."""

import logging
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from replication.warnings import LOOK_BEATS, Eviction, Warnings
from tests.support.coroutines import run
from tests.support.reading_node import link_to
from tests.support.redis_server import RedisServer
from tests.support.warned import warned


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[RedisServer]:
    """One that drops what was used least when its memory is full; a user of it may not ask for that."""
    rules = ("--user", "edge", "on", ">secret", "~*", "+@all", "-info")
    server = RedisServer(tmp_path, "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru", *rules)
    try:
        yield server.start()
    finally:
        server.close()


async def looked(url: str, warnings: Warnings, between: Callable[[], None] = lambda: None) -> None:
    """A node looks twice."""
    link = link_to(url)
    eviction = Eviction(link, warnings)
    async with aclosing(link.redis):
        await eviction.look()
        between()
        for _ in range(LOOK_BEATS):
            await eviction.look()


def test_a_redis_that_drops_data_is_told_until_it_drops_none(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    warnings = Warnings()
    run(looked(capped.url, warnings))
    (told,) = warned(caplog)
    assert told == (
        "Redis drops data when its 52428800 bytes of memory are full (maxmemory-policy allkeys-lru): users "
        "can vote twice then, and nodes take copies again and again; set it to noeviction"
    )
    run(looked(capped.url, warnings, lambda: capped.config("maxmemory-policy", "noeviction")))
    assert warned(caplog) == ["Redis drops no data any more when its memory is full"]
    assert not warnings.current


def test_a_redis_whose_memory_has_no_bound_drops_nothing(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    capped.config("maxmemory", 0)
    run(looked(capped.url, Warnings()))
    assert warned(caplog) == []


def test_a_user_of_redis_who_may_not_ask_asks_once(
    capped: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    warnings = Warnings()
    run(looked(capped.url.replace("//", "//edge:secret@"), warnings))
    assert [record.getMessage() for record in caplog.records] == [
        "Redis does not say its maxmemory-policy, for want of +info; it must be noeviction"
    ]
    assert not warnings.current
    with capped.client() as client:
        assert [entry["count"] for entry in client.acl_log()] == [1]
