"""From disk to state: the newest good snapshot and every record behind it, or a clear refusal."""

import asyncio
import logging
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given

from core.events import (
    DeliveryMerged,
    DeliveryTaken,
    Event,
    ListingRemoved,
    Merged,
    NodeNamed,
    UserErased,
    VoteCast,
    WebhookRemoved,
)
from core.rows import Delivery
from core.state import State
from journal.folder import Folder
from journal.frames import FRAME_BYTES, HEADER_BYTES
from journal.sealing import KeyMissing, Keyring, new_key
from journal.segments import JournalCorrupt, list_segments, segment_path
from snapshot.copying import Copied, StateCopy
from snapshot.files import Fleet, Leaves, Parts, SnapshotCorrupt, list_snapshots, snapshot_path
from snapshot.recovery import UnreadableRecord, apply_events, recover
from tests.unit.generated import examples, sequences
from tests.unit.pictured import assert_indexes_agree, picture
from tests.unit_io.disk import (
    KEYS,
    empty_state,
    on,
    overwrite,
    recording,
    recovered_digest,
    run,
    snapshotter_of,
    write_segment,
)
from tests.unit_io.rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF, listed, voted

HISTORY: list[list[Event]] = [
    listed(BOT_REF, url="http://127.0.0.1/"),
    [voted(5), voted(6)],
    listed(OTHER_REF),
    [voted(5, ref=OTHER_REF)],
    [UserErased("5", (BOT_REF, OTHER_REF))],
    [voted(5, count=1, at_ms=NOW_MS + 1), voted(6, count=2, at_ms=NOW_MS + 1)],
    [ListingRemoved(OTHER_REF), WebhookRemoved(BOT_REF)],
    listed(SERVER_REF),
]


def voted_at(label: str, user: int, count: int = 1, at_ms: int = NOW_MS, ref: str = BOT_REF) -> VoteCast:
    """A vote at another node."""
    return VoteCast(ref, str(user), count, at_ms, label)


def write_history(folder: Path, snapshots: tuple[int, ...] = ()) -> list[str]:
    """HISTORY with snapshots at positions; returns the digest at every position, from 0."""
    digests = [empty_state().digest()]

    async def main() -> None:
        async with recording(folder) as (ledger, journal):
            snapshotter = snapshotter_of(folder, ledger, journal)
            for events in HISTORY:
                await ledger.durable(ledger.commit(events))
                digests.append(ledger.state.digest())
                if ledger.head in snapshots:
                    await snapshotter.take()

    run(main())
    return digests


def damage(path: Path) -> None:
    content = path.read_bytes()
    overwrite(path, content[:-1] + bytes([content[-1] ^ 1]))


def test_an_empty_folder_is_an_empty_state(tmp_path: Path) -> None:
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.state.digest() == empty_state().digest()
    assert (recovered.tail.head, recovered.snapshot_position) == (0, 0)


@pytest.mark.parametrize("snapshots", [(), (8,), (3,), (2, 5), (1, 8)])
def test_the_state_is_what_it_was_whatever_part_of_it_a_snapshot_holds(
    tmp_path: Path, snapshots: tuple[int, ...]
) -> None:
    digests = write_history(tmp_path, snapshots)
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.state.digest() == digests[-1]
    assert (recovered.tail.head, recovered.snapshot_position) == (8, max(snapshots, default=0))


@pytest.mark.parametrize("until", range(len(HISTORY) + 1))
def test_the_state_of_any_position_can_be_recovered(tmp_path: Path, until: int) -> None:
    digests = write_history(tmp_path)
    assert recover(on(tmp_path), empty_state, until).state.digest() == digests[until]


def test_the_state_of_a_position_is_recovered_over_a_snapshot_too(tmp_path: Path) -> None:
    digests = write_history(tmp_path, snapshots=(4,))
    for until in range(4, 9):
        assert recover(on(tmp_path), empty_state, until).state.digest() == digests[until]


