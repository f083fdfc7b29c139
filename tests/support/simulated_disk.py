"""Folders that a power cut may leave. Only synced bytes are sure; of all others, any part may be on the disk.

`RecordingDisk` keeps a trace of the calls. `cuts` yields the moment after each call, with the synced files
and the changes that are not synced. Each such change of a folder entry may be kept or lost. A write may also
be torn: some of its 512-byte sectors are kept. A file that has grown may have its new size without its new
bytes: with zeros, or with bytes that were on the disk before.
"""

import shutil
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from storage.disk import OS_DISK, Disk
from storage.folder import UNFINISHED

SECTOR = 512


class Write(NamedTuple):
    file: int
    offset: int
    content: bytes

    @property
    def sectors(self) -> range:
        return range(self.offset // SECTOR, (self.offset + len(self.content) - 1) // SECTOR + 1)

    def part(self, sector: int) -> tuple[int, bytes]:
        """Return (offset in the file, bytes) of the part that it writes into a sector."""
        begin = max(self.offset, sector * SECTOR)
        return begin, self.content[begin - self.offset : (sector + 1) * SECTOR - self.offset]


class Truncate(NamedTuple):
    file: int
    size: int


class Create(NamedTuple):
    file: int
    name: str


class Rename(NamedTuple):
    file: int
    name: str
    to: str


class Unlink(NamedTuple):
    name: str


class Sync(NamedTuple):
    file: int


class SyncFolder(NamedTuple):
    pass


class Promise(NamedTuple):
    """From here on, no power cut may lose the records up to this position."""

    position: int


Change = Write | Truncate | Create | Rename | Unlink
Call = Change | Sync | SyncFolder | Promise


class RecordingDisk(Disk):
    """Makes every call on a real disk, and records it. Files that are in the folder at first are synced."""

    def __init__(self, folder: Path, inner: Disk = OS_DISK) -> None:
        self.before = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.trace: list[Call] = []
        self._inner = inner
        self._numbers = {name: number for number, name in enumerate(self.before)}
        self._files: dict[int, int] = {}
        """Numbers of files by their descriptors."""
        self._lock = threading.Lock()  # the order of the trace is the order on the disk

    def promise(self, position: int) -> None:
        with self._lock:
            self.trace.append(Promise(position))

    def create(self, path: Path) -> int:
        with self._lock:
            descriptor = self._inner.create(path)
            if path.name in self._numbers:
                self.trace.append(Unlink(path.name))
            number = len(self.before) + len(self.trace)
            self._files[descriptor] = self._numbers[path.name] = number
            self.trace.append(Create(number, path.name))
            return descriptor

    def open(self, path: Path) -> int:
        with self._lock:
            descriptor = self._inner.open(path)
            self._files[descriptor] = self._numbers[path.name]
            return descriptor

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        with self._lock:
            written = self._inner.write(file, content, offset)
            self.trace.append(Write(self._files[file], offset, bytes(content[:written])))
            return written

    def truncate(self, file: int, size: int) -> None:
        with self._lock:
            self._inner.truncate(file, size)
            self.trace.append(Truncate(self._files[file], size))

    def sync(self, file: int) -> None:
        with self._lock:
            self._inner.sync(file)
            self.trace.append(Sync(self._files[file]))

    def close(self, file: int) -> None:
        with self._lock:
            del self._files[file]
            self._inner.close(file)

    def rename(self, path: Path, to: Path) -> None:
        with self._lock:
            self._inner.rename(path, to)
            self._numbers[to.name] = number = self._numbers.pop(path.name)
            self.trace.append(Rename(number, path.name, to.name))

    def unlink(self, path: Path) -> None:
        with self._lock:
            self._inner.unlink(path)
            del self._numbers[path.name]
            self.trace.append(Unlink(path.name))

    def sync_folder(self, folder: Path) -> None:
        with self._lock:
            self._inner.sync_folder(folder)
            self.trace.append(SyncFolder())


@dataclass
class Cut:
    """A moment: the files that are on the disk for sure, and the changes that may be."""

    files: dict[int, bytes]
    names: dict[str, int]
    unsynced: list[Change] = field(default_factory=list)
    promised: int = 0
    steps: int = 0
    """The number of calls before it."""


class Fill(Enum):
    """The bytes in the grown part of a file where no write was kept."""

    NOTHING = 0
    """The file ends with the last kept byte; gaps before it are zeros."""
    ZEROS = 1
    OLD_BYTES = 2
    """The bytes that other files had there before."""


Kept = frozenset[int] | bool
"""The part of a change that survives: all or nothing, or some sectors of a write."""


def cuts(disk: RecordingDisk) -> Iterator[Cut]:
    """Yield one object for all moments of the trace. It moves on; its values are replaced, never changed."""
    files = dict(enumerate(disk.before.values()))
    cut = Cut(files, {name: number for number, name in enumerate(disk.before)})
    yield cut
    for call in disk.trace:
        match call:
            case Promise():
                cut.promised = max(cut.promised, call.position)
            case Sync() | SyncFolder():
                synced = [change for change in cut.unsynced if _is_synced_by(change, call)]
                cut.files, cut.names = _applied(cut, synced, [True] * len(synced))
                cut.unsynced = [change for change in cut.unsynced if not _is_synced_by(change, call)]
            case _:
                cut.unsynced = [*cut.unsynced, call]
        cut.steps += 1
        yield cut


def image(cut: Cut, kept: Sequence[Kept], fill: Fill, old: bytes = b"") -> dict[str, bytes]:
    """Return the files of the folder after a power cut that kept this part of each unsynced change."""
    grown = {Fill.NOTHING: b"", Fill.ZEROS: bytes(SECTOR), Fill.OLD_BYTES: old}[fill]
    files, names = _applied(cut, cut.unsynced, kept, grown)
    return {name: files.get(number, b"") for name, number in names.items()}


def every_image(cut: Cut, old: bytes) -> Iterator[dict[str, bytes]]:
    """Yield every subset of the unsynced changes, with every tear of small writes and some of large ones.

    The bytes of an unfinished file are all kept: no start reads them, and there would be a million subsets.
    """
    finished = {file for name, file in cut.names.items() if not name.endswith(UNFINISHED)}
    for change in cut.unsynced:
        if isinstance(change, Rename) or (
            isinstance(change, Create) and not change.name.endswith(UNFINISHED)
        ):
            finished.add(change.file)
    ways = [_ways(change) if _matters(change, finished) else [True] for change in cut.unsynced]
    for kept in product(*ways):
        for fill in Fill:
            yield image(cut, kept, fill, old)


def _matters(change: Change, finished: Collection[int]) -> bool:
    return not isinstance(change, Write | Truncate) or change.file in finished


def some_image(cut: Cut, random: Random, old: bytes) -> dict[str, bytes]:
    kept: list[Kept] = []
    for change in cut.unsynced:
        if isinstance(change, Write) and random.random() < 0.5:
            kept.append(frozenset(sector for sector in change.sectors if random.random() < 0.5))
        else:
            kept.append(random.random() < 0.5)
    begin = random.randrange(len(old) // SECTOR + 1) * SECTOR
    return image(cut, kept, random.choice(list(Fill)), old[begin:] + old[:begin])


def old_bytes(disk: RecordingDisk, cut: Cut) -> bytes:
    """Return the contents of other sectors of the disk: all bytes written and synced before, file by file."""
    files: dict[int, bytes] = {}
    for call in disk.trace[: cut.steps]:
        if isinstance(call, Write) and call not in cut.unsynced:
            files[call.file] = _written(files.get(call.file, b""), call, keep=True)
    return b"".join([content + _no_sector_is_shared(len(content)) for content in files.values()][::-1])


def what_matters(files: dict[str, bytes]) -> int:
    """Return a hash that is equal for images between which a start sees no difference."""
    return hash(frozenset((name, b"" if name.endswith(UNFINISHED) else files[name]) for name in files))


def _ways(change: Change) -> list[Kept]:
    ways: list[Kept] = [False, True]
    if isinstance(change, Write) and len(change.sectors) > 1:
        first, *others = change.sectors
        tears = [{first}, set(others), {others[-1]}, {first, *others[:-1]}]
        ways += {frozenset(tear) for tear in tears if len(tear) < len(change.sectors)}
    return ways


def _is_synced_by(change: Change, sync: Sync | SyncFolder) -> bool:
    if isinstance(change, Write | Truncate):
        return isinstance(sync, Sync) and change.file == sync.file
    return isinstance(sync, SyncFolder)


def _applied(
    cut: Cut, changes: Sequence[Change], kept: Sequence[Kept], grown: bytes = b""
) -> tuple[dict[int, bytes], dict[str, int]]:
    files, names = dict(cut.files), dict(cut.names)
    sizes: dict[int, int] = {}
    for change, keep in zip(changes, kept, strict=True):
        match change:
            case Write():
                before = files.get(change.file, b"")
                files[change.file] = _written(before, change, keep, grown)
                end = change.offset + len(change.content)
                sizes[change.file] = max(sizes.get(change.file, len(before)), end)
            case Truncate() if keep:
                files[change.file] = files.get(change.file, b"")[: change.size]
                sizes[change.file] = change.size
            case Create() if keep:
                names[change.name] = change.file
            case Rename() if keep:
                names.pop(change.name, None)
                names[change.to] = change.file
            case Unlink() if keep:
                names.pop(change.name, None)
    if grown:
        for file, size in sizes.items():
            files[file] += _gap(len(files[file]), size, grown)
    return files, names


def _written(before: bytes, write: Write, keep: Kept, grown: bytes = b"") -> bytes:
    content = bytearray(before)
    for sector in write.sectors:
        if keep is True or (keep and sector in keep):
            begin, part = write.part(sector)
            content += _gap(len(content), begin, grown)
            content[begin : begin + len(part)] = part
    return bytes(content)


def _gap(begin: int, end: int, grown: bytes) -> bytes:
    """Return the bytes between a file's end and a later write: zeros, and old bytes in whole sectors."""
    gap = bytearray(max(end - begin, 0))
    there = len(_no_sector_is_shared(begin))
    if grown and there < len(gap):
        gap[there:] = (grown * (len(gap) // len(grown) + 1))[: len(gap) - there]
    return bytes(gap)


def _no_sector_is_shared(size: int) -> bytes:
    """Return zeros up to the end of the sector."""
    return bytes(-size % SECTOR)


@contextmanager
def scratch(files: dict[str, bytes]) -> Iterator[Path]:
    """Make a folder with the files, in memory if the system has such a place. Remove it at the end."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        for name, content in files.items():
            (path / name).write_bytes(content)
        yield path
    finally:
        shutil.rmtree(path)
