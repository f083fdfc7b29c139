"""Appending to the journal: durable means synced, many records share a sync, and a restart goes on."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.failures import Unavailable
from journal.frames import FRAME_MAGIC, HEADER_BYTES
from journal.journal import Journal, JournalPolicy
from journal.segments import JournalCorrupt, segment_path
from storage.folder import UNFINISHED
from tests.support.coroutines import happened, run, turns, until
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock
from tests.support.folder_bytes import flips, overwrite
from tests.support.journals import (
    INTERVAL,
    POLICY,
    append_all,
    frames_in,
    journalling,
    on,
    records_of,
    tail_of,
    unavailable,
    write_segment,
)
from tests.support.watched_disk import WatchedDisk

RECORDS = [b"one", b"two", b"three"]


def test_appended_records_are_read_back_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            assert [journal.append(record) for record in RECORDS] == [1, 2, 3]
            assert (journal.head, journal.durable_position) == (3, 0)
            await journal.durable(3)
            assert (journal.head, journal.durable_position) == (3, 3)

    run(main())
    assert records_of(tmp_path) == RECORDS


@examples(25)
@given(records=st.lists(st.binary(max_size=50).map(lambda r: r.replace(b"\n", b"")), max_size=6))
def test_any_record_without_a_newline_survives_restarts(
    records: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")

    async def main() -> None:
        for record in records:
            async with journalling(folder) as journal:
                journal.append(record)

    run(main())
    assert records_of(folder) == records


def test_many_appends_share_one_frame_and_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"before"])
            disk = WatchedDisk(monkeypatch)
            positions = [journal.append(b"%d" % number) for number in range(100)]
            await asyncio.gather(*map(journal.durable, positions))
            assert len(disk.synced) == 1

    run(main())
    assert list(map(len, frames_in(segment_path(tmp_path, 1)))) == [1, 100, 0]


def test_records_that_arrive_during_a_sync_share_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"before"])
            disk = WatchedDisk(monkeypatch)
            disk.may_sync.clear()
            journal.append(b"first")
            await happened(disk.syncing)
            for number in range(100):
                journal.append(b"%d" % number)
            disk.may_sync.set()
            await journal.durable(journal.head)
            assert len(disk.synced) == 2

    run(main())
    assert list(map(len, frames_in(segment_path(tmp_path, 1)))) == [1, 1, 100, 0]


def test_nobody_is_told_of_durability_before_the_sync_has_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        told: list[int] = []
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"before"])
            journal.on_durable(lambda: told.append(journal.durable_position))
            disk = WatchedDisk(monkeypatch)
            disk.may_sync.clear()
            waiter = asyncio.create_task(journal.durable(journal.append(b"record")))
            await happened(disk.syncing)
            await turns()
            assert (waiter.done(), journal.durable_position, told) == (False, 1, [])
            disk.may_sync.set()
            await waiter
            assert (journal.durable_position, told) == (2, [2])

    run(main())


def test_a_new_segment_is_durable_with_its_name_before_its_first_record_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        disk = WatchedDisk(monkeypatch)
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"record"])
            segment = segment_path(tmp_path, 1).name
            assert disk.synced == [segment + UNFINISHED, tmp_path.name, segment]

    run(main())


def test_a_waiter_that_gave_up_disturbs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            disk = WatchedDisk(monkeypatch)
            disk.may_sync.clear()
            position = journal.append(b"record")
            leaving = asyncio.create_task(journal.durable(position))
            staying = asyncio.create_task(journal.durable(position))
            await happened(disk.syncing)
            leaving.cancel()
            disk.may_sync.set()
            await staying
            assert leaving.cancelled()

    run(main())


def test_a_stop_writes_what_is_pending_and_a_last_frame_that_vouches_for_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            for record in RECORDS:
                journal.append(record)
        with pytest.raises(Unavailable, match="the gateway is stopping"):
            journal.append(b"too late")
        with pytest.raises(Unavailable, match="the gateway is stopping"):
            await journal.durable(4)
        await journal.durable(3)
        assert not journal.writable

    run(main())
    assert frames_in(segment_path(tmp_path, 1)) == [RECORDS, []]


@pytest.mark.parametrize("policy", [POLICY, INTERVAL], ids=lambda policy: policy.fsync)
def test_an_idle_journal_writes_one_frame_that_vouches_for_the_records_before_it(
    tmp_path: Path, disk: WatchedDisk, policy: JournalPolicy
) -> None:
    async def main() -> None:
        async with journalling(tmp_path, replace(policy, interval_seconds=0.001), crash=True) as journal:
            for record in (b"one", b"two"):
                await append_all(journal, [record])
                syncs = len(disk.synced)
                await until(lambda: len(disk.synced) > syncs)  # noqa: B023 (waited for here)

    run(main())
    path = segment_path(tmp_path, 1)
    assert frames_in(path) == [[b"one"], [], [b"two"], []]
    content = bytearray(path.read_bytes())
    content[content.rindex(FRAME_MAGIC) - 1] ^= 1  # the last byte of what was written before
    overwrite(path, bytes(content))
    with pytest.raises(JournalCorrupt, match="fails its checksum"):
        records_of(tmp_path)


def test_a_journal_that_begins_vouches_on_disk_for_what_was_read(tmp_path: Path) -> None:
    write_segment(tmp_path, 1, 0, [RECORDS])
    Journal(on(tmp_path), tail_of(tmp_path), POLICY, FakeClock()).begin()

    path = segment_path(tmp_path, 1)
    assert frames_in(path) == [RECORDS, []]
    content = path.read_bytes()
    for index, flipped in flips(content):
        if HEADER_BYTES <= index < content.rindex(FRAME_MAGIC):
            overwrite(path, flipped)
            with pytest.raises(JournalCorrupt):
                records_of(tmp_path)


def test_records_that_a_restart_reads_are_made_durable_before_they_count_as_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between write and sync leaves a whole frame that only the page cache holds, and a kill in a
    rotation the name of a segment, or the frame that makes it count."""
    seed = write_segment(tmp_path, 1, 0, [RECORDS], continued=True)
    write_segment(tmp_path, 4, seed, [])

    async def main() -> None:
        disk = WatchedDisk(monkeypatch)
        journal = Journal(on(tmp_path), tail_of(tmp_path), POLICY, FakeClock())
        running = asyncio.create_task(journal.run())
        await journal.durable(3)
        assert disk.synced == [segment_path(tmp_path, 1).name, segment_path(tmp_path, 4).name, tmp_path.name]
        await journal.close()
        await running

    run(main())


