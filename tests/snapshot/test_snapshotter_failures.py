"""Snapshots that fail, are given up or meet a power cut: what was there before stays good."""

import asyncio
import errno
import logging
import os
from pathlib import Path

import pytest

from core.failures import Unavailable
from snapshot.files import list_snapshots, snapshot_path
from storage.folder import UNFINISHED
from tests.support.coroutines import happened, run
from tests.support.journals import INTERVAL, recording, recovered_digest, snapshot_files, snapshotter_of
from tests.support.sample_rows import listed, voted
from tests.support.watched_disk import WatchedDisk


def test_a_snapshot_does_not_count_before_all_it_holds_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            await ledger.durable(ledger.commit(listed()))
            disk = WatchedDisk(monkeypatch)
            disk.may_sync.clear()
            ledger.commit([voted(5)])
            taking = asyncio.create_task(snapshotter_of(tmp_path, ledger, journal).take())
            await happened(disk.syncing)
            assert list_snapshots(tmp_path) == []
            disk.may_sync.set()
            await taking
            assert [position for position, _ in list_snapshots(tmp_path)] == [2]
            journal_sync, *_, snapshot_sync, folder_sync = disk.synced
            assert journal_sync.startswith("journal-")
            assert (snapshot_sync, folder_sync) == (snapshot_path(tmp_path, 2).name + ".tmp", tmp_path.name)

    run(main())


def test_with_interval_too_a_power_cut_after_a_snapshot_leaves_a_folder_that_can_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    async def main() -> None:
        disk = WatchedDisk(monkeypatch)
        async with recording(folder, INTERVAL) as (ledger, journal):
            ledger.commit(listed())
            await snapshotter_of(folder, ledger, journal).take()
            digest = ledger.state.digest()
            assert recovered_digest(disk.after_power_cut(folder, tmp_path / "copy")) == digest

    run(main())


def test_a_thread_that_may_not_give_way_takes_its_snapshot_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox may refuse it: systemd's does with SystemCallFilter=~@resources."""

    def refuse(*_: int) -> None:
        raise PermissionError

    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            await ledger.durable(ledger.commit(listed()))
            await snapshotter_of(tmp_path, ledger, journal).take()
            assert [position for position, _ in list_snapshots(tmp_path)] == [1]

    monkeypatch.setattr(os, "setpriority", refuse)
    run(main())


def test_an_unfinished_snapshot_is_removed_when_it_fails_and_nothing_else_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            ledger.commit(listed())
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            await snapshotter.take()
            await ledger.durable(ledger.commit([voted(5)]))
            with monkeypatch.context() as patched:
                disk = WatchedDisk(patched)
                disk.sync_error = errno.EIO
                with pytest.raises(OSError, match="Input/output error"):
                    await snapshotter.take()
            assert snapshotter.position == 1
            assert snapshot_files(tmp_path) == [snapshot_path(tmp_path, 1).name]

    run(main())


def test_a_snapshot_that_is_given_up_leaves_nothing_unfinished_and_the_next_one_is_whole(
    tmp_path: Path, disk: WatchedDisk
) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            await ledger.durable(ledger.commit(listed()))
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            disk.syncing.clear()
            disk.may_sync.clear()
            taking = asyncio.create_task(snapshotter.take())
            await happened(disk.syncing)
            taking.cancel()
            disk.may_sync.set()
            with pytest.raises(asyncio.CancelledError):
                await taking
            assert not [name for name in snapshot_files(tmp_path) if name.endswith(UNFINISHED)]
            await snapshotter.take()
            assert snapshot_files(tmp_path) == [snapshot_path(tmp_path, 1).name]

    run(main())


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), Unavailable("the disk is slow")])
def test_a_step_that_fails_is_logged_and_tried_again(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            ledger.commit(listed())
            snapshotter = snapshotter_of(tmp_path, ledger, journal)

            async def refuse(_: int) -> None:
                raise error

            with monkeypatch.context() as patched:
                patched.setattr(journal, "synced", refuse)
                await snapshotter.step()
            assert snapshot_files(tmp_path) == []
            await snapshotter.step()
            assert [position for position, _ in list_snapshots(tmp_path)] == [1]

    with caplog.at_level(logging.INFO, "snapshot"):
        run(main())
    first, second = caplog.messages
    assert first == f"no snapshot was taken: {error}"
    assert second.startswith("snapshot of position 1, ")
