"""A snapshot file: the state as of a position, with votes that may be newer; or a part, with what has changed
since the file before it.

Invariant: a file is whole or refused.

    header   magic 8s | position u64 | created u64, Unix milliseconds | key id 8s | salt 16s
             | crc u32 of the fields before it, so that a damaged key id is told from a missing key
    chunk    length u32 | sealed (storage/sealing.py): msgpack, one of the structs below
    ...

All numbers are little-endian. A chunk is bound to the header and to its number in the file, and the last one
counts the rows, so a file that is cut, damaged or put together from two is refused whole. A file is named
"snapshot-<position, 20 digits>", and a part "changes-<position>". While it is written, its name ends with
".tmp" and it does not count.

A chain is a whole snapshot and the parts behind it. Each part names the salt of the file before it, so that
nobody puts together parts of two chains. It has the rows of each listing and user that have changed, as they
are, and each vote that has changed. So a chain is loaded file by file, and the newest row or vote counts.
"""

import contextlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from blobs.sealed_blobs import Blob
from core.fleet_table import Cooldown
from core.packing import FIELDS, SHAPE, PackedRow, pack, pack_user, unpack, unpack_user
from core.rows import Delivery, FleetRow, Listing
from core.user_rows import UserRow
from core.vote_table import counted_in
from storage.disk import Disk, write_all
from storage.folder import UNFINISHED, list_numbered
from storage.sealing import KEY_ID_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES, Keyring, Seal, Unsealable

PREFIX = "snapshot-"
PART_PREFIX = "changes-"
MAGIC = b"VGSNAP\x00\x03"
_HEADER = struct.Struct(f"<8sQQ{KEY_ID_BYTES}s{SALT_BYTES}s")
_CRC = _LENGTH = struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CRC.size
_NUMBER = struct.Struct("<Q")
SYNC_BYTES = 4 << 20
"""The writer syncs after this many bytes, so that the journal's syncs never wait for many dirty pages."""


class Header(NamedTuple):
    position: int
    created_ms: int
    key_id: bytes
    salt: bytes


class ListingsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="listings"):
    """Listings as rows. The encoder packs them; a reader gets them from files with rows of another shape."""

    rows: list[Listing]


class ShapeChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="shape"):
    """The first chunk: the shape of the packed rows in the file, and the fields of each type of row."""

    shape: str
    fields: dict[str, tuple[str, ...]]


class PackedChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="packed"):
    """Listings as a file holds them. A look-up unpacks them later: see `core/packing.py`.

    `keys` is the number of their API keys. A start unpacks the refs in `at_once` right away.
    """

    refs: list[str]
    rows: list[bytes]
    keys: int
    at_once: list[str]


class DeliveriesChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="deliveries"):
    rows: list[Delivery]


class UsersChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="users"):
    """Packed users, with the digests of the sessions of each, and the refs of those that other indexes find,
    too: see `core/user_table.py`."""

    refs: list[str]
    rows: list[bytes]
    sessions: list[list[str]]
    indexed: list[str]


class LeavesChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="votes"):
    """(ref, leaf): a leaf of `core/vote_table.py` holds user ids and packed votes of a listing's voters.

    The encoder adds `counted`, the sum of the counts in each leaf, so that a start need not sum them.
    """

    rows: list[tuple[str, bytes]]
    counted: list[int] = []


class CountsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="counts"):
    """(ref, rows): the votes of a listing by day and month, in rows of `core/vote_counts.py`."""

    rows: Sequence[tuple[str, Sequence[bytes]]]


VotesOfNodes = tuple[str, int, dict[int, int]]


class PartsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="parts"):
    """(ref, user, count by number of node) for users who voted at several nodes of a fleet. Their votes come
    before it."""

    rows: list[VotesOfNodes]


class FleetChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="fleet"):
    """The memory of a node about its fleet: one row."""

    rows: list[FleetRow]


class CooldownsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cooldowns"):
    rows: list[Cooldown]


class BaseChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="base"):
    """The first chunk of a part: the salt of the file before it."""

    rows: list[bytes]


class ChangedChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="changed"):
    """(ref, kept): listings and users whose rows a part replaces, in the chunks that follow. Those without a
    row there are gone. `kept` is the number of newest finished deliveries of the file before that stay."""

    rows: list[tuple[str, int]]


class VotesGoneChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="votes_gone"):
    """Listings that have lost all votes since the file before. Votes since then follow."""

    rows: list[str]


class ChangedVotesChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="changed_votes"):
    """(ref, leaf, removed): votes that have changed, as a leaf, and the users whose votes were removed."""

    rows: list[tuple[str, bytes, bytes]]


class RecordsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="records"):
    """The journal behind the file's position. Only a backup has it, because no journal lies beside that."""

    rows: list[bytes]


class BlobsChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="blobs"):
    """Files of listings with their content. Only a backup has them: no folder of them lies beside it."""

    rows: list[Blob]


class EndChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="end"):
    """The last chunk. The file holds nothing newer than `durable`, and needs the journal up to there."""

    rows: int
    durable: int


OfPart = BaseChunk | ChangedChunk | VotesGoneChunk | ChangedVotesChunk
"""The chunks that only a part has."""
Copied = (
    FleetChunk
    | CooldownsChunk
    | ListingsChunk
    | PackedChunk
    | DeliveriesChunk
    | UsersChunk
    | CountsChunk
    | LeavesChunk
    | PartsChunk
    | OfPart
)
Chunk = Copied | RecordsChunk | BlobsChunk | EndChunk

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ShapeChunk | Chunk).decode


def packed(rows: Sequence[Listing]) -> PackedChunk:
    return PackedChunk(
        [row.ref for row in rows],
        list(map(pack, rows)),
        sum(len(row.keys) for row in rows),
        [row.ref for row in rows if _is_for_at_once(row)],
    )


def _is_for_at_once(row: Listing) -> bool:
    """Return True if somebody asks for the row without its ref: see `core/listing_table.py`."""
    webhook = row.webhook
    is_failing = webhook is not None and (webhook.failed > 0 or webhook.suspension is not None)
    is_untold = row.message is not None and row.message.next_attempt_ms is not None
    return is_failing or is_untold or bool(row.flags or row.open_reports)


def still_packed(rows: Sequence[PackedRow]) -> PackedChunk:
    """Return a chunk of rows that are still packed, because nobody has asked for them."""
    return PackedChunk(
        [row.ref for row in rows], [row.content for row in rows], sum(row.keys for row in rows), []
    )


def packed_users(rows: Sequence[UserRow]) -> UsersChunk:
    return UsersChunk(
        [row.ref for row in rows],
        list(map(pack_user, rows)),
        [[session.digest for session in row.sessions] for row in rows],
        [row.ref for row in rows if row.is_indexed],
    )


class SnapshotCorrupt(Exception):
    """The file is not a whole snapshot of this version."""


class SnapshotEncoder:
    """An encoder for the bytes of one file: first `header`, then one `encode` for each chunk. It adds the
    shape."""

    def __init__(self, position: int, created_ms: int, seal: Seal) -> None:
        fields = _HEADER.pack(MAGIC, position, created_ms, seal.key_id, seal.salt)
        self.fields = Header(position, created_ms, seal.key_id, seal.salt)
        self.header = fields + _CRC.pack(zlib.crc32(fields))
        self._seal = seal
        self._chunks = 0

    def encode(self, chunk: Chunk) -> bytes:
        if isinstance(chunk, ListingsChunk):
            chunk = packed(chunk.rows)
        elif isinstance(chunk, LeavesChunk):
            chunk = LeavesChunk(chunk.rows, [counted_in(leaf) for _, leaf in chunk.rows])
        return (b"" if self._chunks else self._sealed(ShapeChunk(SHAPE, FIELDS))) + self._sealed(chunk)

    def _sealed(self, chunk: Chunk | ShapeChunk) -> bytes:
        sealed = self._seal.seal(_encode(chunk), self.header + _NUMBER.pack(self._chunks))
        self._chunks += 1
        return _LENGTH.pack(len(sealed)) + sealed


