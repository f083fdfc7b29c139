"""The state as files that other programs read: NDJSON, or CSV.

Invariant: a row that was written is read back equal. `export.json` comes last, so a folder with it is whole.

An export is a folder with one file for each table, the files of listings in the folder `files`, and
`export.json`, which holds the position and the digest of the state and the number of rows in each table.
Nothing in it is encrypted.

NDJSON is one JSON object a line. CSV has a head line and one column for each field. A cell holds a field that
is always a text as it is, and every other field as JSON: an absent text is `null`.
"""

import contextlib
import csv
import io
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, get_origin

import msgspec

from blobs.blob_names import named_in
from blobs.sealed_blobs import Blob
from core.rows import Delivery, Listing, NodeCounts
from core.state import State
from core.user_rows import UserRow
from forms.file_fields import EXTENSIONS, FileRef
from snapshot.recovery import Progress
from storage.disk import OS_DISK, Disk, write_file

ROWS_PER_PIECE = 1_024


class Vote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One user's votes for a listing, as a count. `last_ms` is the time of the latest one."""

    ref: str
    user: str
    count: int
    last_ms: int


class CountedVotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The votes for a listing by day and month, of all nodes together: see `NodeCounts`."""

    ref: str
    counts: NodeCounts


Format = Literal["ndjson", "csv"]
Row = Listing | Vote | CountedVotes | Delivery | UserRow
Kind = type[Listing] | type[Vote] | type[CountedVotes] | type[Delivery] | type[UserRow]


class ExportCorrupt(Exception):
    """The folder is not a whole export of this version."""


_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder().decode


def encoded(rows: Iterable[Row], kind: Kind, written_as: Format) -> Iterator[bytes]:
    """Yield the bytes of the file with these rows, in pieces."""
    rows = iter(rows)
    if written_as == "csv":
        yield _csv_lines([[field.name for field in msgspec.structs.fields(kind)]])
    cells = _cells(kind)
    while few := list(itertools.islice(rows, ROWS_PER_PIECE)):
        yield _encode_lines(few) if written_as == "ndjson" else _csv_lines(map(cells, few))


def decoded(file: BinaryIO, path: Path, kind: Kind, written_as: Format) -> Iterator[Row]:
    """Yield the rows of a file that is open to read. Raises ExportCorrupt with the number of a bad row."""
    number = 1
    from_ndjson = map(msgspec.json.Decoder(kind).decode, file)
    try:
        for row in from_ndjson if written_as == "ndjson" else _from_csv(file, kind):
            yield row
            number += 1
    except (msgspec.DecodeError, UnicodeDecodeError, csv.Error) as error:
        raise ExportCorrupt(f"{path}: row {number} cannot be read: {error}") from None


def _from_csv(file: BinaryIO, kind: Kind) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)
    known = msgspec.structs.fields(kind)
    lines = csv.reader((line.decode() for line in file), strict=True)
    names = next(lines, [])
    if names != [field.name for field in known]:
        raise csv.Error(f"the columns must be {','.join(field.name for field in known)}")
    reads = [str if name in _plain(kind) else _decode for name in names]
    for cells in lines:
        if len(cells) != len(names):
            raise csv.Error(f"it has {len(cells)} cells instead of {len(names)}")
        yield msgspec.convert(
            {name: read(cell) for name, read, cell in zip(names, reads, cells, strict=True)}, kind
        )


def _cells(kind: Kind) -> Callable[[Row], list[str]]:
    names, plain = [field.name for field in msgspec.structs.fields(kind)], _plain(kind)

    def cells(row: Row) -> list[str]:
        values: list[Any] = [getattr(row, name) for name in names]
        return [
            value if name in plain else _encode(value).decode()
            for name, value in zip(names, values, strict=True)
        ]

    return cells


def _plain(kind: Kind) -> set[str]:
    """Return the names of the columns that are always texts."""
    fields = msgspec.structs.fields(kind)
    return {field.name for field in fields if field.type is str or get_origin(field.type) is Literal}


def _csv_lines(lines: Iterable[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()


VERSION = 5
MANIFEST = "export.json"
ROWS_PER_STEP = 4_096


class RowCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of rows in each file."""

    listings: int
    votes: int
    deliveries: int
    users: int
    counts: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `export.json`. `format` is the suffix of the tables. `files` are those of listings, in
    the folder `files`."""

    version: int
    format: Format
    position: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
    digest: str
    rows: RowCounts
    files: tuple[FileRef, ...] = ()


class NotEmpty(Exception):
    """The folder to export into is not empty."""


def counts_of(state: State) -> RowCounts:
    unfinished = len(state.deliveries.pending) + sum(map(len, state.deliveries.remote.values()))
    deliveries = unfinished + sum(map(len, state.deliveries.finished.values()))
    unlisted = sum(map(state.votes.voters, state.listings.unlisted))  # an export leaves these out
    counts = sum(1 for _ in _counted(state))
    return RowCounts(len(state.listings), len(state.votes) - unlisted, deliveries, len(state.users), counts)


def _listings(state: State) -> Iterator[Row]:
    for ref in state.listings.refs:
        yield state.listings[ref]


def _votes(state: State) -> Iterator[Row]:
    for ref in state.listings.refs:
        for user, count, last_ms in state.votes.votes(ref):
            yield Vote(ref, str(user), count, last_ms)


def _deliveries(state: State) -> Iterator[Row]:
    """Yield all deliveries. Finished ones keep their order, because a start drops the oldest first."""
    yield from itertools.chain.from_iterable(state.deliveries.finished.values())
    for elsewhere in state.deliveries.remote.values():
        yield from elsewhere.values()
    yield from state.deliveries.pending.values()


def _users(state: State) -> Iterator[Row]:
    for ref in state.users.refs:
        yield state.users[ref]


def _counted(state: State) -> Iterator[str]:
    """Yield the listings with votes by day and month that do not follow from their votes."""
    return (ref for ref in state.listings.refs if state.vote_counts.canonical(ref))


def _counts(state: State) -> Iterator[Row]:
    for ref in _counted(state):
        yield CountedVotes(ref, state.vote_counts.summed(ref))


class Table(NamedTuple):
    """A file of an export: the type of its rows, and the rows of a state."""

    kind: Kind
    rows: Callable[[State], Iterator[Row]]


TABLES = {
    "listings": Table(Listing, _listings),
    "votes": Table(Vote, _votes),
    "deliveries": Table(Delivery, _deliveries),
    "users": Table(UserRow, _users),
    "counts": Table(CountedVotes, _counts),
}
"""In reading order: listings come before the rows that belong to them."""


def export_state(
    state: State,
    position: int,
    out: Path,
    written_as: Format,
    disk: Disk = OS_DISK,
    progress: Progress = lambda *_: None,
    blobs: Iterable[Blob] = (),
) -> Manifest:
    """Write the state into a new or empty folder, for one user only, durably. `progress` counts rows. Of the
    `blobs` it writes those that listings name.

    Raises NotEmpty and OSError, and leaves nothing in the folder then.
    """
    out.mkdir(mode=0o700, exist_ok=True)
    if any(out.iterdir()):
        raise NotEmpty(f"{out} is not empty; name a new or an empty folder")
    out.chmod(0o700)
    manifest = Manifest(VERSION, written_as, position, state.digest(), counts_of(state))
    done, total = itertools.count(), sum(msgspec.structs.astuple(manifest.rows))
    written: list[Path] = []
    try:
        for name, table in TABLES.items():
            path = out / f"{name}.{written_as}"
            rows = _counting(table.rows(state), done, total, progress)
            write_file(disk, path, encoded(rows, table.kind, written_as))
            written.append(path)
        refs = []
        named = named_in(state)
        for blob in blobs:
            if blob.ref.digest in named:
                refs.append(blob.ref)
                written.append(_written(disk, out, blob))
        if refs:
            disk.sync_folder(out / BLOB_FOLDER)
        manifest = msgspec.structs.replace(manifest, files=tuple(refs))
        write_file(disk, out / MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"])
        written.append(out / MANIFEST)
        disk.sync_folder(out)
    except BaseException:
        for path in reversed(written):
            with contextlib.suppress(OSError):  # the caller gets the error that made it fail
                disk.unlink(path)
        with contextlib.suppress(OSError):
            (out / BLOB_FOLDER).rmdir()
        raise
    return manifest


BLOB_FOLDER = "files"


def blob_path(folder: Path, ref: FileRef) -> Path:
    """Return the path of a file of listings in the folder of an export."""
    return folder / BLOB_FOLDER / f"{ref.digest}.{EXTENSIONS.get(ref.media_type, 'bin')}"


def _written(disk: Disk, out: Path, blob: Blob) -> Path:
    path = blob_path(out, blob.ref)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_file(disk, path, [blob.content])
    return path


def _counting(rows: Iterable[Row], done: Iterator[int], total: int, progress: Progress) -> Iterator[Row]:
    for row in rows:
        at = next(done)
        if at % ROWS_PER_STEP == 0:
            progress(at, total)
        yield row
