"""A snapshot file: the whole state as of a position, and votes possibly newer. Law: all of it, or none.

    magic 8s | chunk, chunk, ...        chunk: length u32 | crc u32 | msgpack, one of the structs below

A chunk's CRC-32 is seeded with the CRC of the chunk before it, and the last chunk counts the rows, so a
file that is cut, damaged or put together from two is refused whole. Files are named
"snapshot-<position, 20 digits>"; while one is written it is called ".tmp" and does not count.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from core.rows import Delivery, Listing

PREFIX = "snapshot-"
TMP_SUFFIX = ".tmp"
MAGIC = b"VGSNAP\x00\x01"
_CHUNK = struct.Struct("<II")


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="header"):
    position: int
    created_ms: int


class Listings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="listings"):
    rows: list[Listing]


class Deliveries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="deliveries"):
    rows: list[Delivery]


class VoteColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="votes"):
    """(ref, user ids, packed votes) per listing: the columns of `votes/table.py`."""

    rows: list[tuple[str, bytes, bytes]]


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="end"):
    rows: int


Chunk = Header | Listings | Deliveries | VoteColumns | End

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Chunk).decode


class SnapshotCorrupt(Exception):
    """The file is not a whole snapshot of this version."""


class SnapshotFile:
    """Writes chunks to an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._crc = 0
        self._file.write(MAGIC)

    def write(self, chunk: Chunk) -> None:
        payload = _encode(chunk)
        self._crc = zlib.crc32(payload, self._crc)
        self._file.write(_CHUNK.pack(len(payload), self._crc) + payload)


def read_chunks(path: Path) -> Iterator[Chunk]:
    """The chunks of a file. Raises SnapshotCorrupt, possibly after some were given."""
    rows = crc = 0
    chunk: Chunk | None = None
    with path.open("rb") as file:
        size = path.stat().st_size
        if file.read(len(MAGIC)) != MAGIC:
            raise SnapshotCorrupt(f"{path} is not a snapshot of this version")
        while head := file.read(_CHUNK.size):
            if isinstance(chunk, End) or len(head) < _CHUNK.size:
                raise SnapshotCorrupt(f"{path} does not end where it should")
            length, stored = _CHUNK.unpack(head)
            payload = file.read(min(length, size))  # a damaged length takes no memory for what is not there
            crc = zlib.crc32(payload, crc)
            if len(payload) != length or crc != stored:
                raise SnapshotCorrupt(f"{path} fails its checksum")
            try:
                chunk = _decode(payload)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise SnapshotCorrupt(f"{path} holds what this version does not know: {error}") from error
            if isinstance(chunk, Listings | Deliveries | VoteColumns):
                rows += len(chunk.rows)
            yield chunk
    if not isinstance(chunk, End) or chunk.rows != rows:
        raise SnapshotCorrupt(f"{path} is incomplete")


def snapshot_path(folder: Path, position: int) -> Path:
    return folder / f"{PREFIX}{position:020d}"


def list_snapshots(folder: Path) -> list[tuple[int, Path]]:
    """(position, path), oldest first; unfinished ones left out."""
    found = []
    for path in folder.glob(PREFIX + "*"):
        digits = path.name.removeprefix(PREFIX)
        if len(digits) == 20 and digits.isdecimal() and digits.isascii():
            found.append((int(digits), path))
    return sorted(found)
