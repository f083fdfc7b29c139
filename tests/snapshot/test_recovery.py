"""From disk to state: the newest good snapshot and every record behind it, or a clear refusal."""

import asyncio
import logging
from pathlib import Path

import pytest

from journal.frames import FRAME_BYTES, HEADER_BYTES
from journal.segments import JournalCorrupt, list_segments, segment_path
from snapshot.files import SnapshotCorrupt, list_snapshots, snapshot_path
from snapshot.recovery import UnreadableRecord, recover
from storage.folder import Folder
from storage.sealing import KeyMissing, Keyring, new_key
from tests.support.coroutines import run
from tests.support.folder_bytes import overwrite
from tests.support.journals import KEYS, on, recording, recovered_digest, snapshotter_of, write_segment
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import listed, voted
from tests.support.written_history import HISTORY, write_history


def damage(path: Path) -> None:
    content = path.read_bytes()
    overwrite(path, content[:-1] + bytes([content[-1] ^ 1]))


def test_an_empty_folder_is_an_empty_state(tmp_path: Path) -> None:
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.state.digest() == empty_state().digest()
    assert (recovered.tail.head, recovered.chain.position) == (0, 0)


@pytest.mark.parametrize("snapshots", [(), (8,), (3,), (2, 5), (1, 8)])
def test_the_state_is_what_it_was_whatever_part_of_it_a_snapshot_holds(
    tmp_path: Path, snapshots: tuple[int, ...]
) -> None:
    digests = write_history(tmp_path, snapshots)
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.state.digest() == digests[-1]
    assert (recovered.tail.head, recovered.chain.position) == (8, max(snapshots, default=0))


@pytest.mark.parametrize("until", range(len(HISTORY) + 1))
def test_the_state_of_any_position_can_be_recovered(tmp_path: Path, until: int) -> None:
    digests = write_history(tmp_path)
    assert recover(on(tmp_path), empty_state, until).state.digest() == digests[until]


def test_the_state_of_a_position_is_recovered_over_a_snapshot_too(tmp_path: Path) -> None:
    digests = write_history(tmp_path, snapshots=(4,))
    for until in range(4, 9):
        assert recover(on(tmp_path), empty_state, until).state.digest() == digests[until]


def test_a_damaged_snapshot_is_passed_over_loudly_for_the_one_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    digests = write_history(tmp_path, snapshots=(2, 5))
    damage(snapshot_path(tmp_path, 5))

    recovered = recover(on(tmp_path), empty_state)

    assert recovered.state.digest() == digests[-1]
    assert recovered.chain.position == 2
    assert [record.levelno for record in caplog.records if record.levelno > logging.INFO] == [logging.ERROR]
    assert str(snapshot_path(tmp_path, 5)) in caplog.text
    assert "falling back to the snapshot before it" in caplog.text


def test_without_a_good_snapshot_the_whole_journal_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    digests = write_history(tmp_path, snapshots=(5,))
    damage(snapshot_path(tmp_path, 5))

    recovered = recover(on(tmp_path), empty_state)

    assert (recovered.state.digest(), recovered.chain.position) == (digests[-1], 0)
    assert len([record for record in caplog.records if record.levelno > logging.INFO]) == 1


def test_without_a_good_snapshot_and_a_whole_journal_nothing_is_recovered(tmp_path: Path) -> None:
    write_history(tmp_path, snapshots=(2, 5))
    for _, path in list_snapshots(tmp_path):
        damage(path)
    assert list_segments(tmp_path)[0][0] > 1
    with pytest.raises((SnapshotCorrupt, JournalCorrupt), match="records from position 1 on are missing"):
        recover(on(tmp_path), empty_state)


def test_a_renamed_snapshot_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    digests = write_history(tmp_path, snapshots=(2,))
    snapshot_path(tmp_path, 2).rename(snapshot_path(tmp_path, 3))

    recovered = recover(on(tmp_path), empty_state)

    assert (recovered.state.digest(), recovered.chain.position) == (digests[-1], 0)
    assert "was renamed: it is of position 2" in caplog.text