def test_a_start_after_a_clean_stop_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        for record in RECORDS:
            async with journalling(tmp_path) as journal:
                journal.begin()
                await append_all(journal, [record])

    run(main())
    assert caplog.messages == []


def test_a_start_after_an_unclean_stop_says_where_the_journal_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with journalling(tmp_path, crash=True) as journal:
            await append_all(journal, RECORDS)
        assert caplog.messages == []
        async with journalling(tmp_path):
            pass

    run(main())
    assert caplog.messages == ["the last process did not stop cleanly; its journal ends at position 3"]


def test_a_journal_whose_task_was_cancelled_takes_no_more(tmp_path: Path) -> None:
    """Callers that wait for durability get an error, and later records are refused."""

    async def main() -> None:
        async with journalling(tmp_path, crash=True) as journal:
            await append_all(journal, [b"one"])
            waiting = asyncio.create_task(unavailable(journal, 2))
            await turns()
        assert await waiting == "the gateway is stopping"
        assert not journal.writable
        with pytest.raises(Unavailable, match="the gateway is stopping"):
            journal.append(b"two")
        assert journal.head == 1

    run(main())
    assert records_of(tmp_path) == [b"one"]


@pytest.mark.parametrize("between", range(6))
def test_a_journal_is_cancelled_also_when_a_record_has_just_arrived(tmp_path: Path, between: int) -> None:
    async def main() -> None:
        async with journalling(tmp_path, crash=True) as journal:
            await append_all(journal, [b"one"])
            await turns()
            journal.append(b"two")
            await turns(between)
        assert not journal.writable

    run(main())
    assert records_of(tmp_path) in ([b"one"], [b"one", b"two"])
