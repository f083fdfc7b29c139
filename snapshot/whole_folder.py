"""A new folder, made whole or not at all.

Invariant: a new folder with the name is whole, even if the process was killed."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storage.disk import OS_DISK, Disk
from storage.folder import DIGEST_SECRET, KEYS, LOCK, OPERATOR_TOKEN, UNFINISHED, made_folder

_ADDED = (KEYS, DIGEST_SECRET, OPERATOR_TOKEN, LOCK)


@contextmanager
def whole_folder(path: Path, disk: Disk = OS_DISK) -> Iterator[Path]:
    """Yield a folder to fill. It becomes `path` when the block ends, and is deleted when that raises.

    A folder that is there already is filled in its place, because it may be a mount point: a process that is
    killed leaves it half filled. The secrets and the lock that were added are deleted when the block raises;
    other files delete those who write them.
    """
    if path.exists():
        before = set(path.iterdir())
        try:
            yield path
        except BaseException:
            for added in {path / name for name in _ADDED} - before:
                with suppress(OSError):  # the caller gets the error that made it fail
                    added.unlink()
            raise
        return
    missing = [folder for folder in path.parents if not folder.exists()]
    made_folder(path.parent, disk)
    unfinished = Path(tempfile.mkdtemp(UNFINISHED, f".{path.name}.", path.parent))
    try:
        yield unfinished
        disk.rename(unfinished, path)
        disk.sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        for folder in missing:
            with suppress(OSError):  # not empty: somebody else uses it
                folder.rmdir()
        raise