def test_a_snapshot_newer_than_the_journal_is_refused(tmp_path: Path) -> None:
    write_history(tmp_path, snapshots=(8,))
    for _, path in list_segments(tmp_path):
        path.unlink()
    write_segment(tmp_path, 1, 0, [[b"[]"]])
    with pytest.raises(JournalCorrupt, match="records up to position 8 are missing"):
        recover(on(tmp_path), empty_state)


def test_votes_newer_than_the_journal_are_refused(tmp_path: Path) -> None:
    """They were durable before the snapshot counted, so the journal has lost its end."""

    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            await ledger.durable(ledger.commit(listed()))
            taking = asyncio.create_task(snapshotter_of(tmp_path, ledger, journal).take())
            await asyncio.sleep(0)
            ledger.commit([voted(5)])
            await taking

    run(main())
    assert list_snapshots(tmp_path)[-1][0] == 1
    newest = list_segments(tmp_path)[-1][1]
    overwrite(newest, newest.read_bytes()[:HEADER_BYTES])
    with pytest.raises(JournalCorrupt, match="records up to position 2 are missing"):
        recover(on(tmp_path), empty_state)


def test_a_snapshot_without_any_journal_is_refused(tmp_path: Path) -> None:
    """The newest segment is never deleted: what it held behind the snapshot would be lost unseen."""
    write_history(tmp_path, snapshots=(5,))
    for _, path in list_segments(tmp_path):
        path.unlink()
    with pytest.raises(SnapshotCorrupt, match="has snapshots but no journal"):
        recover(on(tmp_path), empty_state)


@pytest.mark.parametrize(
    "record",
    [b'[{"type":"listing_saved.2","ref":"bots/1"}]', b'[{"type":"vote_cast.1"}]', b"[{}]", b"no JSON", b""],
)
def test_a_record_of_another_version_stops_recovery_with_its_number(tmp_path: Path, record: bytes) -> None:
    write_segment(tmp_path, 1, 0, [[b"[]"], [record]])
    with pytest.raises(UnreadableRecord, match=f"record 2 in {tmp_path} was written by another version: "):
        recover(on(tmp_path), empty_state)


def test_records_that_a_snapshot_holds_need_not_be_readable(tmp_path: Path) -> None:
    """So a version that has forgotten an event can start from a snapshot."""
    digests = write_history(tmp_path, snapshots=(8,))
    overwrite(segment_path(tmp_path, 1), b"from another version")
    assert recovered_digest(tmp_path) == digests[-1]


def test_a_kill_before_the_segment_behind_a_snapshot_counts_keeps_the_older_snapshot_good(
    tmp_path: Path,
) -> None:
    digests = write_history(tmp_path, snapshots=(5, 8))
    (_, before), (_, newest) = list_segments(tmp_path)[-2:]
    assert newest == segment_path(tmp_path, 9)
    overwrite(newest, newest.read_bytes()[:HEADER_BYTES])
    overwrite(before, before.read_bytes()[:-FRAME_BYTES])  # it does not say yet that it is continued
    assert recover(on(tmp_path), empty_state).tail.torn

    async def restart_and_vote() -> str:
        async with recording(tmp_path) as (ledger, _):
            assert ledger.state.digest() == digests[-1]
            await ledger.durable(ledger.commit([voted(7)]))
            return ledger.state.digest()

    digest = run(restart_and_vote())
    damage(snapshot_path(tmp_path, 8))
    assert recovered_digest(tmp_path) == digest


def test_a_snapshot_sealed_with_an_older_key_of_the_ring_is_read(tmp_path: Path) -> None:
    digests = write_history(tmp_path, snapshots=(5,))
    folder = Folder(tmp_path, KEYS.with_newest(new_key()))
    assert recover(folder, empty_state).state.digest() == digests[-1]


def test_a_snapshot_sealed_with_another_key_is_not_passed_over(tmp_path: Path) -> None:
    """It is good: what is missing is its key, and a start without it would go back in time."""
    write_history(tmp_path, snapshots=(5,))
    with pytest.raises(KeyMissing):
        recover(Folder(tmp_path, Keyring([new_key()])), empty_state)
