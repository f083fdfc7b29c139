"""Taking snapshots while the gateway serves. Law: never fork, never hold the loop, never outrun the journal.

Rows are frozen, so their tables are copied as pointers in one go: that part is exact at the start position.
Votes are copied listing by listing while more of them arrive; votes newer than the start position may be in
the file, and replaying the journal over them changes nothing, because events carry results. The file counts
only after everything it may hold is durable in the journal.
"""

import asyncio
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Delivery, Listing
from core.state import State
from journal.folder import sync_folder
from journal.journal import Journal
from journal.segments import delete_behind, sync_newest
from snapshot.files import (
    PREFIX,
    TMP_SUFFIX,
    Chunk,
    Deliveries,
    End,
    Header,
    Listings,
    SnapshotFile,
    VoteColumns,
    list_snapshots,
    snapshot_path,
)

log = logging.getLogger(__name__)

ROWS_PER_CHUNK = 64


class SnapshotTaken(NamedTuple):
    position: int
    bytes: int
    seconds: float


class Snapshotter:
    def __init__(
        self,
        folder: Path,
        ledger: Ledger,
        journal: Journal,
        clock: Clock,
        interval_seconds: float,
        position: int,
    ) -> None:
        """`position` is that of the snapshot which was recovered from, 0 without one."""
        self.position = position
        self._folder = folder
        self._ledger = ledger
        self._journal = journal
        self._clock = clock
        self._interval_seconds = interval_seconds
        self.lock = asyncio.Lock()  # held while files of the folder come and go

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
            await self.step()

    async def step(self) -> None:
        """Takes a snapshot if there is anything new; a full disk is logged, and tried again next time."""
        if self._ledger.head == self.position:
            return
        try:
            taken = await self.take()
        except (OSError, Unavailable) as error:
            log.error("no snapshot was taken: %s", error)
        else:
            log.info("snapshot of position %d, %d bytes, %.2f s", *taken)

    async def take(self) -> SnapshotTaken:
        """Writes a snapshot of the state as it is now. Raises OSError, Unavailable."""
        async with self.lock:
            started_ns = self._clock.monotonic_ns()
            state, position = self._ledger.state, self._ledger.head
            if position == self.position > 0:  # nothing new, and the one before it must stay
                return SnapshotTaken(position, snapshot_path(self._folder, position).stat().st_size, 0.0)
            chunks = _chunks(
                Header(position, self._clock.now_ms()),
                [state.listings[ref] for ref in state.refs],
                [*state.finished.values(), tuple(state.pending.values())],
                list(state.votes.refs()),
                state,
            )
            self._journal.rotate()
            size = await self._write(position, chunks)
            self.position = position
            seconds = (self._clock.monotonic_ns() - started_ns) / NS_PER_SECOND
            return SnapshotTaken(position, size, seconds)

    async def _write(self, position: int, chunks: Iterator[Chunk]) -> int:
        loop = asyncio.get_running_loop()
        path = snapshot_path(self._folder, position)
        tmp = path.with_name(path.name + TMP_SUFFIX)
        with ThreadPoolExecutor(1, "snapshot") as thread:
            try:
                descriptor = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                with os.fdopen(descriptor, "wb") as raw:
                    file = SnapshotFile(raw)
                    for chunk in chunks:
                        await loop.run_in_executor(thread, file.write, chunk)
                    await self._ledger.durable(self._ledger.head)
                    await loop.run_in_executor(thread, sync_newest, self._folder)
                    raw.flush()
                    await loop.run_in_executor(thread, os.fsync, raw.fileno())
                    size = raw.tell()
                tmp.rename(path)
                await loop.run_in_executor(thread, self._tidy)
            finally:
                tmp.unlink(missing_ok=True)
        return size

    def _tidy(self) -> None:
        """Keeps the new snapshot, the last good one before it, and the journal behind that one."""
        sync_folder(self._folder)  # the new one is there for good before anything older goes
        for position, path in list_snapshots(self._folder):
            if position < self.position:
                path.unlink()
        if self.position:
            delete_behind(self._folder, self.position)


def remove_unfinished(folder: Path) -> None:
    """Deletes what a snapshot cut off by a crash left behind."""
    for path in folder.glob(f"{PREFIX}*{TMP_SUFFIX}"):
        path.unlink()


def _chunks(
    header: Header,
    listings: list[Listing],
    deliveries: list[tuple[Delivery, ...]],
    voted: list[str],
    state: State,
) -> Iterator[Chunk]:
    yield header
    rows = len(listings) + sum(map(len, deliveries))
    for start in range(0, len(listings), ROWS_PER_CHUNK):
        yield Listings(listings[start : start + ROWS_PER_CHUNK])
    flat = chain.from_iterable(deliveries)
    while few := list(islice(flat, ROWS_PER_CHUNK)):
        yield Deliveries(few)
    votes = _vote_columns(voted, state)
    while some := list(islice(votes, ROWS_PER_CHUNK)):
        rows += len(some)
        yield VoteColumns(some)
    yield End(rows)


def _vote_columns(refs: list[str], state: State) -> Iterator[tuple[str, bytes, bytes]]:
    for ref in refs:
        users, packed = state.votes.columns(ref)
        if users:
            yield ref, users, packed
