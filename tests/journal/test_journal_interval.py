"""The journal with `fsync: interval`: what a power cut may take, and that it takes no more."""

import asyncio
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from journal.frames import FRAME_MAGIC
from journal.journal import Journal
from journal.segments import segment_path
from tests.support.coroutines import happened, run
from tests.support.fake_clock import FakeClock
from tests.support.journals import INTERVAL, append_all, journalling, on, records_of, tail_of, unavailable
from tests.support.turn_loop import LoopClock, run_in_turns
from tests.support.watched_disk import WatchedDisk


def test_a_record_counts_once_it_is_written_and_is_synced_when_the_interval_is_over(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with journalling(tmp_path, INTERVAL, clock) as journal:
            await append_all(journal, [b"one"])
            created = list(disk.synced)
            await append_all(journal, [b"two", b"three"])
            assert disk.synced == created
            clock.advance(INTERVAL.interval_seconds)
            await append_all(journal, [b"four"])
            assert len(disk.synced) == len(created) + 1
            await append_all(journal, [b"five"])
            assert len(disk.synced) == len(created) + 1
        path = segment_path(tmp_path, 1)
        assert disk.durable_bytes(path) == len(await asyncio.to_thread(path.read_bytes))

    run(main())
    assert records_of(tmp_path) == [b"one", b"two", b"three", b"four", b"five"]


def test_nothing_stays_unsynced_for_longer_than_the_interval_whatever_arrives_meanwhile(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        policy = replace(INTERVAL, interval_seconds=1)
        journal = Journal(on(tmp_path), tail_of(tmp_path), policy, LoopClock())
        journal.begin()
        running, now = asyncio.create_task(journal.run()), asyncio.get_running_loop().time
        await asyncio.sleep(5)
        written = now()
        await append_all(journal, [b"one"])
        syncing = asyncio.create_task(first_sync_of(journal))
        for _ in range(4):
            await asyncio.sleep(0.3)
            await append_all(journal, [b"more"])
        assert await syncing - written <= 1.01
        await journal.close()
        await running

    async def first_sync_of(journal: Journal) -> float:
        while journal._writer.synced_position < 1:  # noqa: ASYNC110 (no event tells of it; the clock is ours)
            await asyncio.sleep(0.001)
        return asyncio.get_running_loop().time()

    run_in_turns(main())


def test_the_last_record_is_synced_though_none_follows(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(INTERVAL, interval_seconds=0.01)) as journal:
            await append_all(journal, [b"one"])
            disk.syncing.clear()
            await happened(disk.syncing)

    run(main())
    assert records_of(tmp_path) == [b"one"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_failed_sync_ends_the_journal_too(tmp_path: Path, disk: WatchedDisk, error: int) -> None:
    """Whatever the reason: records that counted may be gone, and no later sync would tell."""

    async def main() -> None:
        clock = FakeClock()
        journal = Journal(on(tmp_path), tail_of(tmp_path), INTERVAL, clock)
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"counts already"])
        disk.sync_error = error
        clock.advance(INTERVAL.interval_seconds)
        reason = await unavailable(journal, journal.append(b"makes the sync due"))
        disk.sync_error = None
        await journal.close()
        assert reason == "the disk has failed"
        with pytest.raises(OSError, match=os.strerror(error)):
            await running

    run(main())


def test_an_idle_sync_that_fails_ends_the_journal(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        policy = replace(INTERVAL, interval_seconds=0.01)
        journal = Journal(on(tmp_path), tail_of(tmp_path), policy, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"one"])
        disk.sync_error = errno.EIO
        with pytest.raises(OSError, match="Input/output error"):
            await running
        disk.sync_error = None
        assert not journal.writable

    run(main())


def test_a_power_cut_during_a_rotation_leaves_a_journal_that_can_be_read(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    left: list[Path] = []

    async def main() -> None:
        async with journalling(folder, INTERVAL) as journal:
            await append_all(journal, [b"one", b"two"])
            journal.rotate()
            disk.after_sync = lambda: left.append(disk.after_power_cut(folder, tmp_path / f"{len(left)}"))
            await append_all(journal, [b"three"])

    run(main())
    assert left
    for copy in left:
        found = records_of(copy)
        assert found == [b"one", b"two", b"three"][: len(found)]


def test_a_power_cut_may_take_any_frame_that_was_not_synced(tmp_path: Path, disk: WatchedDisk) -> None:
    """The kernel writes pages in any order: a later frame may be there, and one before it not."""

    async def main() -> None:
        async with journalling(tmp_path, INTERVAL, crash=True) as journal:
            await append_all(journal, [b"one", b"two", b"three"])

    run(main())
    path = segment_path(tmp_path, 1)
    content = path.read_bytes()
    second = content.index(FRAME_MAGIC, content.index(FRAME_MAGIC) + 1)
    third = content.rindex(FRAME_MAGIC)
    path.write_bytes(content[:second] + bytes(third - second) + content[third:])
    assert disk.durable_bytes(path) < second
    assert records_of(tmp_path) == [b"one"]
