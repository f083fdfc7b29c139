"""From disk to state. Law: the state is the newest good snapshot and every record behind it, in order."""

import logging
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from core.events import UnknownEvent, decode_record
from core.state import State
from journal.segments import JournalReader, Tail, list_segments
from snapshot.files import (
    Deliveries,
    Header,
    Listings,
    SnapshotCorrupt,
    VoteColumns,
    list_snapshots,
    read_chunks,
)

log = logging.getLogger(__name__)


class Recovered(NamedTuple):
    state: State
    tail: Tail
    snapshot_position: int
    """Position of the snapshot it began from; 0 without one."""


class UnreadableRecord(Exception):
    """The journal holds a record that this version does not know."""


def recover(folder: Path, empty_state: Callable[[], State], until: int | None = None) -> Recovered:
    """Folds snapshot and journal into a fresh state, up to position `until` when it is given.

    A damaged snapshot is passed over, loudly, for the one before it. Raises JournalCorrupt,
    UnreadableRecord, and SnapshotCorrupt when there are snapshots without any journal beside them.
    """
    if any(position for position, _ in list_snapshots(folder)) and not list_segments(folder):
        raise SnapshotCorrupt(
            f"{folder} has snapshots but no journal: restore the whole folder from a backup"
        )
    position, state = _newest_good(folder, empty_state)
    reader = JournalReader(folder)
    records = reader.records(after=position)
    if until is not None:
        records = takewhile(lambda numbered: numbered[0] <= until, records)
    for number, record in records:
        try:
            events = decode_record(record)
        except UnknownEvent as error:
            raise UnreadableRecord(
                f"record {number} in {folder} was written by another version: {error}"
            ) from error
        for event in events:
            state.apply(event)
    return Recovered(state, reader.tail, position)


def _newest_good(folder: Path, empty_state: Callable[[], State]) -> tuple[int, State]:
    for position, path in reversed(list_snapshots(folder)):
        state = empty_state()
        try:
            _load(path, position, state)
        except SnapshotCorrupt as error:
            log.error("%s; falling back to the snapshot before it", error)
        else:
            return position, state
    return 0, empty_state()


def _load(path: Path, position: int, state: State) -> None:
    for chunk in read_chunks(path):
        match chunk:
            case Header():
                if chunk.position != position:
                    raise SnapshotCorrupt(f"{path} was renamed: it is of position {chunk.position}")
            case Listings() | Deliveries():
                for row in chunk.rows:
                    state.load(row)
            case VoteColumns():
                for ref, users, packed in chunk.rows:
                    state.load_votes(ref, (users, packed))
