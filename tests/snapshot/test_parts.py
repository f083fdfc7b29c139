"""snapshot/: a whole snapshot and the parts behind it hold the same as the state that they were taken of."""

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core import changes, row_copy
from core.events import (
    CooldownsKept,
    DeliveryAttempted,
    DeliveryQueued,
    Event,
    ListingRemoved,
    NodeNamed,
    VoteCast,
    VotesRemoved,
)
from core.rows import Attempt
from core.state import State
from journal.segments import list_segments
from snapshot import files, snapshotter, state_copy
from snapshot.inspection import contents_of, found_in, needed_keys, verify_folder
from snapshot.recovery import BadFile, apply_events, load_chain, load_snapshot, recover
from snapshot.snapshotter import Interval, Snapshotter
from snapshot.state_copy import StateCopy
from storage.sealing import new_key
from tests.support.coroutines import run
from tests.support.examples import examples
from tests.support.fake_clock import FakeClock
from tests.support.generated_events import sequences
from tests.support.journals import KEYS, on, recording, snapshotter_of
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, listed, voted
from tests.support.state_invariants import assert_indexes_agree, picture


@pytest.fixture(autouse=True)
def parts_of_small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every second snapshot of a small state is a part, and is copied in many steps."""
    monkeypatch.setattr(snapshotter, "WHOLE_BELOW", 0)
    monkeypatch.setattr(snapshotter, "BEHIND_SHARE", 0)
    monkeypatch.setattr(row_copy, "SLICE", 1)


class Chain:
    """A state, and a chain of files of it in a folder."""

    def __init__(self, folder: Path) -> None:
        self.live = empty_state()
        self.paths: list[Path] = []
        self._folder = folder
        self._salt = b""
        self._events: list[Event] = []
        self._behind = 0
        """The number of the events that the last file holds."""

    def apply(self, events: list[Event]) -> None:
        apply_events(self.live, events)
        self._events.extend(events)

    def write(self, during: list[Event]) -> None:
        """Write a whole snapshot first, and then parts. After each chunk the next event happens."""
        position, happening = len(self._events) + len(self.paths) + 1, iter(during)
        noted = self.live.take_changes()
        self._behind = len(self._events)
        encoder = files.SnapshotEncoder(position, NOW_MS, KEYS.new_seal())
        path = (files.part_path if self.paths else files.snapshot_path)(self._folder, position)
        content = [encoder.header]
        with StateCopy(self.live, noted if self.paths else None, self._salt) as copy:
            for chunk in copy:
                content.append(encoder.encode(chunk))
                self.apply([*islice(happening, 1)])
        content.append(encoder.encode(files.EndChunk(copy.rows, position)))
        path.write_bytes(b"".join(content))
        self._salt = encoder.fields.salt
        self.paths.append(path)
        self.apply([*happening])

    def recovered(self) -> State:
        loaded = load_chain(self.paths, KEYS, empty_state)
        apply_events(loaded.state, self._events[self._behind :])
        return loaded.state


def assert_same(one: State, other: State) -> None:
    assert picture(one) == picture(other)
    assert one.digest() == other.digest()
    assert dict(one.cooldowns) == dict(other.cooldowns)
    assert one.fleet.row == other.fleet.row
    assert list(one.listings.unlisted) == list(other.listings.unlisted)
    assert one.votes.several == other.votes.several
    for ref in (*one.listings.refs, *one.listings.unlisted):
        assert list(one.votes.votes(ref)) == list(other.votes.votes(ref))
        assert one.votes.total(ref) == other.votes.total(ref)
        assert one.vote_counts.rows(ref) == other.vote_counts.rows(ref)
        assert one.deliveries.finished.get(ref, ()) == other.deliveries.finished.get(ref, ())
        assert list(one.deliveries.pending_of(ref)) == list(other.deliveries.pending_of(ref))
    assert one.listings.key_count == other.listings.key_count
    assert_indexes_agree(one)


def cut(events: list[Event], count: int) -> list[list[Event]]:
    """Cut events into so many pieces."""
    ends = [len(events) * number // count for number in range(count + 1)]
    return [events[start:end] for start, end in pairwise(ends)]


@examples(300)
@given(events=sequences, count=st.integers(2, 4))
def test_a_chain_holds_what_the_state_holds(
    events: list[Event], count: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Between two files some events happen, and nothing happens while one is written."""
    chain = Chain(tmp_path_factory.mktemp("data"))
    chain.apply([NodeNamed("a.1")])
    for piece in cut(events, count):
        chain.apply(piece)
        chain.write([])
        assert_same(chain.recovered(), chain.live)


