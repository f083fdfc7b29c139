"""A file of sealed chunks that may grow. Invariant: a chunk that is read was written whole, at its place.

    header   magic 8s | form 16s | created u64, Unix milliseconds | key id 8s | salt 16s
             | crc u32 of the fields before it
    chunk    length u32 | sealed (storage/sealing.py)
    ...

All numbers are little-endian. `form` says which program can read the chunks. A chunk is bound to the header
and to its number in the file. The file does not tell where it ends: chunks that a reader needs say so
themselves. A chunk that a crash has cut off is the last one, and the next one takes its place.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from storage.disk import write_all
from storage.folder import UNFINISHED, Folder
from storage.sealing import KEY_ID_BYTES, SALT_BYTES, Seal, Unsealable

MAGIC = b"VGCHNK\x00\x01"
FORM_BYTES = 16
_HEADER = struct.Struct(f"<8s{FORM_BYTES}sQ{KEY_ID_BYTES}s{SALT_BYTES}s")
_CRC = _LENGTH = struct.Struct("<I")
_NUMBER = struct.Struct("<Q")
HEADER_BYTES = _HEADER.size + _CRC.size
SYNC_BYTES = 4 << 20
"""The writer syncs after this many bytes, so that the journal's syncs never wait for many dirty pages."""


class ChunksDamaged(Exception):
    """The file is not a whole file of chunks."""


class ChunkHeader(NamedTuple):
    form: bytes
    created_ms: int
    key_id: bytes
    salt: bytes


class Place(NamedTuple):
    """The place of the next chunk of a file: its number, and the byte where it begins."""

    number: int = 0
    offset: int = HEADER_BYTES


class SealedChunks:
    """One file, to read and to append."""

    def __init__(self, folder: Folder, path: Path) -> None:
        """Read the header. Raises ChunksDamaged, KeyMissing, OSError."""
        self.path = path
        self._disk = folder.disk
        self._raw = _raw_header(path)
        self.header = _header(self._raw)
        self._seal = folder.keys.seal_of(path, self.header.key_id, self.header.salt)

    def chunks(self) -> Iterator[tuple[bytes, Place]]:
        """Yield each whole chunk, with the place behind it. Raises OSError."""
        place, size = Place(), self.path.stat().st_size
        with self.path.open("rb") as file:
            file.seek(HEADER_BYTES)
            while len(length := file.read(_LENGTH.size)) == _LENGTH.size:
                # A damaged length must not allocate more memory than the file has bytes.
                (wanted,) = _LENGTH.unpack(length)
                piece = file.read(min(wanted, size))
                if len(piece) != wanted:
                    return
                try:
                    chunk = self._seal.unseal(piece, self._raw + _NUMBER.pack(place.number))
                except Unsealable:
                    return
                place = Place(place.number + 1, file.tell())
                yield chunk, place

    def append(self, chunk: bytes, place: Place) -> Place:
        """Write a chunk behind others, durably, and return the place behind it. Raises OSError.

        A chunk that was cut off there is gone.
        """
        file = self._disk.open(self.path)
        try:
            self._disk.truncate(file, place.offset)
            written = _sealed(self._seal, chunk, self._raw, place.number)
            write_all(self._disk, file, written, place.offset)
            self._disk.sync(file)
        finally:
            self._disk.close(file)
        return Place(place.number + 1, place.offset + len(written))


class NewChunks:
    """A file that is being written, under a name that does not count until it is whole."""

    def __init__(self, folder: Folder, path: Path, form: bytes, created_ms: int) -> None:
        self._folder = folder
        self._path = path
        self._unfinished = path.with_name(path.name + UNFINISHED)
        self._seal = folder.keys.new_seal()
        self.key_id = self._seal.key_id
        fields = _HEADER.pack(MAGIC, form, created_ms, self._seal.key_id, self._seal.salt)
        self._raw = fields + _CRC.pack(zlib.crc32(fields))
        self._place = Place()
        self._synced = 0
        self._is_whole = False
        self._file = folder.disk.create(self._unfinished)
        try:
            write_all(folder.disk, self._file, self._raw, 0)
        except BaseException:
            self.close()
            raise

    def add(self, chunk: bytes) -> None:
        number, offset = self._place
        written = _sealed(self._seal, chunk, self._raw, number)
        write_all(self._folder.disk, self._file, written, offset)
        self._place = Place(number + 1, offset + len(written))
        if self._place.offset - self._synced >= SYNC_BYTES:
            self._folder.disk.sync(self._file)
            self._synced = self._place.offset

    def finish(self) -> Place:
        """Give the file its name, durably, and return the place of the next chunk."""
        disk = self._folder.disk
        disk.sync(self._file)
        disk.rename(self._unfinished, self._path)
        self._is_whole = True
        disk.sync_folder(self._path.parent)
        return self._place

    def close(self) -> None:
        """Close the file, and delete it unless it is whole."""
        self._folder.disk.close(self._file)
        if not self._is_whole:
            with suppress(OSError):  # the caller gets the error that made it fail
                self._folder.disk.unlink(self._unfinished)


def _sealed(seal: Seal, chunk: bytes, header: bytes, number: int) -> bytes:
    sealed = seal.seal(chunk, header + _NUMBER.pack(number))
    return _LENGTH.pack(len(sealed)) + sealed


def chunks_found(path: Path) -> ChunkHeader:
    """Return the header of a file, which needs no key. Raises ChunksDamaged, OSError."""
    return _header(_raw_header(path))


def _raw_header(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(HEADER_BYTES)
    if not raw.startswith(MAGIC) or raw[_HEADER.size :] != _CRC.pack(zlib.crc32(raw[: _HEADER.size])):
        raise ChunksDamaged(f"{path} is damaged in its header")
    return raw


def _header(raw: bytes) -> ChunkHeader:
    return ChunkHeader(*_HEADER.unpack_from(raw)[1:])
