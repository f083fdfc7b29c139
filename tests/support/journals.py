"""Journals, their segments, and ledgers on them, to test on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from core.failures import Unavailable
from core.ledger import Ledger
from journal.frames import FrameKind, decode_frames, decode_header, encode_frame, encode_header
from journal.journal import Journal, JournalPolicy
from journal.segments import JournalReader, Tail, list_segments, segment_path
from snapshot.files import Chain
from snapshot.recovery import recover
from snapshot.snapshotter import Interval, Snapshotter
from storage.disk import OS_DISK, Disk
from storage.folder import Folder
from storage.sealing import Keyring
from tests.support.fake_clock import FakeClock
from tests.support.memory_ledger import empty_state

POLICY = JournalPolicy("always", interval_seconds=3_600, segment_bytes=1 << 20, pending_bytes=1 << 30)
INTERVAL = replace(POLICY, fsync="interval")
KEYS = Keyring([bytes(range(32))])


class Unsynced(Disk):
    """For tests that write much and cut no power: syncs are slow, and change nothing that is read."""

    def sync(self, file: int) -> None:
        pass

    def sync_folder(self, folder: Path) -> None:
        pass


def on(folder: Path, keys: Keyring = KEYS, disk: Disk = OS_DISK) -> Folder:
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


def set_aside(folder: Path) -> list[bytes]:
    """Return the bytes that were cut off the journal and kept beside it."""
    return [path.read_bytes() for path in sorted(folder.glob("journal-*.torn"))]


def write_segment(
    folder: Path, first: int, seed: int, batches: Iterable[Sequence[bytes]], *, continued: bool = False
) -> int:
    """A segment with one frame a batch; returns the checksum that the next segment continues."""
    seal = KEYS.new_seal()
    content, position = encode_header(first, seed, seal), first
    for batch in batches:
        kind = FrameKind.RECORDS if batch else FrameKind.CLOSED
        frame, seed = encode_frame(kind, position, batch, len(content), seed, seal)
        content, position = content + frame, position + len(batch)
    if continued:
        content += encode_frame(FrameKind.CONTINUED, position, [], len(content), seed, seal)[0]
    segment_path(folder, first).write_bytes(content)
    return seed


@contextlib.asynccontextmanager
async def journalling(
    folder: Path,
    policy: JournalPolicy = POLICY,
    clock: FakeClock | None = None,
    *,
    keys: Keyring = KEYS,
    disk: Disk = OS_DISK,
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
    newest = Chain(position, position)
    return Snapshotter(on(folder), ledger, journal, FakeClock(), newest, Interval(interval_seconds))


def snapshot_files(folder: Path) -> list[str]:
    """Names of snapshots, unfinished ones too."""
    return sorted(path.name for path in folder.glob("snapshot-*"))
