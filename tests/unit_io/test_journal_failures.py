"""When the disk fails: no space is waited for, a failed sync ends everything; and the `interval` mode."""

import asyncio
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.clock import FakeClock
from core.refusals import Unavailable
from journal import journal as journal_module
from journal.frames import FRAME_MAGIC
from journal.journal import Journal
from journal.segments import list_segments, segment_path
from tests.unit_io.disk import (
    POLICY,
    Disk,
    append_all,
    happened,
    journalling,
    records_of,
    run,
    tail_of,
    turns,
)

INTERVAL = replace(POLICY, fsync="interval")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)
    disk = Disk(monkeypatch)
    yield disk
    disk.may_sync.set()


async def unavailable(journal: Journal, position: int) -> str:
    with pytest.raises(Unavailable) as raised:
        await journal.durable(position)
    return str(raised.value)


def test_a_failed_sync_ends_the_journal_for_good(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        journal = Journal(tmp_path, tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"before"])
        syncs = len(disk.synced)
        disk.sync_error = errno.EIO
        waiting = asyncio.create_task(unavailable(journal, journal.append(b"lost")))
        with pytest.raises(OSError, match="Input/output error"):
            await running
        disk.sync_error = None
        assert await waiting == "the disk has failed"
        assert not journal.writable
        with pytest.raises(Unavailable, match="the disk has failed"):
            journal.append(b"refused")
        assert await unavailable(journal, 2) == "the disk has failed"
        await journal.durable(1)
        await journal.close()
        assert (journal.durable_position, len(disk.synced)) == (1, syncs)

    run(main())


def test_a_write_that_fails_otherwise_ends_the_journal_for_good(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        journal = Journal(tmp_path, tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"before"])
        disk.write_error = errno.EIO
        journal.append(b"lost")
        with pytest.raises(OSError, match="Input/output error"):
            await running
        disk.write_error = None

    run(main())
    assert records_of(tmp_path) == [b"before"]
    assert not tail_of(tmp_path).torn


@pytest.mark.parametrize("written_bytes", [None, 1, 30])
@pytest.mark.parametrize("before", [0, 1])
def test_without_space_writes_are_refused_until_there_is_some_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
    disk: Disk,
    written_bytes: int | None,
    before: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"before"] * before)
            disk.fill_up(written_bytes)
            position = journal.append(b"kept")
            assert await unavailable(journal, position) == "no space left on the disk"
            assert not journal.writable
            with pytest.raises(Unavailable, match="no space left on the disk"):
                journal.append(b"refused")
            disk.refused.clear()
            await happened(disk.refused)  # it is tried again
            assert await unavailable(journal, position) == "no space left on the disk"
            resumed = asyncio.Event()
            journal.on_durable(resumed.set)
            disk.make_room()
            await resumed.wait()
            await append_all(journal, [b"after"])

    run(main())
    assert records_of(tmp_path) == [b"before"] * before + [b"kept", b"after"]
    assert caplog.messages == [
        f"no space left in {tmp_path}: writes are refused until there is",
        "the journal takes writes again",
    ]


def test_records_that_arrived_while_space_ran_out_keep_their_positions(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            disk.may_sync.clear()
            disk.syncing.clear()
            journal.append(b"two")
            await happened(disk.syncing)
            disk.fill_up()
            journal.append(b"three")
            disk.may_sync.set()
            assert await unavailable(journal, 3) == "no space left on the disk"
            assert journal.durable_position == 2
            resumed = asyncio.Event()
            journal.on_durable(resumed.set)
            disk.make_room()
            await resumed.wait()
            await journal.durable(3)

    run(main())
    assert records_of(tmp_path) == [b"one", b"two", b"three"]


def test_a_segment_for_which_there_is_no_space_is_not_left_behind(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            journal.rotate()
            disk.fill_up(after_bytes=5)
            assert await unavailable(journal, journal.append(b"two")) == "no space left on the disk"
            assert len(list_segments(tmp_path)) == 1
            disk.make_room()

    run(main())
    assert len(list_segments(tmp_path)) == 2
    assert records_of(tmp_path) == [b"one", b"two"]


def test_a_stop_without_space_fails_and_acknowledges_nothing(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        journal = Journal(tmp_path, tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"one"])
        disk.fill_up()
        waiting = asyncio.create_task(unavailable(journal, journal.append(b"two")))
        await turns(1)
        await journal.close()
        with pytest.raises(OSError, match="no space left for the last records"):
            await running
        assert await waiting
        disk.make_room()

    run(main())
    assert records_of(tmp_path) == [b"one"]


def test_records_wait_for_the_disk_up_to_a_bound(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(POLICY, pending_bytes=100)) as journal:
            disk.may_sync.clear()
            journal.append(b"being written")
            await happened(disk.syncing)
            journal.append(b"x" * 60)
            journal.append(b"x" * 40)
            with pytest.raises(Unavailable, match="the disk does not keep up"):
                journal.append(b"x")
            assert journal.writable
            assert journal.head == 3
            disk.may_sync.set()
            await journal.durable(3)
            await append_all(journal, [b"again"])

    run(main())
    assert records_of(tmp_path) == [b"being written", b"x" * 60, b"x" * 40, b"again"]


def test_with_interval_a_record_counts_once_it_is_written_and_is_synced_when_the_interval_is_over(
    tmp_path: Path, disk: Disk
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
        assert len(disk.synced) == len(created) + 2

    run(main())
    assert records_of(tmp_path) == [b"one", b"two", b"three", b"four", b"five"]


def test_with_interval_the_last_record_is_synced_though_none_follows(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(INTERVAL, interval_seconds=0.01)) as journal:
            await append_all(journal, [b"one"])
            disk.syncing.clear()
            await happened(disk.syncing)

    run(main())
    assert records_of(tmp_path) == [b"one"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_with_interval_a_failed_sync_ends_the_journal_too(tmp_path: Path, disk: Disk, error: int) -> None:
    """Whatever the reason: records that counted may be gone, and no later sync would tell."""

    async def main() -> None:
        clock = FakeClock()
        journal = Journal(tmp_path, tail_of(tmp_path), INTERVAL, clock)
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


def test_with_interval_an_idle_sync_that_fails_ends_the_journal(tmp_path: Path, disk: Disk) -> None:
    async def main() -> None:
        policy = replace(INTERVAL, interval_seconds=0.01)
        journal = Journal(tmp_path, tail_of(tmp_path), policy, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"one"])
        disk.sync_error = errno.EIO
        with pytest.raises(OSError, match="Input/output error"):
            await running
        disk.sync_error = None
        assert not journal.writable

    run(main())


def test_with_interval_a_power_cut_during_a_rotation_leaves_a_journal_that_can_be_read(
    tmp_path: Path, disk: Disk
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
    assert len(left) == 4  # the two segments, the folder, the last frame
    for copy in left:
        found = records_of(copy)
        assert found == [b"one", b"two", b"three"][: len(found)]


def test_with_interval_a_power_cut_may_take_any_frame_that_was_not_synced(tmp_path: Path, disk: Disk) -> None:
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