class SnapshotFile:
    """A snapshot being written, under a name that does not count until it is whole."""

    def __init__(self, disk: Disk, path: Path, encoder: SnapshotEncoder) -> None:
        self.size = 0
        self._disk = disk
        self._path = path
        self._unfinished = path.with_name(path.name + UNFINISHED)
        self._encoder = encoder
        self._unsynced = 0
        self.is_whole = False
        """True once it counts."""
        self._file = disk.create(self._unfinished)

    @property
    def header(self) -> Header:
        return self._encoder.fields

    def add(self, chunk: Chunk) -> None:
        if self.size == 0:
            self._write(self._encoder.header)
        self._write(self._encoder.encode(chunk))
        if self._unsynced >= SYNC_BYTES:
            self._disk.sync(self._file)
            self._unsynced = 0

    def _write(self, content: bytes) -> None:
        write_all(self._disk, self._file, content, self.size)
        self.size += len(content)
        self._unsynced += len(content)

    def finish(self) -> None:
        self._disk.sync(self._file)
        self._disk.rename(self._unfinished, self._path)
        self.is_whole = True

    def close(self) -> None:
        """Close the file, and delete it unless it is whole."""
        self._disk.close(self._file)
        if not self.is_whole:
            with contextlib.suppress(OSError):  # the caller gets the error that made it fail
                self._disk.unlink(self._unfinished)


class SnapshotReader:
    """A reader of one file."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises SnapshotCorrupt if the file is not a snapshot of this version."""
        if (
            path.exists() and not path.is_file()
        ):  # a pipe can be read only once, and a read of it may never return
            raise SnapshotCorrupt(f"{path} is a pipe or a folder; name a file")
        self.path = path
        self.size = path.stat().st_size
        self.read_bytes = _HEADER.size
        """The number of bytes that `chunks` has read."""
        with path.open("rb") as file:
            self._raw_header = file.read(HEADER_BYTES)
        if not self._raw_header.startswith(MAGIC[:-1]):
            raise SnapshotCorrupt(f"{path} is not a snapshot")
        if not self._raw_header.startswith(MAGIC):
            raise SnapshotCorrupt(f"{path} is a snapshot of another version of Votegate")
        if len(self._raw_header) < HEADER_BYTES:
            raise SnapshotCorrupt(f"{path} is incomplete")
        if self._raw_header[_HEADER.size :] != _CRC.pack(zlib.crc32(self._raw_header[: _HEADER.size])):
            raise SnapshotCorrupt(f"{path} is damaged in its header")
        self.header = Header(*_HEADER.unpack_from(self._raw_header)[1:])

    def chunks(self, keys: Keyring) -> Iterator[Chunk]:
        """Yield the chunks. Raises KeyMissing, and SnapshotCorrupt, possibly behind some good chunks."""
        seal = keys.seal_of(self.path, self.header.key_id, self.header.salt)
        rows, is_of_our_shape = 0, False
        chunk: Chunk | None = None
        for piece in self.unsealed(seal):
            if isinstance(chunk, EndChunk):
                raise SnapshotCorrupt(f"{self.path} does not end where it should")
            try:
                decoded = _decode(piece)
                if isinstance(decoded, ShapeChunk):
                    is_of_our_shape = decoded.shape == SHAPE
                    _refuse_unreadable(decoded)
                    continue
                chunk = decoded if is_of_our_shape else _in_our_shape(decoded)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise SnapshotCorrupt(
                    f"{self.path} has content that this version does not know: {error}"
                ) from error
            if not isinstance(chunk, EndChunk):
                rows += len(chunk.rows)
            yield chunk
        if not isinstance(chunk, EndChunk) or chunk.rows != rows:
            raise SnapshotCorrupt(f"{self.path} is incomplete")

    def unsealed(self, seal: Seal) -> Iterator[bytes]:
        """Yield the bytes of each chunk. Raises SnapshotCorrupt."""
        with self.path.open("rb") as file:
            file.seek(HEADER_BYTES)
            number = 0
            while length := file.read(_LENGTH.size):
                try:
                    yield seal.unseal(self._piece(file, length), self._raw_header + _NUMBER.pack(number))
                except Unsealable:
                    raise SnapshotCorrupt(f"{self.path} is damaged at byte {self.read_bytes}") from None
                self.read_bytes = file.tell()
                number += 1

    def _piece(self, file: BinaryIO, length: bytes) -> bytes:
        size = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else 0
        # A damaged length must not allocate more memory than the file has bytes.
        piece = file.read(min(size, self.size))
        if not NONCE_BYTES + TAG_BYTES <= len(piece) == size:
            raise SnapshotCorrupt(f"{self.path} is cut off or damaged at byte {file.tell() - len(piece)}")
        return piece


