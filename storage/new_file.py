"""A file that an operator asked for. Invariant: a file with its name is whole, durable and for one user only.

Until it is whole it has another name, in the same folder. A process that is killed leaves that file behind.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storage.disk import OS_DISK, Disk, write_all
from storage.folder import UNFINISHED


class NewFile:
    """The file while it is written. `path` is its temporary name."""

    def __init__(self, path: Path, file: int, disk: Disk) -> None:
        self.path = path
        self.size = 0
        self._file = file
        self._disk = disk

    def write(self, piece: bytes) -> None:
        write_all(self._disk, self._file, piece, self.size)
        self.size += len(piece)

    def sync(self) -> None:
        self._disk.sync(self._file)


@contextmanager
def new_file(path: Path, *, force: bool = False, disk: Disk = OS_DISK) -> Iterator[NewFile]:
    """Write a file. It gets its name when the block ends, and is deleted when that raises.

    Raises FileExistsError for a name that is taken, unless `force` is set, and OSError.
    """
    refuse_taken(path, force=force)
    file, name = tempfile.mkstemp(UNFINISHED, f".{path.name}.", path.parent)
    unfinished = Path(name)
    try:
        try:
            written = NewFile(unfinished, file, disk)
            yield written
            written.sync()
        finally:
            disk.close(file)
        refuse_taken(path, force=force)
        disk.rename(unfinished, path)
        disk.sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):  # the caller gets the error that made it fail
            disk.unlink(unfinished)
        raise


def refuse_taken(path: Path, *, force: bool) -> None:
    """Raise FileExistsError for a name that is taken; with `force` only if it is no file."""
    if os.path.lexists(path) and not (force and path.is_file() and not path.is_symlink()):
        raise FileExistsError(
            f"{path} is there already; name another file" + ("" if force else ", or add --force")
        )
