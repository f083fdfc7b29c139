"""Snapshots and backups while the gateway serves. Invariant: a snapshot never forks, holds the
loop, or contains what is not durable.

Most snapshots are parts: they hold what has changed since the one before (`snapshot/files.py`). A whole one
begins a new chain when the parts and the journal behind the last whole one would make a start slow, when it
is old, when a file needs an older sealing key, or when it is so small that parts are not worth it. The chain
before stays until the next one begins, and so does the journal behind it. So a start can do without a file
that is damaged.

The loop copies the state in small steps (`snapshot/state_copy.py`). A thread seals and writes the chunks and
syncs every few megabytes, so that the journal's own syncs never wait for many dirty pages. The file counts
only when everything that it may hold is durable in the journal.
"""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

from blobs.sealed_blobs import SealedBlobs
from core.changes import Changes
from core.clock import MS_PER_DAY, NS_PER_SECOND, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from journal.journal import Journal
from journal.segments import JournalReader, delete_behind, list_segments
from snapshot import files
from snapshot.inspection import needed_keys
from snapshot.state_copy import StateCopy
from storage.folder import Folder, FolderUnusable

log = logging.getLogger(__name__)

RECORDS_PER_CHUNK = 512
WHOLE_BELOW = 4 << 20
"""The bytes of a whole snapshot below which it has no parts."""
MOST_PARTS = 32
BEHIND_SHARE = 4
"""The part of a whole snapshot that its parts and the journal behind it may reach together: 1 / 4."""
WHOLE_EVERY_MS = MS_PER_DAY


class SnapshotWritten(NamedTuple):
    position: int
    bytes: int
    seconds: float


class Interval(NamedTuple):
    """The time between two snapshots, and the offset in it at which this process begins.

    Monotonic time is the same for all processes of a machine. So two workers, each with its own offset, never
    begin a snapshot together, however often a worker is restarted and however long a snapshot takes.
    """

    seconds: float
    offset_seconds: float = 0.0

    def wait_seconds(self, now_ns: int) -> float:
        """Return the seconds until the next snapshot; `now_ns` is monotonic."""
        return self.seconds - (now_ns / NS_PER_SECOND - self.offset_seconds) % self.seconds


