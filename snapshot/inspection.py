"""An overview of a data folder or a file, without building a state.

Invariant: it changes nothing and reads little.

The overview of a folder comes from names and headers. They need no key, and do not change while a gateway
runs.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from journal.frames import HEADER_BYTES, BadBytes, decode_header
from journal.segments import PREFIX as SEGMENT_PREFIX
from journal.segments import TORN_SUFFIX, list_segments
from snapshot.files import (
    DeliveriesChunk,
    LeavesChunk,
    ListingsChunk,
    PackedChunk,
    RecordsChunk,
    SnapshotCorrupt,
    SnapshotReader,
    UsersChunk,
    list_snapshots,
)
from snapshot.recovery import Progress
from storage.folder import UNFINISHED, FolderUnusable
from storage.sealing import Keyring

_TORN = re.compile(rf"({SEGMENT_PREFIX}\d{{20}})-(\d+){re.escape(TORN_SUFFIX)}", re.ASCII)


class Found(msgspec.Struct, frozen=True):
    """A file. `position` is a snapshot's, or the first one of a segment; `key_id` is in hex."""

    path: str
    kind: Literal["snapshot", "segment", "torn", "unfinished"]
    bytes: int
    position: int | None = None
    created_ms: int | None = None
    key_id: str | None = None
    cut_from: str | None = None
    """The name of the segment that the torn bytes were cut from, at byte `cut_at`."""
    cut_at: int | None = None
    problem: str | None = None


class Contents(msgspec.Struct, frozen=True):
    """The contents of a snapshot or a backup, as numbers of rows.

    `records` follow the other rows, up to `last_position`. Votes may be newer than the header's position.
    """

    listings: int
    votes: int
    deliveries: int
    users: int
    records: int
    last_position: int


def found_in(folder: Path) -> Iterator[Found]:
    """Yield the files of a data folder. A file that is deleted meanwhile is left out."""
    readers = [
        *[(_snapshot, path) for _, path in list_snapshots(folder)],
        *[(_segment, path) for _, path in list_segments(folder)],
        *[(_torn, path) for path in sorted(folder.glob("*" + TORN_SUFFIX))],
        *[(_unfinished, path) for path in sorted(folder.glob("*" + UNFINISHED))],
    ]
    for reader, path in readers:
        with contextlib.suppress(FileNotFoundError):
            yield reader(path)


def needed_keys(folder: Path) -> set[bytes]:
    """Return the ids of the keys that segments and snapshots need.

    A torn write needs the key and the header of its segment. Raises FolderUnusable if a file does not tell
    its key.
    """
    needed = set[bytes]()
    for found in found_in(folder):
        if found.kind in ("snapshot", "segment"):
            if found.key_id is None:
                raise FolderUnusable(f"{found.path} does not tell which key it needs ({found.problem})")
            needed.add(bytes.fromhex(found.key_id))
    return needed


def snapshot_found(path: Path) -> Found:
    """Describe a snapshot or a backup by its header. Raises SnapshotCorrupt and OSError."""
    reader = SnapshotReader(path)
    header = reader.header
    return Found(str(path), "snapshot", reader.size, header.position, header.created_ms, header.key_id.hex())


def contents_of(path: Path, keys: Keyring, progress: Progress = lambda *_: None) -> Contents:
    """Count the rows of a snapshot or a backup. Raises SnapshotCorrupt, KeyMissing and OSError."""
    reader = SnapshotReader(path)
    listings = votes = deliveries = users = records = 0
    for chunk in reader.chunks(keys):
        match chunk:
            case ListingsChunk() | PackedChunk():
                listings += len(chunk.rows)
            case DeliveriesChunk():
                deliveries += len(chunk.rows)
            case UsersChunk():
                users += len(chunk.rows)
            case LeavesChunk():
                votes += sum(len(leaf) // 16 for _, leaf in chunk.rows)
            case RecordsChunk():
                records += len(chunk.rows)
        progress(reader.read_bytes, reader.size)
    return Contents(listings, votes, deliveries, users, records, reader.header.position + records)


def _snapshot(path: Path) -> Found:
    try:
        return snapshot_found(path)
    except SnapshotCorrupt as error:
        return Found(str(path), "snapshot", path.stat().st_size, problem=str(error))


def _segment(path: Path) -> Found:
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(HEADER_BYTES)
    try:
        header = decode_header(begin)
    except BadBytes as bad:
        return Found(str(path), "segment", size, problem=bad.reason)
    return Found(str(path), "segment", size, header.first, key_id=header.key_id.hex())


def _torn(path: Path) -> Found:
    name = _TORN.fullmatch(path.name)
    size = path.stat().st_size
    if name is None:
        return Found(str(path), "torn", size, problem="its name tells no segment")
    return Found(str(path), "torn", size, cut_from=name[1], cut_at=int(name[2]))


def _unfinished(path: Path) -> Found:
    return Found(str(path), "unfinished", path.stat().st_size)