IN_A_FLEET: list[list[Event]] = [
    [NodeNamed("a.1")],
    listed(BOT_REF, url="http://127.0.0.1/"),
    [voted(5), voted(6)],
    [Merged("b.1", 3), voted_at("b.1", 5, count=2), voted_at("b.1", 7), voted_at("c.1", 7)],
    [Merged("b.1", 4), voted_at("b.1", 8, ref=OTHER_REF), voted_at("c.1", 8, ref=OTHER_REF)],
    [DeliveryMerged(Delivery(name, BOT_REF, "5", False, NOW_MS, NOW_MS, owner="b.1")) for name in "de"],
    [DeliveryTaken("d", BOT_REF, NOW_MS + 1)],
    [ListingRemoved(SERVER_REF, stamp_ms=NOW_MS), UserErased("6", (BOT_REF,), "mark", stamp_ms=NOW_MS + 1)],
    [NodeNamed("a.2"), voted(5), voted(7, count=4)],
    [Merged("c.1", 9), voted_at("c.1", 5, at_ms=NOW_MS + 2)],
]


@pytest.mark.parametrize("snapshots", [(), (4,), (10,), (5, 7)])
def test_what_a_node_knows_of_its_fleet_is_what_it_was(tmp_path: Path, snapshots: tuple[int, ...]) -> None:
    pictures = list[object]()

    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            for events in IN_A_FLEET:
                await ledger.durable(ledger.commit(events))
                if ledger.head in snapshots:
                    await snapshotter.take()
            pictures.extend([picture(ledger.state), ledger.state.shared_digest()])

    run(main())
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.snapshot_position == max(snapshots, default=0)
    state = recovered.state
    assert [picture(state), state.shared_digest()] == pictures
    assert_indexes_agree(state)
    assert (state.fleet.label, state.fleet.own, state.fleet.is_copy) == ("a.2", 3, False)
    assert state.votes.parts(BOT_REF, 5) == {0: 1, 1: 2, 2: 1, 3: 1}
    assert (list(state.ghosts), state.votes.get(OTHER_REF, 8)) == ([OTHER_REF], (2, NOW_MS))
    assert (set(state.elsewhere[BOT_REF]), set(state.pending)) == ({"e"}, {"d"})


@examples(25)
@given(before=sequences, during=sequences)
def test_a_snapshot_taken_while_a_fleet_s_events_come_replays_to_the_same(
    before: list[Event], during: list[Event]
) -> None:
    """After each chunk of the copy the next event happens; no listing is new, see below."""
    live, copied = empty_state(), empty_state()
    apply_events(live, [NodeNamed("a.1"), *before])
    happening = iter(during)
    with StateCopy(live) as copy:
        for chunk in copy:
            take_up(copied, chunk)
            apply_events(live, islice(happening, 1))
    apply_events(live, happening)
    copied.loaded()
    apply_events(copied, during)
    assert picture(copied) == picture(live)
    assert copied.digest() == live.digest()


def test_votes_whose_listing_comes_while_they_are_copied_are_recovered_once() -> None:
    live, copied = empty_state(), empty_state()
    apply_events(live, [NodeNamed("a.1"), voted_at("b.1", 5), voted_at("b.1", 6)])
    with StateCopy(live) as copy:
        for chunk in copy:
            take_up(copied, chunk)
            if isinstance(chunk, Leaves) and BOT_REF not in live.listings:
                apply_events(live, listed())
    copied.loaded()
    apply_events(copied, listed())
    assert list(copied.votes.votes(BOT_REF)) == list(live.votes.votes(BOT_REF))
    assert len(copied.votes) == 2


def take_up(state: State, chunk: Copied) -> None:
    """As `load_snapshot` does with a chunk of a file."""
    match chunk:
        case Fleet():
            state.load_fleet(chunk.rows[0])
        case Leaves():
            state.load_votes(chunk.rows)
        case Parts():
            state.load_parts(chunk.rows)
        case _:
            state.load(chunk.rows)


def test_a_damaged_snapshot_is_passed_over_loudly_for_the_one_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    digests = write_history(tmp_path, snapshots=(2, 5))
    damage(snapshot_path(tmp_path, 5))

    recovered = recover(on(tmp_path), empty_state)

    assert recovered.state.digest() == digests[-1]
    assert recovered.snapshot_position == 2
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert str(snapshot_path(tmp_path, 5)) in caplog.text
    assert "falling back to the snapshot before it" in caplog.text


def test_without_a_good_snapshot_the_whole_journal_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    digests = write_history(tmp_path, snapshots=(5,))
    damage(snapshot_path(tmp_path, 5))

    recovered = recover(on(tmp_path), empty_state)

    assert (recovered.state.digest(), recovered.snapshot_position) == (digests[-1], 0)
    assert len(caplog.records) == 1


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

    assert (recovered.state.digest(), recovered.snapshot_position) == (digests[-1], 0)
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
