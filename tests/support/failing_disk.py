"""A disk that fails where a test wants it. All other calls go to a real disk, and are counted.

A point is a call on a kind of file. It is named after a step of the protocol: the header of a new segment is
synced, the last frame of a segment is written. A fault names a point, before or after the call, the n-th
time, and the failure.
"""

import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import pytest

from journal.frames import FRAME_MAGIC, SEGMENT_MAGIC, FrameKind
from journal.segments import PREFIX as JOURNAL
from journal.segments import TORN_SUFFIX
from snapshot.files import PART_PREFIX
from snapshot.files import PREFIX as SNAPSHOT
from storage.disk import OS_DISK, Disk
from storage.folder import SEARCH_INDEX, UNFINISHED

T = TypeVar("T")


class Point(StrEnum):
    SEGMENT_CREATE = "segment_create"
    SEGMENT_HEADER_WRITE = "segment_header_write"
    SEGMENT_HEADER_SYNC = "segment_header_sync"
    SEGMENT_RENAME = "segment_rename"
    SEGMENT_DISCARD = "segment_discard"
    """Delete an unfinished segment."""
    SEGMENT_OPEN = "segment_open"
    START_WRITE = "start_write"
    """Write again at a start the bytes that were read."""
    JOURNAL_WRITE = "journal_write"
    JOURNAL_SYNC = "journal_sync"
    CONTINUED_WRITE = "continued_write"
    CONTINUED_SYNC = "continued_sync"
    TRUNCATE = "truncate"
    SEGMENT_DELETE = "segment_delete"
    SNAPSHOT_CREATE = "snapshot_create"
    SNAPSHOT_WRITE = "snapshot_write"
    SNAPSHOT_SYNC = "snapshot_sync"
    SNAPSHOT_RENAME = "snapshot_rename"
    SNAPSHOT_DISCARD = "snapshot_discard"
    SNAPSHOT_DELETE = "snapshot_delete"
    INDEX_CREATE = "index_create"
    INDEX_WRITE = "index_write"
    INDEX_SYNC = "index_sync"
    INDEX_RENAME = "index_rename"
    INDEX_DISCARD = "index_discard"
    INDEX_OPEN = "index_open"
    INDEX_DELETE = "index_delete"
    TORN_CREATE = "torn_create"
    TORN_WRITE = "torn_write"
    TORN_SYNC = "torn_sync"
    TORN_DELETE = "torn_delete"
    FOLDER_SYNC = "folder_sync"


class Moment(StrEnum):
    BEFORE = "before"
    AFTER = "after"


KILLS_OF_THE_JOURNAL = (
    pytest.param(Point.JOURNAL_WRITE, Moment.BEFORE, id="write-before"),
    pytest.param(Point.JOURNAL_WRITE, Moment.AFTER, id="write-after", marks=pytest.mark.long),
    pytest.param(Point.JOURNAL_SYNC, Moment.BEFORE, id="sync-before", marks=pytest.mark.long),
    pytest.param(Point.JOURNAL_SYNC, Moment.AFTER, id="sync-after"),
)
"""Steps at which a process is killed: the record is not on disk at the first, and is at the other three."""


class Action(StrEnum):
    EIO = "eio"
    ENOSPC = "enospc"
    SHORT = "short"
    """Write half of the bytes, and return their number."""
    SHORT_EIO = "short_eio"
    SHORT_ENOSPC = "short_enospc"
    SHORT_KILL = "short_kill"
    """Write half of the bytes, then kill the process."""
    SYNC_LOST = "sync_lost"
    """Fail with EIO once for each open descriptor of the file, and lose the bytes. Later syncs do nothing,
    and succeed.

    Linux does that with pages that it cannot write.
    """
    KILL = "kill"


SHORT_WRITES = {Action.SHORT, Action.SHORT_EIO, Action.SHORT_ENOSPC, Action.SHORT_KILL}
WRITES = {point for point in Point if point.endswith("_write")}
SYNCS = {point for point in Point if point.endswith("_sync")}


class _SyncLost(OSError):
    """A sync failed, and the bytes that it covered are gone."""


@dataclass(frozen=True)
class Fault:
    """`action` happens the n-th time that the point is reached, and the following times up to `times`."""

    point: Point
    action: Action
    moment: Moment = Moment.BEFORE
    nth: int = 1
    times: int = 1

    def __str__(self) -> str:
        """Return the text that `fault_of` reads, for an environment variable of another process."""
        return f"{self.point}:{self.action}:{self.moment}:{self.nth}:{self.times}"


def fault_of(text: str) -> Fault:
    point, action, moment, nth, times = text.split(":")
    return Fault(Point(point), Action(action), Moment(moment), int(nth), int(times))


