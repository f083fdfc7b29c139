"""Journals, ledgers and failing disks to test on."""

import asyncio
import contextlib
import errno
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from core.clock import FakeClock
from core.ledger import Ledger
from core.refusals import Unavailable
from journal.frames import Kind, decode_frames, decode_header, encode_frame, encode_header
from journal.journal import Journal, JournalPolicy
from journal.segments import JournalReader, Tail, list_segments, segment_path
from snapshot.recovery import recover
from snapshot.snapshotter import Snapshotter
from storage.disk import OS_DISK, OsDisk
from storage.folder import Folder
from storage.sealing import Keyring
from tests.support.gateways import WAIT_SECONDS
from tests.support.memory_ledger import empty_state

POLICY = JournalPolicy("always", interval_seconds=3_600, segment_bytes=1 << 20, pending_bytes=1 << 30)
INTERVAL = replace(POLICY, fsync="interval")
KEYS = Keyring([bytes(range(32))])

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a test's coroutine; one that does not end fails the test."""

    async def bounded() -> T:
        async with asyncio.timeout(WAIT_SECONDS):
            return await main

    return asyncio.run(bounded())


async def happened(event: threading.Event) -> None:
    """Waits for what another thread tells."""
    assert await asyncio.to_thread(event.wait, WAIT_SECONDS), "it did not happen"


async def until(condition: Callable[[], object]) -> None:
    """Waits for a condition that no event tells of; `run` bounds the wait."""
    while not condition():  # noqa: ASYNC110 (there is no event to wait for)
        await asyncio.sleep(0.001)


async def turns(count: int = 20) -> None:
    """Lets everything run that could run now."""
    for _ in range(count):
        await asyncio.sleep(0)


class Unsynced(OsDisk):
    """For tests that write much and cut no power: syncs are slow, and change nothing that is read."""

    def sync(self, file: int) -> None:
        pass

    def sync_folder(self, folder: Path) -> None:
        pass


def on(folder: Path, keys: Keyring = KEYS, disk: OsDisk = OS_DISK) -> Folder:
    """The folder as the journal and the snapshots know it."""
    return Folder(folder, keys, disk)


def tail_of(folder: Path, keys: Keyring = KEYS) -> Tail:
    reader = JournalReader(on(folder, keys))
    for _ in reader.records(after=0):
        pass
    return reader.tail


def records_of(folder: Path, after: int = 0, keys: Keyring = KEYS) -> list[bytes]:
    return [record for _, record in JournalReader(on(folder, keys)).records(after)]


def frames_in(segment: Path) -> list[list[bytes]]:
    """The records of every frame of the first segment."""
    content = segment.read_bytes()
    header = decode_header(content)
    seal = KEYS.seal_of(segment, header.key_id, header.salt)
    return [frame.records for frame in decode_frames(content, header.first, header.seed, seal)]


def key_ids_of(folder: Path) -> list[bytes]:
    """The ids of the keys that the segments are sealed with."""
    return [decode_header(path.read_bytes()).key_id for _, path in list_segments(folder)]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of the folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def set_aside(folder: Path) -> list[bytes]:
    """What was cut off the journal and kept beside it."""
    return [path.read_bytes() for path in sorted(folder.glob("journal-*.torn"))]


def overwrite(path: Path, content: bytes) -> None:
    """Replaces a file's bytes in place: emptying it first would make some file systems sync it."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def write_segment(
    folder: Path, first: int, seed: int, batches: Iterable[Sequence[bytes]], *, continued: bool = False
) -> int:
    """A segment with one frame a batch; returns the checksum that the next segment continues."""
    seal = KEYS.new_seal()
    content, position = encode_header(first, seed, seal), first
    for batch in batches:
        kind = Kind.RECORDS if batch else Kind.CLOSED
        frame, seed = encode_frame(kind, position, batch, len(content), seed, seal)
        content, position = content + frame, position + len(batch)
    if continued:
        content += encode_frame(Kind.CONTINUED, position, [], len(content), seed, seal)[0]
    segment_path(folder, first).write_bytes(content)
    return seed


@contextlib.asynccontextmanager
async def journalling(
    folder: Path,
    policy: JournalPolicy = POLICY,
    clock: FakeClock | None = None,
    *,
    keys: Keyring = KEYS,
    disk: OsDisk = OS_DISK,
    crash: bool = False,
) -> AsyncIterator[Journal]:
    """The folder's journal, running; closed at the end, or cut off as if the process had been killed."""
    journal = Journal(on(folder, keys, disk), tail_of(folder, keys), policy, clock or FakeClock())
    running = asyncio.create_task(journal.run())
    try:
        yield journal
    finally:
        if crash:
            running.cancel()
            await asyncio.wait([running])
            with contextlib.suppress(asyncio.CancelledError):
                running.result()
        else:
            await journal.close()
            await running


