"""The files of listings on disk: one sealed file each, in the folder `blobs`, named by its digest.

Invariant: a file is whole and has the content of its name, or it is refused.

    header   magic 8s | key id 8s | salt 16s | length of the sealed facts u32
    facts    sealed (storage/sealing.py): msgpack of the FileRef
    content  sealed, to the end of the file

All numbers are little-endian. Both pieces are bound to the header and to the name. While a file is written,
its name ends with ".tmp" and it does not count. Calls here block: a running gateway makes them in a thread.
"""

import hashlib
import logging
import os
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from forms.file_fields import FileRef
from storage.disk import write_file
from storage.folder import BLOBS, UNFINISHED, Folder, made_folder
from storage.sealing import KEY_ID_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES, KeyMissing, Unsealable

log = logging.getLogger(__name__)

MAGIC = b"VGBLOB\x00\x01"
_HEADER = struct.Struct(f"<8s{KEY_ID_BYTES}s{SALT_BYTES}sI")
_NAME = re.compile("[0-9a-f]{64}")
_FACTS, _CONTENT = b"facts", b"content"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FileRef).decode


class BlobCorrupt(Exception):
    """The file is not a whole file of this version, or has other content than its name says."""


class Blob(NamedTuple):
    """A file of a listing with its content."""

    ref: FileRef
    content: bytes


class BlobOnDisk(NamedTuple):
    """A file by its digest, and its bytes on disk."""

    digest: str
    bytes: int


class SealedBlobs:
    """The files of a data folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.path = folder.path / BLOBS
        self._making = threading.Lock()

    def write(self, blob: Blob) -> int:
        """Keep a file durably. Return its bytes on disk. Raises OSError, and then what was there stays."""
        with self._making:  # no file is durable before its folder is
            if not self.path.is_dir():
                made_folder(self.path, self._folder.disk)
        disk, path, seal = self._folder.disk, self._path(blob.ref.digest), self._folder.keys.new_seal()
        unfinished, was_here = path.with_name(path.name + UNFINISHED), path.exists()
        place = seal.key_id + seal.salt + path.name.encode()
        facts, content = (
            seal.seal(_encode(blob.ref), _FACTS + place),
            seal.seal(blob.content, _CONTENT + place),
        )
        pieces = [_HEADER.pack(MAGIC, seal.key_id, seal.salt, len(facts)), facts, content]
        write_file(disk, unfinished, pieces)
        try:
            disk.rename(unfinished, path)
            disk.sync_folder(self.path)
        except BaseException:
            for left in (unfinished,) if was_here else (unfinished, path):
                with suppress(OSError):  # the caller gets the error that made it fail
                    disk.unlink(left)
            raise
        return sum(map(len, pieces))

    def ref(self, digest: str) -> FileRef | None:
        """Return the facts of a file; None if it is not here. Raises BlobCorrupt, KeyMissing and OSError."""
        read = self._read(digest, with_content=False)
        return read.ref if read is not None else None

    def read(self, digest: str) -> Blob | None:
        """Return a file; None if it is not here. Raises BlobCorrupt, KeyMissing and OSError."""
        return self._read(digest, with_content=True)

    def key_id(self, digest: str) -> bytes:
        """Return the id of the key that a file is sealed with. Raises BlobCorrupt and OSError."""
        path = self._path(digest)
        with path.open("rb") as file:
            return _header(path, file.read(_HEADER.size))[0]

    def bytes_of(self, digest: str) -> int:
        """Return the bytes of a file on disk; 0 if it is not here. Raises OSError."""
        try:
            return self._path(digest).stat().st_size
        except FileNotFoundError:
            return 0

    def all(self) -> Iterator[BlobOnDisk]:
        """Yield the files, in no order. One that comes or goes meanwhile may be left out."""
        if not self.path.is_dir():
            return
        with os.scandir(self.path) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        yield BlobOnDisk(entry.name, entry.stat(follow_symlinks=False).st_size)

    def whole(self) -> Iterator[Blob]:
        """Yield the files with their content. One that cannot be read is logged. Raises OSError."""
        for found in self.all():
            try:
                blob = self.read(found.digest)
            except (BlobCorrupt, KeyMissing) as error:
                log.error("a file of listings cannot be read: %s", error)
                continue
            if blob is not None:
                yield blob

    def seal_newly(self, digest: str) -> None:
        """Seal a file with the newest key, unless it is. Raises as `read` does."""
        if self.key_id(digest) != self._folder.keys.newest:
            blob = self.read(digest)
            if blob is not None:
                self.write(blob)

    def remove(self, digest: str) -> None:
        """Remove a file if it is there. Raises OSError."""
        with suppress(FileNotFoundError):
            self._folder.disk.unlink(self._path(digest))

    def remove_unfinished(self) -> None:
        """Remove the files that an interrupted process had not finished. Raises OSError."""
        if self.path.is_dir():
            for path in self.path.glob("*" + UNFINISHED):
                self._folder.disk.unlink(path)

    def _path(self, digest: str) -> Path:
        if not _NAME.fullmatch(digest):
            raise ValueError("not a digest")
        return self.path / digest

    def _read(self, digest: str, *, with_content: bool) -> Blob | None:
        path = self._path(digest)
        try:
            with path.open("rb") as file:
                key_id, salt, length = _header(path, file.read(_HEADER.size))
                facts = file.read(length)
                sealed = file.read() if with_content else b""
        except FileNotFoundError:
            return None
        seal, place = self._folder.keys.seal_of(path, key_id, salt), key_id + salt + digest.encode()
        try:
            ref = _decode(seal.unseal(facts, _FACTS + place))
            content = seal.unseal(sealed, _CONTENT + place) if with_content else b""
        except Unsealable:
            raise BlobCorrupt(f"{path} is damaged") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BlobCorrupt(f"{path} has facts that this version does not know: {error}") from error
        if ref.digest != digest or (with_content and digest_of(content) != digest):
            raise BlobCorrupt(f"{path} has other content than its name says")
        return Blob(ref, content)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _header(path: Path, header: bytes) -> tuple[bytes, bytes, int]:
    """Return key id, salt and the length of the facts. Raises BlobCorrupt."""
    if len(header) < _HEADER.size or not header.startswith(MAGIC):
        raise BlobCorrupt(f"{path} is not a file of this version, or is cut off")
    _, key_id, salt, length = _HEADER.unpack(header)
    if not NONCE_BYTES + TAG_BYTES <= length <= _MOST_FACTS:  # a damaged length must not allocate much memory
        raise BlobCorrupt(f"{path} is damaged in its header")
    return key_id, salt, length


_MOST_FACTS = 4_096
