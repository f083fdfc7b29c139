"""The state as files that other programs read.

Invariant: `export.json` comes last, so a folder with it is whole.

An export is a folder of listings, votes, deliveries and users (`snapshot/export_format.py`) and of
`export.json`, which holds the position and the digest of the state and the number of rows in each file.
Nothing in it is encrypted.
"""

import contextlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec

from core.rows import Delivery, Listing
from core.state import State
from core.user_rows import UserRow
from snapshot.export_format import CountedVotes, Format, Kind, Row, Vote, encoded
from snapshot.recovery import Progress
from storage.disk import OS_DISK, Disk, write_all

VERSION = 5
MANIFEST = "export.json"
TABLES: dict[str, Kind] = {
    "listings": Listing,
    "votes": Vote,
    "deliveries": Delivery,
    "users": UserRow,
    "counts": CountedVotes,
}
"""In reading order: listings come before the rows that belong to them."""
ROWS_PER_STEP = 4_096


class RowCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    listings: int
    votes: int
    deliveries: int
    users: int
    counts: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `export.json`. `format` is the suffix of the other files."""

    version: int
    format: Format
    position: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
    digest: str
    rows: RowCounts


class NotEmpty(Exception):
    """The folder to export into is not empty."""


def counts_of(state: State) -> RowCounts:
    unfinished = len(state.deliveries.pending) + sum(map(len, state.deliveries.remote.values()))
    deliveries = unfinished + sum(map(len, state.deliveries.finished.values()))
    unlisted = sum(map(state.votes.voters, state.listings.unlisted))  # an export leaves these out
    counts = sum(1 for _ in _counted(state))
    return RowCounts(len(state.listings), len(state.votes) - unlisted, deliveries, len(state.users), counts)


def export_state(
    state: State,
    position: int,
    out: Path,
    written_as: Format,
    disk: Disk = OS_DISK,
    progress: Progress = lambda *_: None,
) -> Manifest:
    """Write the state into a new or empty folder, for one user only, durably. `progress` counts rows.

    Raises NotEmpty and OSError, and leaves nothing in the folder then.
    """
    out.mkdir(mode=0o700, exist_ok=True)
    if any(out.iterdir()):
        raise NotEmpty(f"{out} is not empty; name a new or an empty folder")
    out.chmod(0o700)
    manifest = Manifest(VERSION, written_as, position, state.digest(), counts_of(state))
    counted = _Counted(sum(msgspec.structs.astuple(manifest.rows)), progress)
    written: list[Path] = []
    try:
        for name, kind in TABLES.items():
            written.append(out / f"{name}.{written_as}")
            rows = counted.through(_TABLE_ROWS[name](state))
            _write(disk, written[-1], encoded(rows, kind, written_as))
        written.append(out / MANIFEST)
        _write(disk, written[-1], [msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"])
        disk.sync_folder(out)
    except BaseException:
        for path in reversed(written):
            with contextlib.suppress(OSError):  # the caller gets the error that made it fail
                disk.unlink(path)
        raise
    return manifest


class _Counted:
    def __init__(self, total: int, progress: Progress) -> None:
        self._done = 0
        self._total = total
        self._progress = progress

    def through(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            if self._done % ROWS_PER_STEP == 0:
                self._progress(self._done, self._total)
            self._done += 1
            yield row


def _write(disk: Disk, path: Path, pieces: Iterable[bytes]) -> None:
    file, size = disk.create(path), 0
    try:
        for piece in pieces:
            write_all(disk, file, piece, size)
            size += len(piece)
        disk.sync(file)
    finally:
        disk.close(file)


def _listings(state: State) -> Iterator[Row]:
    for ref in state.listings.refs:
        yield state.listings[ref]


def _votes(state: State) -> Iterator[Row]:
    for ref in state.listings.refs:
        for user, count, last_ms in state.votes.votes(ref):
            yield Vote(ref, str(user), count, last_ms)


def _deliveries(state: State) -> Iterator[Row]:
    """Yield all deliveries. Finished ones keep their order, because a start drops the oldest first."""
    yield from chain.from_iterable(state.deliveries.finished.values())
    for elsewhere in state.deliveries.remote.values():
        yield from elsewhere.values()
    yield from state.deliveries.pending.values()


def _users(state: State) -> Iterator[Row]:
    for ref in state.users.refs:
        yield state.users[ref]


def _counted(state: State) -> Iterator[str]:
    """Yield the listings with votes by day and month."""
    return (ref for ref in state.listings.refs if state.vote_counts.rows(ref))


def _counts(state: State) -> Iterator[Row]:
    for ref in _counted(state):
        yield CountedVotes(ref, state.vote_counts.summed(ref))


_TABLE_ROWS = {
    "listings": _listings,
    "votes": _votes,
    "deliveries": _deliveries,
    "users": _users,
    "counts": _counts,
}
