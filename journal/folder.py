"""The data folder: one process at a time, secrets for one user only, entries that survive a power cut."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_NAME = "lock"


class FolderUnusable(Exception):
    """The data folder cannot be served, for a reason that one sentence tells."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder for this process; raises FolderUnusable at once when another has it.

    The lock is the kernel's (flock): it goes when the process goes, however it goes.
    """
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise FolderUnusable(
                f"{folder} is in use by another process (pid {owner}); stop it, or choose another data_dir"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Makes created, renamed and deleted entries of the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def kept_secret(folder: Path, name: str, make: Callable[[], str]) -> str:
    """The secret kept in a file of the folder; made, with mode 0600, when there is none yet.

    Raises FolderUnusable for a file that holds no ASCII text.
    """
    path = folder / name
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        try:
            secret = path.read_text(encoding="ascii").strip()
        except UnicodeDecodeError:
            raise FolderUnusable(
                f"{path} is no ASCII text; restore it, or delete it to make a new one"
            ) from None
        if not secret:
            raise FolderUnusable(f"{path} is empty; restore it, or delete it to make a new one") from None
        return secret
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        secret = make()
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return secret