def _refuse_unreadable(chunk: ShapeChunk) -> None:
    """Raise DecodeError if this version has other fields than the file, but for new ones at the end."""
    for name, fields in chunk.fields.items():
        if FIELDS.get(name, ())[: len(fields)] != fields:
            raise msgspec.DecodeError(f"a {name} with the fields {', '.join(fields)}")


def _in_our_shape(chunk: "Chunk") -> "Chunk":
    """Return a chunk of a version whose rows had fewer fields. Raises DecodeError."""
    match chunk:
        case PackedChunk():
            return ListingsChunk(list(map(unpack, chunk.rows)))
        case UsersChunk():
            return packed_users(list(map(unpack_user, chunk.rows)))
        case _:
            return chunk


class Chain(NamedTuple):
    """A whole snapshot and the parts behind it."""

    whole: int = 0
    """The position of the snapshot; 0 without one."""
    position: int = 0
    """The position of the last file."""
    salt: bytes = b""
    """The salt of the last file."""
    created_ms: int = 0
    """The wall time at which the last file was begun: it holds all that was durable then."""
    whole_ms: int = 0
    """The wall time at which the snapshot was begun."""
    whole_bytes: int = 0
    last_bytes: int = 0
    """The bytes of the last file."""
    parts: int = 0
    part_bytes: int = 0
    is_broken: bool = False
    """True if a newer file was damaged: then no part continues the chain."""

    def with_file(self, file: "SnapshotReader | SnapshotFile") -> "Chain":
        """Return the chain with one more file; without a salt, the chain that begins with it."""
        header, size = file.header, file.size
        if not self.salt:
            position, at_ms = header.position, header.created_ms
            return Chain(position, position, header.salt, at_ms, at_ms, size, size)
        return self._replace(
            position=header.position,
            salt=header.salt,
            created_ms=header.created_ms,
            last_bytes=size,
            parts=self.parts + 1,
            part_bytes=self.part_bytes + size,
        )


NO_CHAIN = Chain()


def snapshot_path(folder: Path, position: int) -> Path:
    return folder / f"{PREFIX}{position:020d}"


def list_snapshots(folder: Path) -> list[tuple[int, Path]]:
    """Return (position, path) of each whole snapshot, oldest first."""
    return list_numbered(folder, PREFIX)


def part_path(folder: Path, position: int) -> Path:
    return folder / f"{PART_PREFIX}{position:020d}"


def list_parts(folder: Path) -> list[tuple[int, Path]]:
    """Return (position, path) of each whole part, oldest first."""
    return list_numbered(folder, PART_PREFIX)


def position_of(path: Path) -> int:
    """Return the position in the name of a file."""
    return int(path.name.rpartition("-")[2])


def list_chains(folder: Path) -> list[list[Path]]:
    """Return the paths of each snapshot and of the parts behind it, the oldest chain first."""
    chains = list[list[Path]]()
    for _, path in list_files(folder):
        if path.name.startswith(PREFIX):
            chains.append([path])
        elif chains:
            chains[-1].append(path)
    return chains


def list_files(folder: Path) -> list[tuple[int, Path]]:
    """Return (position, path) of all snapshots and parts, oldest first."""
    return sorted([*list_snapshots(folder), *list_parts(folder)])