class FailingDisk(Disk):
    """Passes every call on to another disk, except where the plan has a fault."""

    def __init__(self, plan: Iterable[Fault] = (), inner: Disk = OS_DISK) -> None:
        self.plan = list(plan)
        self.reached: Counter[tuple[Point, Moment]] = Counter()
        """The number of times that each point was reached, before and after its call."""
        self.fired: list[Fault] = []
        self.reached_when_fired: Counter[tuple[Point, Moment]] = Counter()
        """`reached` when the last fault happened."""
        self._is_full = False
        self._inner = inner
        self._files: dict[int, Path] = {}
        self._continued: set[int] = set()
        """Files with a last frame that says that another segment follows."""
        self._lost: set[Path] = set()
        """Files whose sync has failed. Later syncs of them do nothing."""
        self._untold: set[int] = set()
        """Descriptors of such files that have not had the error yet."""
        self._lock = threading.Lock()  # two threads write: the journal's and the snapshot's

    def fill(self, is_full: bool) -> None:
        """Take all space, or free it. Without space no file can be created, and a write fails half done."""
        self._is_full = is_full

    def create(self, path: Path) -> int:
        if self._is_full:
            _do(Action.ENOSPC)
        self._lost.discard(path)
        file = self._call(_on(path, "create"), lambda: self._inner.create(path))
        self._files[file] = path
        return file

    def open(self, path: Path) -> int:
        file = self._call(_on(path, "open"), lambda: self._inner.open(path))
        self._files[file] = path
        return file

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        point = self._write_point(file, content)
        action = Action.SHORT_ENOSPC if self._is_full else self._meet(point, Moment.BEFORE)
        if action in SHORT_WRITES:
            written = self._inner.write(file, content[: len(content) // 2], offset)
            _do(action)
            return written
        written = self._inner.write(file, content, offset)
        self._meet(point, Moment.AFTER)
        return written

    def truncate(self, file: int, size: int) -> None:
        self._call(Point.TRUNCATE, lambda: self._inner.truncate(file, size))

    def sync(self, file: int) -> None:
        path = self._files[file]
        if file in self._untold:
            self._untold.remove(file)
            self.reached_when_fired = self.reached.copy()
            _do(Action.EIO)
        try:
            self._call(self._sync_point(file), lambda: self._sync(file))
        except _SyncLost:
            self._lost.add(path)
            self._untold |= {other for other, name in self._files.items() if name == path} - {file}
            raise

    def close(self, file: int) -> None:
        self._files.pop(file, None)
        self._continued.discard(file)
        self._untold.discard(file)
        self._inner.close(file)

    def rename(self, path: Path, to: Path) -> None:
        self._call(_on(path, "rename"), lambda: self._inner.rename(path, to))
        self._files.update({file: to for file, name in self._files.items() if name == path})

    def unlink(self, path: Path) -> None:
        call = "discard" if path.name.endswith(UNFINISHED) else "delete"
        self._call(_on(path, call), lambda: self._inner.unlink(path))

    def sync_folder(self, folder: Path) -> None:
        self._call(Point.FOLDER_SYNC, lambda: self._inner.sync_folder(folder))

    def _call(self, point: Point, perform: Callable[[], T]) -> T:
        self._meet(point, Moment.BEFORE)
        result = perform()
        try:
            self._meet(point, Moment.AFTER)
        except OSError:
            if isinstance(result, int):
                self._inner.close(result)  # the caller never gets this file
            raise
        return result

    def _meet(self, point: Point, moment: Moment) -> Action | None:
        """Do what the plan says, or return the kind of short write that it wants."""
        with self._lock:
            self.reached[point, moment] += 1
            count = self.reached[point, moment]
            due = [
                fault
                for fault in self.plan
                if (fault.point, fault.moment) == (point, moment)
                and fault.nth <= count < fault.nth + fault.times
            ]
            if due:
                self.fired += due
                self.reached_when_fired = self.reached.copy()
        for fault in due:
            if fault.action in SHORT_WRITES:
                return fault.action
            _do(fault.action)
        return None

    def _sync(self, file: int) -> None:
        if self._files[file] not in self._lost:
            self._inner.sync(file)

    def _write_point(self, file: int, content: bytes | memoryview) -> Point:
        path = self._files[file]
        if not _is_segment(path):
            return _on(path, "write")
        if bytes(content[: len(SEGMENT_MAGIC)]) == SEGMENT_MAGIC:
            return Point.START_WRITE
        if bytes(content[: len(FRAME_MAGIC)]) == FRAME_MAGIC:  # otherwise the rest of a short write
            self._continued.discard(file)
            if content[len(FRAME_MAGIC)] == FrameKind.CONTINUED:
                self._continued.add(file)
        return Point.CONTINUED_WRITE if file in self._continued else Point.JOURNAL_WRITE

    def _sync_point(self, file: int) -> Point:
        path = self._files[file]
        if not _is_segment(path):
            return _on(path, "sync")
        return Point.CONTINUED_SYNC if file in self._continued else Point.JOURNAL_SYNC


def _is_segment(path: Path) -> bool:
    return path.name.startswith(JOURNAL) and not path.name.endswith((UNFINISHED, TORN_SUFFIX))


def _on(path: Path, call: str) -> Point:
    """Return the point of a call on a file, but not of a write or sync of a segment."""
    if path.name.endswith(TORN_SUFFIX):
        return Point(f"torn_{call}")
    if path.name.startswith((SNAPSHOT, PART_PREFIX)):
        return Point(f"snapshot_{call}")
    if path.name.startswith(SEARCH_INDEX):
        return Point(f"index_{call}")
    return Point(f"segment_{'header_' if call in {'write', 'sync'} else ''}{call}")


def _do(action: Action) -> None:
    match action:
        case Action.EIO | Action.SHORT_EIO:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        case Action.SYNC_LOST:
            raise _SyncLost(errno.EIO, os.strerror(errno.EIO))
        case Action.ENOSPC | Action.SHORT_ENOSPC:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        case Action.KILL | Action.SHORT_KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case Action.SHORT:
            pass