class Snapshotter:
    def __init__(
        self,
        folder: Folder,
        ledger: Ledger,
        journal: Journal,
        clock: Clock,
        chain: files.Chain,
        interval: Interval,
        kept_bytes: int = 0,
    ) -> None:
        """`chain` is the one that recovery began from. `kept_bytes` of the journal are kept although no start
        needs them."""
        self.chain = chain
        """The newest chain."""
        self.last: SnapshotWritten | None = None
        """The newest snapshot or part of this process."""
        self.failures = 0
        self.failure: str | None = None
        """The reason why the newest attempt failed; None if it did not."""
        self._folder = folder
        self._ledger = ledger
        self._journal = journal
        self._clock = clock
        self._interval = interval
        self._kept_bytes = kept_bytes
        self._is_backing_up = False
        self._unneeded: set[bytes] = set()
        """The ids of sealing keys that no file needs any more and that were logged."""
        self.beside: list[Callable[[int], Awaitable[None]]] = []
        """They are called behind each new snapshot or part, with its position, while the lock is held."""
        self.lock = asyncio.Lock()  # held while files of the folder are added or deleted

    @property
    def position(self) -> int:
        """The position of the newest snapshot or part."""
        return self.chain.position

    @property
    def created_ms(self) -> int:
        """The wall time at which it was begun: it holds all that was durable then."""
        return self.chain.created_ms

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval.wait_seconds(self._clock.monotonic_ns()))
            await self.step()

    async def step(self) -> None:
        """Take a snapshot if anything is new. A full disk is logged, and the next step tries again."""
        if self._ledger.head == self.position:
            return
        try:
            await self.take()
        except (OSError, Unavailable) as error:
            self.failures += 1
            self.failure = str(error)
            log.error("no snapshot was taken: %s", error)

    async def take(self) -> SnapshotWritten:
        """Write a snapshot of the state as it is now, or of what has changed. Raises OSError, Unavailable."""
        async with self.lock:
            started_ns, started_ms = self._clock.monotonic_ns(), self._clock.now_ms()
            position = self._ledger.head
            if position == self.position > 0:  # nothing is new, and the snapshot before it must stay
                return SnapshotWritten(position, self.chain.last_bytes, 0.0)
            is_due = self._is_whole_due(started_ms)
            changes = self._ledger.state.take_changes() or _unknown_changes()
            written = None if is_due or changes.is_lost else changes
            try:
                with StateCopy(self._ledger.state, written, self.chain.salt) as copy:
                    self._journal.rotate()
                    self.chain = await self._write(position, started_ms, copy, is_part=written is not None)
            except BaseException:
                self._ledger.state.give_back(changes)
                raise
            size = self.chain.last_bytes
            seconds = (self._clock.monotonic_ns() - started_ns) / NS_PER_SECOND
            self.last, self.failure = SnapshotWritten(position, size, seconds), None
            log.info("snapshot of position %d, %d bytes, %.2f s", *self.last)
            for call in self.beside:
                await call(position)
            return self.last

    def _is_whole_due(self, now_ms: int) -> bool:
        """Return true if a part is not enough."""
        chain = self.chain
        if not chain.salt or chain.is_broken or chain.whole_bytes < WHOLE_BELOW or chain.parts >= MOST_PARTS:
            return True
        segments = [path for first, path in list_segments(self._folder.path) if first > chain.whole]
        behind = chain.part_bytes + sum(path.stat().st_size for path in segments)
        is_old = not 0 <= now_ms - chain.whole_ms < WHOLE_EVERY_MS
        return is_old or behind * BEHIND_SHARE >= chain.whole_bytes or self._has_older_keys()

    def _has_older_keys(self) -> bool:
        keys = self._folder.keys
        paths = [path for _, path in files.list_files(self._folder.path)] if len(keys.key_ids) > 1 else []
        try:
            return any(files.SnapshotReader(path).header.key_id != keys.newest for path in paths)
        except files.SnapshotCorrupt:
            return True

    async def _write(self, position: int, now_ms: int, copy: StateCopy, *, is_part: bool) -> files.Chain:
        path_of = files.part_path if is_part else files.snapshot_path
        path, loop = path_of(self._folder.path, position), asyncio.get_running_loop()
        file = files.SnapshotFile(self._folder.disk, path, self._encoder(position, now_ms))
        try:
            with ThreadPoolExecutor(1, "snapshot", give_way) as thread:
                for chunk in copy:
                    await loop.run_in_executor(thread, file.add, chunk)
                newest = self._ledger.head
                await self._journal.synced(newest)
                await loop.run_in_executor(thread, file.add, files.EndChunk(copy.rows, newest))
                await loop.run_in_executor(thread, file.finish)
                chain = (self.chain if is_part else files.NO_CHAIN).with_file(file)
                await loop.run_in_executor(thread, self._tidy, chain)
        except BaseException:
            if file.is_whole:  # no part continues the chain, because it cannot know whether this file stays
                self.chain = self.chain._replace(is_broken=True)
            raise
        finally:
            file.close()  # only when the thread has ended, because it may still be writing
        return chain

    def _tidy(self, chain: files.Chain) -> None:
        """Keep the new chain, the last good one before it, and the journal behind that one."""
        disk, before = self._folder.disk, self.chain
        disk.sync_folder(self._folder.path)  # the new file is durable before an older one is deleted
        found = files.list_files(self._folder.path)
        if chain.parts:
            older = max((position for position, _ in found if position < chain.whole), default=0)
        else:
            older = before.position
            for position, path in found:
                if position < chain.whole and not before.whole <= position <= before.position:
                    disk.unlink(path)
        if older:
            delete_behind(self._folder, older, self._kept_bytes)
        self._tell_unneeded_keys()

    def _tell_unneeded_keys(self) -> None:
        keys = self._folder.keys
        if len(keys.key_ids) == 1:
            return
        with contextlib.suppress(OSError, FolderUnusable):
            unneeded = set(keys.key_ids) - needed_keys(self._folder.path) - {keys.newest}
            for key_id in unneeded - self._unneeded:
                log.info("no file in the data folder needs sealing key %s any more", key_id.hex())
            self._unneeded = unneeded

    def backup(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a file that needs no journal. It holds the state as of the end of the backup.

        There is one backup at a time, because no snapshot is taken during it. Raises Unavailable, OSError.
        """
        if self._is_backing_up:
            raise Unavailable("another backup is being read")
        return self._backup()

    async def _backup(self) -> AsyncGenerator[bytes, None]:
        self._is_backing_up = True
        try:
            async with self.lock, contextlib.aclosing(self._backup_pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._is_backing_up = False

    async def _backup_pieces(self) -> AsyncGenerator[bytes, None]:
        await self._ledger.durable(self._ledger.head)  # before the first byte, while a 503 is still possible
        position, loop = self._ledger.head, asyncio.get_running_loop()
        thread = ThreadPoolExecutor(1, "backup", give_way)
        try:
            with StateCopy(self._ledger.state) as copy:
                self._journal.rotate()  # so that the records behind the position begin a segment
                encoder = self._encoder(position, self._clock.now_ms())
                yield encoder.header
                for chunk in copy:
                    yield await loop.run_in_executor(thread, encoder.encode, chunk)
                newest, rows = self._ledger.head, copy.rows
                await self._ledger.durable(newest)
                behind = JournalReader(self._folder).records(position, newest)
                while few := await loop.run_in_executor(thread, _some_records, behind):
                    rows += len(few)
                    yield await loop.run_in_executor(thread, encoder.encode, files.RecordsChunk(few))
                blobs = SealedBlobs(self._folder).whole()
                while blob := await loop.run_in_executor(thread, next, blobs, None):
                    rows += 1
                    yield await loop.run_in_executor(thread, encoder.encode, files.BlobsChunk([blob]))
                yield await loop.run_in_executor(thread, encoder.encode, files.EndChunk(rows, newest))
        finally:
            thread.shutdown(wait=False)  # a client that goes away leaves it at work: the loop does not wait

    def _encoder(self, position: int, now_ms: int) -> files.SnapshotEncoder:
        return files.SnapshotEncoder(position, now_ms, self._folder.keys.new_seal())


def _unknown_changes() -> Changes:
    """Return the changes of a time when nothing was noted: a part is not enough for them."""
    changes = Changes()
    changes.is_lost = True
    return changes


def _some_records(behind: Iterator[tuple[int, bytes]]) -> list[bytes]:
    return [record for _, record in islice(behind, RECORDS_PER_CHUNK)]


def give_way() -> None:
    """Lower the priority of this thread, so that the loop gets the core whenever it has work.

    On Linux, nice(2) applies to a single thread.
    """
    with contextlib.suppress(OSError):  # a sandbox may refuse it, and an error here would end the thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