@examples(300)
@given(events=sequences, count=st.integers(2, 3))
def test_a_chain_and_the_journal_behind_it_hold_what_happened_meanwhile(
    events: list[Event], count: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Events happen while the files are written, too."""
    chain = Chain(tmp_path_factory.mktemp("data"))
    chain.apply([NodeNamed("a.1")])
    for piece in cut(events, count):
        half = len(piece) // 2
        chain.apply(piece[:half])
        chain.write(piece[half:])
    recovered = chain.recovered()
    assert picture(recovered) == picture(chain.live)
    assert recovered.digest() == chain.live.digest()


def test_a_step_looks_at_a_bounded_number_of_users_who_voted_at_several_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_copy, "VOTES_PER_CHUNK", 4)
    state = empty_state()
    for event in (NodeNamed("a.1"), *listed()):
        state.apply(event)
    state.take_changes()
    for user in range(1, 41):
        for node in ("", "b.1"):
            state.apply(replace(voted(user), node=node, of_day=1, of_month=1))
    changes = state.take_changes()
    assert changes is not None
    with StateCopy(state, changes, b"salt") as copy:
        chunks = [chunk for chunk in copy if isinstance(chunk, files.ChangedVotesChunk | files.PartsChunk)]
    parts = [chunk for chunk in chunks if isinstance(chunk, files.PartsChunk)]
    assert [user for part in parts for _, user, _ in part.rows] == [*range(1, 41)]
    assert max(len(part.rows) for part in parts) <= 4
    for votes, part in zip(chunks[::2], chunks[1::2], strict=False):
        assert isinstance(votes, files.ChangedVotesChunk)
        assert isinstance(part, files.PartsChunk)


# -- a chain in a data folder --------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    """Return the kind and the position of each snapshot and part, such as `changes 2`."""
    return [f"{path.name.partition('-')[0]} {position}" for position, path in files.list_files(folder)]


def grow(folder: Path, count: int) -> list[str]:
    """Start on the folder, and commit a vote and take a snapshot so many times. Return the digest of each."""
    digests = []

    async def main() -> None:
        recovered = recover(on(folder), empty_state)
        async with recording(folder) as (ledger, journal):
            taker = Snapshotter(on(folder), ledger, journal, FakeClock(), recovered.chain, Interval(1))
            for _ in range(count):
                events = listed() if ledger.head == 0 else [voted(ledger.head)]
                await ledger.durable(ledger.commit(events))
                await taker.take()
                digests.append(ledger.state.digest())

    run(main())
    return digests


def test_the_snapshots_behind_a_whole_one_are_parts_also_behind_a_restart(tmp_path: Path) -> None:
    grow(tmp_path, 2)
    digest = grow(tmp_path, 2)[-1]
    assert names(tmp_path) == ["snapshot 1", "changes 2", "changes 3", "changes 4"]
    recovered = recover(on(tmp_path), empty_state)
    assert (recovered.chain.whole, recovered.chain.position, recovered.chain.parts) == (1, 4, 3)
    assert recovered.state.digest() == digest


def test_a_part_holds_only_what_has_changed(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            taker = snapshotter_of(tmp_path, ledger, journal)
            for number in range(200):
                ledger.commit(listed(f"bots/{number}"))
                ledger.commit([voted(user, ref=f"bots/{number}") for user in range(1, 50)])
            whole = await taker.take()
            ledger.commit([voted(99, ref="bots/7")])
            part = await taker.take()
            assert part.bytes * 50 < whole.bytes

    run(main())


@pytest.mark.parametrize("damaged", [4, 5, 6])
def test_a_start_does_without_any_file_of_the_newest_chain(
    tmp_path: Path, damaged: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(snapshotter, "MOST_PARTS", 2)
    digest = grow(tmp_path, 6)[-1]
    assert names(tmp_path) == [
        *("snapshot 1", "changes 2", "changes 3"),
        *("snapshot 4", "changes 5", "changes 6"),
    ]
    path = dict(files.list_files(tmp_path))[damaged]
    path.write_bytes(path.read_bytes()[:-1])
    recovered = recover(on(tmp_path), empty_state)
    assert recovered.state.digest() == digest
    assert (recovered.chain.position, recovered.chain.is_broken) == (damaged - 1, True)
    assert f"{path} is cut off" in caplog.text


def test_behind_a_damaged_file_comes_a_whole_snapshot(tmp_path: Path) -> None:
    grow(tmp_path, 3)
    files.part_path(tmp_path, 3).write_bytes(b"damaged")
    digest = grow(tmp_path, 2)[-1]
    assert names(tmp_path) == ["snapshot 1", "changes 2", "snapshot 4", "changes 5"]
    assert recover(on(tmp_path), empty_state).state.digest() == digest


def test_a_part_of_another_chain_is_not_taken_up(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        grow(tmp_path / name, 3)
    paths = [path for _, path in files.list_files(tmp_path / "one")]
    assert load_chain(paths, KEYS, empty_state).position == 3
    with pytest.raises(BadFile, match="the file before it is missing"):
        load_chain([paths[0], paths[2]], KEYS, empty_state)
    with pytest.raises(BadFile, match="the file before it is missing"):
        load_chain([paths[0], files.part_path(tmp_path / "other", 2)], KEYS, empty_state)


def test_a_part_alone_is_no_backup(tmp_path: Path) -> None:
    grow(tmp_path, 2)
    with pytest.raises(files.SnapshotCorrupt, match="is a part"):
        load_snapshot(files.part_path(tmp_path, 2), KEYS, empty_state)


def test_the_chain_before_and_the_journal_behind_it_stay_until_the_next_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshotter, "MOST_PARTS", 1)
    kept = []
    for _ in range(6):
        grow(tmp_path, 1)
        kept.append((names(tmp_path), list_segments(tmp_path)[0][0]))
    assert kept[3:] == [
        (["snapshot 1", "changes 2", "snapshot 3", "changes 4"], 3),
        (["snapshot 3", "changes 4", "snapshot 5"], 5),
        (["snapshot 3", "changes 4", "snapshot 5", "changes 6"], 5),
    ]


def test_whole_snapshots_are_written_until_no_file_needs_an_older_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, 2)
    keys = KEYS.with_newest(new_key())
    monkeypatch.setattr(KEYS, "_keys", keys._keys)
    grow(tmp_path, 3)
    assert names(tmp_path) == ["snapshot 3", "snapshot 4", "changes 5"]
    assert {files.SnapshotReader(path).header.key_id for _, path in files.list_files(tmp_path)} == {
        keys.newest
    }


def test_after_more_changes_than_are_noted_comes_a_whole_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST", 0)
    grow(tmp_path, 3)
    assert names(tmp_path) == ["snapshot 2", "snapshot 3"]


def test_a_part_that_fails_leaves_its_changes_to_the_next_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            taker = snapshotter_of(tmp_path, ledger, journal)
            ledger.commit(listed())
            await taker.take()
            for user in (1, 2):
                ledger.commit([voted(user)])
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(files.SnapshotFile, "add", fail)
                    with pytest.raises(OSError, match="full"):
                        await taker.take()
            ledger.commit([voted(3)])
            await taker.take()

    run(main())
    assert names(tmp_path) == ["snapshot 1", "changes 4"]


def fail(*_: object) -> None:
    raise OSError("full")


def test_each_snapshot_and_part_is_told_of(tmp_path: Path) -> None:
    told = list[int]()

    async def keep(position: int) -> None:
        told.append(position)

    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            taker = snapshotter_of(tmp_path, ledger, journal)
            taker.beside.append(keep)
            for events in (listed(), [voted(1)]):
                ledger.commit(events)
                await taker.take()

    run(main())
    assert told == [1, 2]


# -- what a part says ----------------------------------------------------------------------------------------


def test_a_vote_that_was_removed_and_cast_again_has_its_new_count(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.apply([*listed(), voted(1, count=5)])
    chain.write([])
    chain.apply([VotesRemoved(BOT_REF, ("1",), "Bought votes.", NOW_MS), voted(1, count=1)])
    chain.write([])
    assert chain.recovered().votes.get(BOT_REF, 1) == (1, NOW_MS)


class Noted(list[int]):
    """Users as an array has them. It knows the most that were read at once."""

    most = 0

    def __iter__(self) -> Iterator[int]:
        self.most = max(self.most, len(self))
        return super().__iter__()

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.most = max(self.most, len(found))
        return found


def test_many_votes_for_one_listing_are_copied_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_copy, "VOTES_PER_CHUNK", 4)
    live = empty_state()
    live.take_changes()
    apply_events(live, [*listed(), *map(voted, range(1, 10))])
    found = live.take_changes()
    assert found is not None
    noted: Any = Noted(found.votes[BOT_REF])
    found.votes[BOT_REF] = noted
    with StateCopy(live, found, b"salt") as copy:
        leaves = [chunk.rows for chunk in copy if isinstance(chunk, files.ChangedVotesChunk)]
    assert [sum(len(leaf) // 16 for _, leaf, _ in rows) for rows in leaves] == [4, 4, 1]
    assert noted.most == 4


def test_a_listing_that_went_and_came_back_has_its_new_votes_alone(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.apply([*listed(), voted(1), voted(2), *listed(OTHER_REF), voted(1, ref=OTHER_REF)])
    chain.write([])
    chain.apply([ListingRemoved(BOT_REF), ListingRemoved(OTHER_REF), *listed(), voted(3)])
    chain.write([])
    recovered = chain.recovered()
    assert [user for user, _, _ in recovered.votes.votes(BOT_REF)] == [3]
    assert OTHER_REF not in recovered.listings
    assert_same(recovered, chain.live)


def test_deliveries_that_finished_come_behind_those_that_had_finished_before(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.apply(listed(url="http://127.0.0.1/"))
    for name in "abc":
        chain.apply(
            [
                DeliveryQueued(name, BOT_REF, "5", False, NOW_MS),
                DeliveryAttempted(name, BOT_REF, 1, Attempt(NOW_MS, 1, 200, None, ""), "delivered", None),
            ]
        )
        chain.write([])
    size = len(chain.live.deliveries.finished[BOT_REF])
    assert_same(chain.recovered(), chain.live)
    assert [row.id for row in chain.recovered().deliveries.finished[BOT_REF]] == [*"abc"][-size:]


def test_cooldowns_that_are_over_do_not_come_back(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.apply([CooldownsKept((("m1", NOW_MS + 9),), NOW_MS)])
    chain.write([])
    chain.apply([CooldownsKept((("m2", NOW_MS + 99),), NOW_MS + 10)])
    chain.write([])
    assert dict(chain.recovered().cooldowns) == {"m2": NOW_MS + 99}


def test_votes_of_other_nodes_that_came_before_their_listing_become_its_votes(tmp_path: Path) -> None:
    chain = Chain(tmp_path)
    chain.apply(
        [NodeNamed("a.1"), VoteCast(BOT_REF, "5", 1, NOW_MS, "b.1"), VoteCast(BOT_REF, "5", 1, NOW_MS, "c.1")]
    )
    chain.write([])
    chain.apply([*listed(), VoteCast(BOT_REF, "5", 2, NOW_MS, "b.1")])
    chain.write([])
    recovered = chain.recovered()
    assert list(recovered.listings.unlisted) == []
    assert dict(recovered.votes.parts(BOT_REF, 5)) == {1: 2, 2: 1}
    assert_same(recovered, chain.live)


# -- inspection ----------------------------------------------------------------------------------------------


def verified(folder: Path) -> list[tuple[str, bool]]:
    """Return the kind of each snapshot and part, and whether it is good."""
    findings = verify_folder(on(folder), empty_state, lambda _: lambda *_: None).findings
    found = [(finding.what.partition("-")[0], finding.good) for finding in findings]
    return [each for each in found if each[0] in {"snapshot", "changes"}]


def test_parts_are_listed_and_verified(tmp_path: Path) -> None:
    digest = grow(tmp_path, 3)[-1]
    found = [each for each in found_in(tmp_path) if each.kind in {"snapshot", "part"}]
    assert [(each.kind, each.position) for each in found] == [("snapshot", 1), ("part", 2), ("part", 3)]
    assert {each.key_id for each in found} == {KEYS.newest.hex()}
    assert contents_of(files.part_path(tmp_path, 3), KEYS).votes == 1
    assert verified(tmp_path) == [("snapshot", True), ("changes", True), ("changes", True)]
    assert verify_folder(on(tmp_path), empty_state, lambda _: lambda *_: None).digest == digest


def test_parts_behind_a_damaged_one_are_of_no_use(tmp_path: Path) -> None:
    grow(tmp_path, 4)
    path = files.part_path(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:-1])
    assert verified(tmp_path) == [
        ("snapshot", True),
        ("changes", True),
        ("changes", False),
        ("changes", False),
    ]


def test_the_key_of_a_part_is_needed(tmp_path: Path) -> None:
    grow(tmp_path, 2)
    for path in (files.snapshot_path(tmp_path, 1), *(path for _, path in list_segments(tmp_path))):
        path.unlink()
    assert needed_keys(tmp_path) == {KEYS.newest}
