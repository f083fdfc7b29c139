"""System calls that write to disk. A test watches them, delays them, and lets them fail."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateways import WAIT_SECONDS


class WatchedDisk:
    """Replaces `pwrite`, `fsync` and `fdatasync` of `os`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        """Names of the files and folders, in the order in which their syncs returned."""
        self._durable: dict[int, int] = {}  # inode -> size at the last sync
        self.syncing = threading.Event()
        """Set as soon as a sync has begun."""
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.after_sync: Callable[[], None] = lambda: None
        """Called after each sync, in the thread of the writer."""
        self.sync_error: int | None = None
        self.write_error: int | None = None
        self.write_most: int | None = None
        """The number of bytes that are written before a write fails."""
        self.refused = threading.Event()
        """Set as soon as a write is about to fail."""
        self.may_fail = threading.Event()
        self.may_fail.set()
        self._fdatasync, self._fsync, self._pwrite = os.fdatasync, os.fsync, os.pwrite
        monkeypatch.setattr(os, "fdatasync", lambda file: self._sync(self._fdatasync, file))
        monkeypatch.setattr(os, "fsync", lambda file: self._sync(self._fsync, file))
        monkeypatch.setattr(os, "pwrite", self._write)

    def _sync(self, sync: Callable[[int], None], file: int) -> None:
        self.syncing.set()
        assert self.may_sync.wait(WAIT_SECONDS)
        if self.sync_error is not None:
            raise OSError(self.sync_error, os.strerror(self.sync_error))
        sync(file)
        self.synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
        status = os.fstat(file)
        self._durable[status.st_ino] = status.st_size
        self.after_sync()

    def _write(self, file: int, content: Any, offset: int) -> int:
        if self.write_error is None:
            return self._pwrite(file, content, offset)
        if self.write_most:
            content, self.write_most = content[: self.write_most], None
            return self._pwrite(file, content, offset)
        self.refused.set()
        assert self.may_fail.wait(WAIT_SECONDS)
        raise OSError(self.write_error, os.strerror(self.write_error))

    def fill_up(self, after_bytes: int | None = None) -> None:
        """Let writes fail for lack of space, after `after_bytes` more bytes."""
        self.write_error, self.write_most = errno.ENOSPC, after_bytes
        self.refused.clear()

    def make_room(self) -> None:
        self.write_error = None

    def durable_bytes(self, path: Path) -> int:
        """Return the number of bytes that a file keeps in a power cut: its size at its last sync."""
        return self._durable.get(path.stat().st_ino, 0)

    def after_power_cut(self, folder: Path, copy: Path) -> Path:
        """Copy the bytes of the folder that were synced."""
        copy.mkdir()
        for path in folder.iterdir():
            if size := self.durable_bytes(path):
                (copy / path.name).write_bytes(path.read_bytes()[:size])
        return copy
