"""Stores of the events that have come."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from votegate_client import MemoryStore, SQLiteStore
from votegate_client.stores import KEPT_SECONDS
from votegate_client.testing import FakeClock

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["memory", "sqlite"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, fake_clock: FakeClock
) -> Iterator[MemoryStore | SQLiteStore]:
    if request.param == "memory":
        yield MemoryStore(clock=fake_clock)
        return
    opened = SQLiteStore(tmp_path / "votes.db", clock=fake_clock)
    yield opened
    opened.close()


def claimed(store: MemoryStore | SQLiteStore, *ids: str) -> list[bool]:
    async def claiming() -> list[bool]:
        return [await store.claim(each) for each in ids]

    return asyncio.run(claiming())


def test_an_id_is_new_once(store: MemoryStore | SQLiteStore) -> None:
    assert claimed(store, "a", "b", "a", "b") == [True, True, False, False]


def test_of_claims_at_the_same_time_one_is_the_first(store: MemoryStore | SQLiteStore) -> None:
    async def claiming() -> list[bool]:
        return await asyncio.gather(*(store.claim("a") for _ in range(50)))

    assert sum(asyncio.run(claiming())) == 1


def test_of_claims_in_several_loops_one_is_the_first(store: MemoryStore | SQLiteStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        first = list(threads.map(lambda _: claimed(store, "a", "b"), range(8)))
    assert [sum(each) for each in zip(*first, strict=True)] == [1, 1]


def test_an_id_is_kept_for_fifteen_days(store: MemoryStore | SQLiteStore, fake_clock: FakeClock) -> None:
    assert claimed(store, "a") == [True]
    fake_clock.advance(KEPT_SECONDS)
    assert claimed(store, "a", "b") == [False, True]
    fake_clock.advance(1)
    assert claimed(store, "c", "a", "b") == [True, True, False]


class JumpingClock(FakeClock):
    """A clock whose wall time somebody sets."""

    jump = 0.0

    def time(self) -> float:
        return super().time() + self.jump


@pytest.mark.parametrize("jump", [-20 * KEPT_SECONDS, 20 * KEPT_SECONDS])
def test_a_clock_that_is_set_lets_no_repeat_through(tmp_path: Path, jump: float) -> None:
    clock = JumpingClock()
    store = SQLiteStore(tmp_path / "votes.db", clock=clock)
    assert claimed(store, "a") == [True]
    clock.jump = jump
    assert claimed(store, "a", "b") == [False, True]
    clock.jump = 0
    assert claimed(store, "a", "b", "c") == [False, False, True]
    store.close()


def test_a_clock_that_was_ahead_before_a_restart_lets_no_repeat_through(tmp_path: Path) -> None:
    clock = JumpingClock()
    for jump, expected in ((20 * KEPT_SECONDS, [True, True]), (0, [False, False])):
        clock.jump = jump
        store = SQLiteStore(tmp_path / "votes.db", clock=clock)
        assert claimed(store, "a", "b") == expected
        assert claimed(store, f"new at {jump}") == [True]
        store.close()
    clock.jump = 20 * KEPT_SECONDS  # it is right after all
    store = SQLiteStore(tmp_path / "votes.db", clock=clock)
    assert claimed(store, "new at 0") == [False]
    store.close()


def test_memory_forgets_the_oldest_of_too_many_ids() -> None:
    assert claimed(MemoryStore(most_ids=2), *"abcba") == [True, True, True, False, True]


def test_a_file_remembers_ids_over_a_restart(tmp_path: Path) -> None:
    for expected in (True, False):
        store = SQLiteStore(tmp_path / "votes.db")
        assert claimed(store, "a") == [expected]
        store.close()


def test_a_file_remembers_ids_of_a_process_that_was_killed(tmp_path: Path) -> None:
    program = """
import asyncio, os, sys
from votegate_client import SQLiteStore
asyncio.run(SQLiteStore(sys.argv[1]).claim("a"))
os._exit(1)
"""
    subprocess.run(
        [sys.executable, "-c", program, tmp_path / "votes.db"],
        check=False,
        env={"PYTHONPATH": str(ROOT / "clients/python")},
    )
    store = SQLiteStore(tmp_path / "votes.db")
    assert claimed(store, "a", "b") == [False, True]
    store.close()


def test_two_stores_share_one_file(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "votes.db") for _ in range(2)]
    ids = [str(number) for number in range(100)]
    with ThreadPoolExecutor(2) as threads:
        first = list(threads.map(lambda store: claimed(store, *ids), stores))
    assert [sum(each) for each in zip(*first, strict=True)] == [1] * len(ids)
    for store in stores:
        store.close()


def test_the_file_may_be_the_database_of_the_bot(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "bot.db")) as bot, bot:
        bot.execute("CREATE TABLE rewards (user TEXT)")
        bot.execute("INSERT INTO rewards VALUES ('3')")
    store = SQLiteStore(tmp_path / "bot.db")
    assert claimed(store, "a") == [True]
    store.close()
    with closing(sqlite3.connect(tmp_path / "bot.db")) as bot:
        assert bot.execute("SELECT user FROM rewards").fetchall() == [("3",)]
        assert bot.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_folder_that_is_missing_is_an_error_of_each_claim(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "missing" / "votes.db")
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            claimed(store, "a")
    (tmp_path / "missing").mkdir()
    assert claimed(store, "a") == [True]
    store.close()
