"""Stores of the events that have come, so that each is rewarded once.

The same event may come again: because an answer was lost, or because somebody sent it again from the delivery
log. Events wait in a gateway for 14 days at most, so a store keeps an id for 15.
"""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from votegate_client.clock import Clock, SystemClock

KEPT_SECONDS = 15 * 24 * 60 * 60
BUSY_SECONDS = 4  # how long another process may hold the file: a gateway waits for 5 seconds
SCHEMA = """
CREATE TABLE IF NOT EXISTS votegate_events (id TEXT PRIMARY KEY, claimed_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS votegate_events_by_time ON votegate_events (claimed_at);
"""


class Store(Protocol):
    """A store of your own has this one method, as `def` or `async def`. A `def` runs in a thread.

    Use a unique column: `INSERT ... ON CONFLICT DO NOTHING`, and look at the number of new rows.
    """

    def claim(self, event_id: str, /) -> bool | Awaitable[bool]:
        """Return true the first time that an id comes, and false each time after it.

        If two calls with one id come at the same time, exactly one gets true.
        """
        ...


class MemoryStore:
    """Ids in memory, for tests and for rewards that are also only in memory. A restart forgets them."""

    def __init__(self, *, most_ids: int = 1_000_000, clock: Clock | None = None) -> None:
        """Make an empty store.

        Args:
            most_ids: if more come within 15 days, the oldest are forgotten.
        """
        self._most_ids = most_ids
        self._clock = clock or SystemClock()
        self._claimed: dict[str, float] = {}
        """The time of each id, oldest first."""
        self._lock = threading.Lock()

    async def claim(self, event_id: str, /) -> bool:
        """Return true the first time that an id comes."""
        now = self._clock.monotonic()
        with self._lock:
            if event_id in self._claimed:
                return False
            self._claimed[event_id] = now
            while len(self._claimed) > self._most_ids or self._oldest() < now - KEPT_SECONDS:
                del self._claimed[next(iter(self._claimed))]
        return True

    def _oldest(self) -> float:
        return next(iter(self._claimed.values()))


class SQLiteStore:
    """Ids in a file, which survive a restart. Several processes can share it.

    It may be the database of the bot: the only table that it touches is `votegate_events`.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock | None = None) -> None:
        """Name the file. It is made when the first event comes."""
        self._path = path
        self._clock = clock or SystemClock()
        self._connection: sqlite3.Connection | None = None
        self._began = 0.0
        """Unix time minus monotonic time at the opening: the age of ids does not depend on clock jumps."""
        self._thread = ThreadPoolExecutor(1, "votegate-sqlite")
        """The only thread that uses the connection. A slow disk blocks this thread, not the bot."""

    async def claim(self, event_id: str, /) -> bool:
        """Return true the first time that an id comes, once it is on the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._claim, event_id)

    def close(self) -> None:
        """Close the file."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _claim(self, event_id: str) -> bool:
        if self._connection is None:
            self._connection = self._connected()
        now = int(self._began + self._clock.monotonic())
        with self._connection as transaction:
            # No id gets an earlier time than the ids before it: the clock may have been ahead before a start.
            [[now]] = transaction.execute(
                "SELECT max(coalesce(max(claimed_at), 0), ?) FROM votegate_events", (now,)
            )
            added = transaction.execute(
                "INSERT OR IGNORE INTO votegate_events VALUES (?, ?)", (event_id, now)
            )
            transaction.execute("DELETE FROM votegate_events WHERE claimed_at < ?", (now - KEPT_SECONDS,))
        return added.rowcount == 1

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS)
        try:
            connection.executescript(SCHEMA)
        except BaseException:
            connection.close()
            raise
        self._began = self._clock.time() - self._clock.monotonic()
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
