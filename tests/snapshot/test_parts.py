"""snapshot/: a whole snapshot and the parts behind it hold the same as the state that they were taken of."""

from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import row_copy
from core.events import (
    Event,
    NodeNamed,
)
from core.state import State
from snapshot import files, snapshotter
from snapshot.recovery import apply_events, load_chain
from tests.support.examples import examples
from tests.support.generated_events import sequences
from tests.support.journals import KEYS
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import NOW_MS
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
        with files.StateCopy(self.live, noted if self.paths else None, self._salt) as copy:
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