async def append_all(journal: Journal, records: Iterable[bytes]) -> None:
    """One frame a record."""
    for record in records:
        await journal.durable(journal.append(record))


async def unavailable(journal: Journal, position: int) -> str:
    """Why the position cannot become durable."""
    with pytest.raises(Unavailable) as raised:
        await journal.durable(position)
    return str(raised.value)


def recovered_digest(folder: Path) -> str:
    return recover(on(folder), empty_state).state.digest()


@contextlib.asynccontextmanager
async def recording(
    folder: Path, policy: JournalPolicy = POLICY, clock: FakeClock | None = None
) -> AsyncIterator[tuple[Ledger, Journal]]:
    """A ledger on the folder's journal, recovered; at the end the folder must fold to the live state."""
    recovered = recover(on(folder), empty_state)
    journal = Journal(on(folder), recovered.tail, policy, clock or FakeClock())
    ledger = Ledger(recovered.state, journal, recovered.tail.head)
    running = asyncio.create_task(journal.run())
    try:
        yield ledger, journal
    finally:
        await journal.close()
        await running
    assert recovered_digest(folder) == ledger.state.digest()


def snapshotter_of(
    folder: Path, ledger: Ledger, journal: Journal, interval_seconds: float = 1, position: int = 0
) -> Snapshotter:
    return Snapshotter(on(folder), ledger, journal, FakeClock(), interval_seconds, position)


def snapshot_files(folder: Path) -> list[str]:
    """Names of snapshots, unfinished ones too."""
    return sorted(path.name for path in folder.glob("snapshot-*"))


class Disk:
    """Stands in for the calls that write, to watch them, hold them up and let them fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        """Names of the files and folders, in the order in which their syncs returned."""
        self._durable: dict[int, int] = {}  # inode -> size at the last sync
        self.syncing = threading.Event()
        """Set as soon as a sync has begun."""
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.after_sync: Callable[[], None] = lambda: None
        """Called, in the writer's thread, whenever a sync has returned."""
        self.sync_error: int | None = None
        self.write_error: int | None = None
        self.write_most: int | None = None
        """How many bytes a write takes before it fails."""
        self.refused = threading.Event()
        """Set as soon as a write is about to fail."""
        self.may_fail = threading.Event()
        self.may_fail.set()
        self._fdatasync, self._fsync, self._pwrite = os.fdatasync, os.fsync, os.pwrite
        monkeypatch.setattr(os, "fdatasync", lambda file: self._sync(self._fdatasync, file))
        monkeypatch.setattr(os, "fsync", lambda file: self._sync(self._fsync, file))
        monkeypatch.setattr(os, "pwrite", self._write)

    def _sync(self, sync: Callable[[int], None], file: int) -> None:
        self.syncing.set()
        assert self.may_sync.wait(WAIT_SECONDS)
        if self.sync_error is not None:
            raise OSError(self.sync_error, os.strerror(self.sync_error))
        sync(file)
        self.synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
        status = os.fstat(file)
        self._durable[status.st_ino] = status.st_size
        self.after_sync()

    def _write(self, file: int, content: Any, offset: int) -> int:
        if self.write_error is None:
            return self._pwrite(file, content, offset)
        if self.write_most:
            content, self.write_most = content[: self.write_most], None
            return self._pwrite(file, content, offset)
        self.refused.set()
        assert self.may_fail.wait(WAIT_SECONDS)
        raise OSError(self.write_error, os.strerror(self.write_error))

    def fill_up(self, after_bytes: int | None = None) -> None:
        """From now on there is no space left, once `after_bytes` more are written."""
        self.write_error, self.write_most = errno.ENOSPC, after_bytes
        self.refused.clear()

    def make_room(self) -> None:
        self.write_error = None

    def durable_bytes(self, path: Path) -> int:
        """How much of a file a power cut would leave at least: its size at its last sync."""
        return self._durable.get(path.stat().st_ino, 0)

    def after_power_cut(self, folder: Path, copy: Path) -> Path:
        """A copy of the folder with nothing in it but what was synced."""
        copy.mkdir()
        for path in folder.iterdir():
            if size := self.durable_bytes(path):
                (copy / path.name).write_bytes(path.read_bytes()[:size])
        return copy


def flips(content: bytes, every: int = 1) -> Iterator[tuple[int, bytes]]:
    """(index of the byte, the content with one bit of it flipped), for every bit or every n-th."""
    for bit in range(0, len(content) * 8, every):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(flipped)


def copied(folder: Path, copy: Path) -> Path:
    shutil.copytree(folder, copy)
    return copy
