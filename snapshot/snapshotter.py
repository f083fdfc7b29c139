"""Snapshots and backups while the gateway serves. Invariant: a snapshot never forks, holds the
loop, or contains what is not durable.

The loop copies the state in small steps (`snapshot/files.py`). A thread seals and writes the chunks and
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
from core.clock import NS_PER_SECOND, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from journal.journal import Journal
from journal.segments import JournalReader, delete_behind
from snapshot import files
from snapshot.inspection import needed_keys
from storage.folder import Folder, FolderUnusable

log = logging.getLogger(__name__)

RECORDS_PER_CHUNK = 512


class SnapshotWritten(NamedTuple):
    position: int
    bytes: int
    seconds: float


class NewestSnapshot(NamedTuple):
    """The snapshot that recovery began from; zeros without one."""

    position: int = 0
    created_ms: int = 0


class Snapshotter:
    def __init__(
        self,
        folder: Folder,
        ledger: Ledger,
        journal: Journal,
        clock: Clock,
        newest: NewestSnapshot,
        interval_seconds: float,
        kept_bytes: int = 0,
    ) -> None:
        """`kept_bytes` of the journal are kept although no start needs them."""
        self.position, self.created_ms = newest
        """The wall time at which the newest snapshot was begun: it holds all that was durable then."""
        self.last: SnapshotWritten | None = None
        """The newest snapshot of this process."""
        self.failures = 0
        self.failure: str | None = None
        """The reason why the newest attempt failed; None if it did not."""
        self._folder = folder
        self._ledger = ledger
        self._journal = journal
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._kept_bytes = kept_bytes
        self._is_backing_up = False
        self._unneeded: set[bytes] = set()
        """The ids of sealing keys that no file needs any more and that were logged."""
        self.beside: list[Callable[[int], Awaitable[None]]] = []
        """They are called behind each new snapshot, with its position."""
        self.lock = asyncio.Lock()  # held while files of the folder are added or deleted

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
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
        """Write a snapshot of the state as it is now. Raises OSError, Unavailable."""
        async with self.lock:
            started_ns, started_ms = self._clock.monotonic_ns(), self._clock.now_ms()
            position = self._ledger.head
            if position == self.position > 0:  # nothing is new, and the snapshot before it must stay
                size = files.snapshot_path(self._folder.path, position).stat().st_size
                return SnapshotWritten(position, size, 0.0)
            with files.StateCopy(self._ledger.state) as copy:
                self._journal.rotate()
                size = await self._write(position, copy)
            self.position, self.created_ms = position, started_ms
            seconds = (self._clock.monotonic_ns() - started_ns) / NS_PER_SECOND
            self.last, self.failure = SnapshotWritten(position, size, seconds), None
            log.info("snapshot of position %d, %d bytes, %.2f s", *self.last)
            for call in self.beside:
                await call(position)
            return self.last

    async def _write(self, position: int, copy: files.StateCopy) -> int:
        path, loop = files.snapshot_path(self._folder.path, position), asyncio.get_running_loop()
        file = files.SnapshotFile(self._folder.disk, path, self._encoder(position))
        try:
            with ThreadPoolExecutor(1, "snapshot", give_way) as thread:
                for chunk in copy:
                    await loop.run_in_executor(thread, file.add, chunk)
                newest = self._ledger.head
                await self._journal.synced(newest)
                await loop.run_in_executor(thread, file.add, files.EndChunk(copy.rows, newest))
                await loop.run_in_executor(thread, file.finish)
                await loop.run_in_executor(thread, self._tidy)
        finally:
            file.close()  # only when the thread has ended, because it may still be writing
        return file.size

    def _tidy(self) -> None:
        """Keep the new snapshot, the last good one before it, and the journal behind that one."""
        disk = self._folder.disk
        disk.sync_folder(self._folder.path)  # the new snapshot is durable before an older one is deleted
        for position, path in files.list_snapshots(self._folder.path):
            if position < self.position:
                disk.unlink(path)
        if self.position:
            delete_behind(self._folder, self.position, self._kept_bytes)
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
            with files.StateCopy(self._ledger.state) as copy:
                self._journal.rotate()  # so that the records behind the position begin a segment
                encoder = self._encoder(position)
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

    def _encoder(self, position: int) -> files.SnapshotEncoder:
        return files.SnapshotEncoder(position, self._clock.now_ms(), self._folder.keys.new_seal())


def _some_records(behind: Iterator[tuple[int, bytes]]) -> list[bytes]:
    return [record for _, record in islice(behind, RECORDS_PER_CHUNK)]


def give_way() -> None:
    """Lower the priority of this thread, so that the loop gets the core whenever it has work.

    On Linux, nice(2) applies to a single thread.
    """
    with contextlib.suppress(OSError):  # a sandbox may refuse it, and an error here would end the thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
