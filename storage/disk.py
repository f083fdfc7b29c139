"""The calls that change the disk, and its free space.

Invariant: journal and snapshots write through `Disk` only. The event loop never waits for the free space.

A test can replace the disk: it fails one call, stops the process at it, or keeps a trace and derives the
files that a power cut could have left. Readers open the files directly.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Disk:
    """The disk of the operating system. Each call raises OSError when it fails. Files are descriptors."""

    def create(self, path: Path) -> int:
        """Create a file for one user only (0600), open to write.

        An older file of that name is deleted and never written into, because it may be a link.
        """
        try:
            return os.open(path, _NEW, 0o600)
        except FileExistsError:
            path.unlink()
            return os.open(path, _NEW, 0o600)

    def open(self, path: Path) -> int:
        """Open an existing file to write. A symbolic link is refused."""
        return os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        """Write bytes at the offset. Return the number written, counted from the first."""
        return os.pwrite(file, content, offset)

    def truncate(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Return when the file's content and size are durable (fdatasync)."""
        os.fdatasync(file)

    def close(self, file: int) -> None:
        os.close(file)

    def rename(self, path: Path, to: Path) -> None:
        path.rename(to)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def sync_folder(self, folder: Path) -> None:
        """Make created, renamed and deleted entries of the folder durable."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


OS_DISK = Disk()


def write_all(disk: Disk, file: int, content: bytes, offset: int) -> None:
    view = memoryview(content)
    while view:
        written = disk.write(file, view, offset)
        view, offset = view[written:], offset + written


def write_file(disk: Disk, path: Path, pieces: Iterable[bytes]) -> None:
    """Create a file with this content, and sync it, but not its name. A file that fails is deleted."""
    file, size = disk.create(path), 0
    try:
        for piece in pieces:
            write_all(disk, file, piece, size)
            size += len(piece)
        disk.sync(file)
    except BaseException:
        with suppress(OSError):  # the caller gets the error that made it fail
            disk.unlink(path)
        raise
    finally:
        disk.close(file)


LOOK_SECONDS = 5.0


class DiskSpace:
    """The free space, read every few seconds, and the space that is needed.

    Args:
        needed_bytes: returns the bytes that the gateway needs to go on; with fewer, space runs out soon.
    """

    def __init__(self, folder: Path, needed_bytes: Callable[[], int]) -> None:
        self._folder = folder
        self.needed_bytes = needed_bytes
        self.free_bytes: int | None = None
        """The bytes that this process may still write; None while that is unknown."""

    async def run(self) -> None:
        while True:
            await self.step()
            await asyncio.sleep(LOOK_SECONDS)

    async def step(self) -> None:
        """Ask once. Raises OSError."""
        self.free_bytes = None
        found = await asyncio.to_thread(os.statvfs, self._folder)
        self.free_bytes = found.f_bavail * found.f_frsize
