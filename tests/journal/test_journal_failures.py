"""When the disk fails: no space is waited for, a failed sync ends everything."""

import asyncio
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.failures import Unavailable
from journal import journal as journal_module
from journal.journal import Journal
from journal.segments import list_segments
from tests.support.coroutines import happened, run, turns
from tests.support.fake_clock import FakeClock
from tests.support.journals import POLICY, append_all, journalling, on, records_of, tail_of, unavailable
from tests.support.watched_disk import WatchedDisk

NO_SPACE = "no space left on the disk"


def test_a_failed_sync_ends_the_journal_for_good(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        journal = Journal(on(tmp_path), tail_of(tmp_path), POLICY, FakeClock())
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


def test_a_write_that_fails_otherwise_is_taken_back_and_ends_the_journal_for_good(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    async def main() -> None:
        journal = Journal(on(tmp_path), tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"before"])
        disk.write_error, disk.write_most = errno.EIO, 10
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
    disk: WatchedDisk,
    written_bytes: int | None,
    before: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"before"] * before)
            disk.fill_up(written_bytes)
            position = journal.append(b"kept")
            assert NO_SPACE in await unavailable(journal, position)
            assert not journal.writable
            with pytest.raises(Unavailable, match=NO_SPACE):
                journal.append(b"refused")
            disk.refused.clear()
            await happened(disk.refused)  # it is tried again
            assert NO_SPACE in await unavailable(journal, position)
            resumed = asyncio.Event()
            journal.on_durable(resumed.set)
            disk.make_room()
            await resumed.wait()
            await append_all(journal, [b"after"])

    run(main())
    assert records_of(tmp_path) == [b"before"] * before + [b"kept", b"after"]
    assert caplog.messages == [
        f"no space left on the disk for {tmp_path}: writes are refused until there is",
        "the journal takes writes again",
    ]


def test_records_that_arrived_while_space_ran_out_keep_their_positions(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            disk.fill_up()
            disk.may_fail.clear()
            journal.append(b"two")
            await happened(disk.refused)
            journal.append(b"three")
            disk.may_fail.set()
            assert NO_SPACE in await unavailable(journal, 3)
            assert journal.durable_position == 1
            resumed = asyncio.Event()
            journal.on_durable(resumed.set)
            disk.make_room()
            await resumed.wait()
            await journal.durable(3)

    run(main())
    assert records_of(tmp_path) == [b"one", b"two", b"three"]


def test_a_segment_for_which_there_is_no_space_is_not_left_behind(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            journal.rotate()
            disk.fill_up(after_bytes=5)
            assert NO_SPACE in await unavailable(journal, journal.append(b"two"))
            assert len(list_segments(tmp_path)) == 1
            disk.make_room()

    run(main())
    assert len(list_segments(tmp_path)) == 2
    assert records_of(tmp_path) == [b"one", b"two"]


def test_a_stop_without_space_fails_and_acknowledges_nothing(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        journal = Journal(on(tmp_path), tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"one"])
        disk.fill_up()
        waiting = asyncio.create_task(unavailable(journal, journal.append(b"two")))
        await turns(1)
        await journal.close()
        with pytest.raises(OSError, match=NO_SPACE):
            await running
        assert await waiting
        disk.make_room()

    run(main())
    assert records_of(tmp_path) == [b"one"]


def test_records_wait_for_the_disk_up_to_a_bound(
    tmp_path: Path, disk: WatchedDisk, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(POLICY, pending_bytes=100)) as journal:
            disk.may_sync.clear()
            journal.append(b"being written")
            await happened(disk.syncing)
            journal.append(b"x" * 60)
            journal.append(b"x" * 40)
            for _ in range(3):
                with pytest.raises(Unavailable, match="the disk does not keep up"):
                    journal.append(b"x")
            assert journal.writable
            assert journal.head == 3
            disk.may_sync.set()
            await journal.durable(3)
            await append_all(journal, [b"again"])

    run(main())
    assert records_of(tmp_path) == [b"being written", b"x" * 60, b"x" * 40, b"again"]
    assert caplog.messages == [
        "the disk does not keep up: writes are refused while too many wait",
        "the disk keeps up again",
    ]


def test_a_disk_that_stays_behind_is_told_of_once(
    tmp_path: Path, disk: WatchedDisk, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(POLICY, pending_bytes=100)) as journal:

            def stop_at_the_next() -> None:
                disk.may_sync.clear()
                disk.syncing.clear()

            journal.on_durable(stop_at_the_next)
            stop_at_the_next()
            journal.append(b"x" * 100)
            for _ in range(3):  # while a batch is written, more comes than may wait
                await happened(disk.syncing)
                journal.append(b"x" * 100)
                with pytest.raises(Unavailable):
                    journal.append(b"x")
                disk.may_sync.set()
                await journal.durable(journal.head - 1)
            assert len(caplog.messages) == 1
            await happened(disk.syncing)
            disk.may_sync.set()
            await journal.durable(journal.head)
            disk.may_sync.set()

    run(main())
    assert caplog.messages[1:] == ["the disk keeps up again"]


def test_a_record_that_is_too_large_for_itself_is_no_matter_of_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(POLICY, pending_bytes=100)) as journal:
            with pytest.raises(Unavailable):
                journal.append(b"x" * 101)
            await append_all(journal, [b"small"])

    run(main())
    assert caplog.messages == []


def test_a_stop_on_a_full_disk_with_nothing_left_to_write_is_a_clean_one(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            disk.fill_up()
        disk.make_room()

    run(main())
    assert records_of(tmp_path) == [b"one"]


def test_a_rotation_without_file_descriptors_waits_for_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"one"])
            journal.rotate()
            resumed = asyncio.Event()
            journal.on_durable(resumed.set)
            with monkeypatch.context() as patched:
                patched.setattr(os, "open", refuse)
                reason = await unavailable(journal, journal.append(b"two"))
            assert "no file descriptor left" in reason
            await resumed.wait()
            await append_all(journal, [b"three"])

    run(main())
    assert records_of(tmp_path) == [b"one", b"two", b"three"]
    assert len(list_segments(tmp_path)) == 2


def test_an_idle_journal_without_space_for_its_last_frame_goes_on(tmp_path: Path, disk: WatchedDisk) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(POLICY, interval_seconds=0.001)) as journal:
            await append_all(journal, [b"one"])
            disk.fill_up()
            await happened(disk.refused)
            assert journal.writable
            disk.make_room()
            await append_all(journal, [b"two"])

    run(main())
    assert records_of(tmp_path) == [b"one", b"two"]


@pytest.mark.parametrize("fails", ["write_error", "sync_error"])
def test_an_idle_journal_whose_disk_fails_ends_for_good(
    tmp_path: Path, disk: WatchedDisk, fails: str
) -> None:
    async def main() -> None:
        policy = replace(POLICY, interval_seconds=0.001)
        journal = Journal(on(tmp_path), tail_of(tmp_path), policy, FakeClock())
        running = asyncio.create_task(journal.run())
        await append_all(journal, [b"one"])
        setattr(disk, fails, errno.EIO)
        with pytest.raises(OSError, match="Input/output error"):
            await running
        setattr(disk, fails, None)
        assert not journal.writable

    run(main())
    assert records_of(tmp_path) == [b"one"]
