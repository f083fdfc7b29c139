"""Into a data folder: a whole state that was checked, or none."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from core.events import Event, Merged, NodeNamed, VoteCast
from journal.segments import JournalCorrupt, list_segments
from snapshot.export import Format
from snapshot.files import SnapshotCorrupt, list_snapshots
from snapshot.recovery import recover
from snapshot.restore import Source, read_backup, read_export, refuse_unless_empty, restore_into
from storage.folder import FolderUnusable
from storage.sealing import KeyMissing, Keyring
from tests.support.coroutines import run
from tests.support.examples import examples
from tests.support.exports import (
    POSITION,
    SOME,
    Cut,
    DiskUntil,
    assert_same,
    by_format,
    data_folder,
    exported,
    full,
    state_of,
)
from tests.support.folder_bytes import flips, overwrite
from tests.support.generated_events import sequences
from tests.support.journals import KEYS, on, recording, snapshotter_of
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, voted


def backup_of(folder: Path, before: Sequence[Event], meanwhile: Sequence[Event]) -> Path:
    """A backup of `folder/old`, during which events are committed, one a piece."""
    path, pieces, left = folder / "votegate.backup", list[bytes](), iter(meanwhile)

    async def main() -> None:
        (folder / "old").mkdir()
        async with recording(folder / "old") as (ledger, journal):
            for event in before:
                ledger.commit([event])
            async for piece in snapshotter_of(folder / "old", ledger, journal).backup():
                pieces.append(piece)
                ledger.commit([event for event in [next(left, None)] if event is not None])

    run(main())
    path.write_bytes(b"".join(pieces))
    return path


# -- there and back


@by_format
def test_a_restored_folder_goes_on(tmp_path: Path, written_as: Format) -> None:
    out, state = exported(tmp_path, written_as)
    data = data_folder(tmp_path / "data")
    restore_into(data, read_export(out, empty_state), NOW_MS)

    async def main() -> None:
        async with recording(data.path) as (ledger, journal):
            assert ledger.head == POSITION
            await ledger.durable(ledger.commit([voted(8)]))
            await snapshotter_of(data.path, ledger, journal, position=POSITION).take()

    run(main())
    state.apply(voted(8))
    recovered = recover(data, empty_state)
    assert (recovered.state.digest(), recovered.tail.head) == (state.digest(), POSITION + 1)


@examples(25)
@given(before=sequences, meanwhile=sequences)
def test_a_backup_is_restored_as_it_was_when_it_ended(
    tmp_path_factory: pytest.TempPathFactory, before: list[Event], meanwhile: list[Event]
) -> None:
    folder = tmp_path_factory.mktemp("backup")
    path, data = backup_of(folder, before, meanwhile), data_folder(folder / "data")

    source = read_backup(path, KEYS, empty_state)
    restore_into(data, source, NOW_MS)

    recovered = recover(data, empty_state)
    assert len(before) <= source.position == recovered.tail.head
    assert_same(recover(on(folder / "old"), empty_state, source.position).state, recovered.state)


def test_a_restored_node_is_a_copy_until_it_gets_a_name_of_its_own(tmp_path: Path) -> None:
    """The node of the backup may still run, so later votes must belong to another node."""
    of_a_fleet = [NodeNamed("a.1"), Merged("b.1", 3), *SOME, VoteCast(BOT_REF, "7", 2, NOW_MS, "b.1")]
    path, data = backup_of(tmp_path, of_a_fleet, []), data_folder(tmp_path / "data")
    source = read_backup(path, KEYS, empty_state)
    restore_into(data, source, NOW_MS)

    restored, old = recover(data, empty_state).state, recover(on(tmp_path / "old"), empty_state).state
    assert not old.fleet.is_copy
    assert restored.fleet.row == replace(old.fleet.row, is_copy=True)
    assert restored.votes.several == old.votes.several == {BOT_REF: {7: {0: 3, 1: 2}}}

    async def main() -> None:
        async with recording(data.path) as (ledger, _):
            await ledger.durable(ledger.commit([NodeNamed("a.2")]))

    run(main())
    assert not recover(data, empty_state).state.fleet.is_copy


def test_a_gateway_outside_a_fleet_is_not_marked_as_a_copy(tmp_path: Path) -> None:
    path, data = backup_of(tmp_path, SOME, []), data_folder(tmp_path / "data")
    restore_into(data, read_backup(path, KEYS, empty_state), NOW_MS)
    assert recover(data, empty_state).state.fleet.row == empty_state().fleet.row


# -- backups that are none -------------------------------------------------------------------------------


def test_a_damaged_or_cut_backup_is_refused(tmp_path: Path) -> None:
    path = backup_of(tmp_path, SOME, [voted(9)])
    content = path.read_bytes()
    cuts = [content[:length] for length in range(0, len(content), 7)]
    for bad in [*cuts, *(flipped for index, flipped in flips(content, every=61) if index >= 24)]:
        overwrite(path, bad)
        with pytest.raises((SnapshotCorrupt, KeyMissing)):
            read_backup(path, KEYS, empty_state)


def test_a_backup_needs_its_key(tmp_path: Path) -> None:
    path = backup_of(tmp_path, SOME, [])
    with pytest.raises(KeyMissing):
        read_backup(path, Keyring([bytes(32)]), empty_state)


def test_a_snapshot_that_needs_its_journal_is_no_backup(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            ledger.commit(SOME)
            taking = asyncio.create_task(snapshotter_of(tmp_path, ledger, journal).take())
            await asyncio.sleep(0)
            ledger.commit([voted(9)])
            await taking

    run(main())
    _, path = list_snapshots(tmp_path)[0]
    with pytest.raises(SnapshotCorrupt, match="needs the journal beside it"):
        read_backup(path, KEYS, empty_state)


# -- a disk that fails, a process that is cut off


def after_restore(folder: Path) -> str:
    """Return the outcome of a start with the folder."""
    try:
        recovered = recover(on(folder), empty_state)
    except (JournalCorrupt, SnapshotCorrupt):
        return "refused"
    if recovered.state.digest() == empty_state().digest() and recovered.tail.head == 0:
        return "empty"
    assert recovered.state.digest() == state_of(SOME).digest()
    return "whole"


@pytest.mark.parametrize("position", [0, POSITION])
def test_a_restore_that_was_cut_off_leaves_no_half_state(tmp_path: Path, position: int) -> None:
    seen = list[str]()
    for calls in range(100):
        folder = data_folder(tmp_path / str(calls), DiskUntil(calls, Cut()))
        try:
            restore_into(folder, Source(state_of(SOME), position), NOW_MS)
        except Cut:
            seen.append(after_restore(folder.path))
        else:
            break
    assert after_restore(folder.path) == "whole"
    assert len(seen) > 10
    order = ["empty", "refused", "whole"]
    assert seen == sorted(seen, key=order.index)
    assert set(seen) == set(order)


def test_a_full_disk_leaves_an_empty_folder_that_can_be_restored_into(tmp_path: Path) -> None:
    source = Source(state_of(SOME), POSITION)
    for calls in range(100):
        folder = data_folder(tmp_path / str(calls), DiskUntil(calls, full()))
        try:
            restore_into(folder, source, NOW_MS)
        except OSError:
            assert (list_segments(folder.path), list_snapshots(folder.path)) == ([], [])
            refuse_unless_empty(folder.path)
            restore_into(on(folder.path), source, NOW_MS)
            assert after_restore(folder.path) == "whole"
        else:
            break
    assert calls > 10


def test_a_folder_with_data_is_not_restored_into(tmp_path: Path) -> None:
    folder = data_folder(tmp_path / "data")
    for name in ["lock", "sealing.keys", "key-digest.secret", "operator.token", "snapshot-0.tmp"]:
        (folder.path / name).touch()
    refuse_unless_empty(folder.path)
    (folder.path / "journal-00000000000000000001").touch()
    with pytest.raises(FolderUnusable, match="journal-00000000000000000001 is there already"):
        refuse_unless_empty(folder.path)
