"""Reading a journal back. Invariant: the only bytes that may be bad are those that were never durable.

A crash can leave a bad frame at the end. With `fsync: interval`, good frames that were written later may
follow it. No frame vouches for any of them: every watermark behind the bad frame ends before that frame
begins. That is a torn write. A start cuts it off and sets it aside. All other bad bytes are corruption: the
reader reports the place, and changes nothing.

A segment gets its name when its header and everything before it are durable. It counts once the last frame of
the segment before it says so (`FrameKind.CONTINUED`). Three things follow. A header is whole or corrupt. A
reader notices when the newest segment is missing. A segment that does not count yet holds no frames, but its
header tells where the segment before it ends.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from journal.frames import (
    FRAME_BYTES,
    HEADER_BYTES,
    BadBytes,
    Frame,
    FrameKind,
    SegmentHeader,
    decode_frames,
    decode_header,
    watermarks_behind,
)
from storage.disk import write_all, write_file
from storage.folder import Folder, list_numbered
from storage.sealing import Seal

PREFIX = "journal-"
TORN_SUFFIX = ".torn"


class JournalCorrupt(Exception):
    """The journal cannot be read to its end."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path}: {reason} (at byte {offset}); restore the data folder from a backup")


class Tail(NamedTuple):
    """The end of the journal, with everything that the next frame needs to continue it."""

    head: int
    crc: int
    segment: Path | None
    seed: int
    """The seed of the segment's first frame."""
    seal: Seal | None
    end: int
    torn: bool
    """Bytes behind `end`, or a segment behind this one, must be removed first."""
    closed: bool
    """The process that wrote the journal stopped cleanly."""


EMPTY = Tail(head=0, crc=0, segment=None, seed=0, seal=None, end=0, torn=False, closed=True)


def segment_path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def first_position(segment: Path) -> int:
    return int(segment.name.removeprefix(PREFIX))


def list_segments(folder: Path) -> list[tuple[int, Path]]:
    """Return (first position, path) of each segment, oldest first."""
    return list_numbered(folder, PREFIX)


class JournalReader:
    """A reader of the records behind a position. Afterwards, `tail` is the end of the journal."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.tail = EMPTY

    def records(self, after: int, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield (position, record) for every record behind `after`, up to `until`.

        The journal may be read while it is written, up to a durable `until`.

        Raises JournalCorrupt, KeyMissing.
        """
        limit = sys.maxsize if until is None else until
        if limit <= after:
            return
        segments = _needed(list_segments(self._folder.path), after)
        self.tail = EMPTY._replace(head=after)
        if segments and segments[0][0] > after + 1:
            raise JournalCorrupt(segments[0][1], 0, f"records from position {after + 1} on are missing")
        for index, (_, path) in enumerate(segments):
            segment = _Segment(self._folder, path, self.tail if index else None)
            for frame in segment.frames():
                for position, record in enumerate(frame.records, frame.first):
                    if after < position <= limit:
                        yield position, record
                if frame.first + len(frame.records) > limit:
                    return
            segment.check_end([path for _, path in segments[index + 1 :]])
            self.tail = segment.tail
            if self.tail.torn:
                return
        if self.tail.head < after:
            path, end = segments[-1][1], self.tail.end
            raise JournalCorrupt(path, end, f"records up to position {after} are missing")


def _needed(segments: list[tuple[int, Path]], after: int) -> list[tuple[int, Path]]:
    """Return the segments from the one with position `after + 1` on.

    When that is the newest one and holds no frames, it may not count yet: the one before it comes too.
    """
    start = 0
    while start + 1 < len(segments) and segments[start + 1][0] <= after + 1:
        start += 1
    if 0 < start == len(segments) - 1 and not _holds_frames(segments[start][1]):
        start -= 1
    return segments[start:]


class _Segment:
    """One segment being read. `before` is the end of the segment before it, if that was read too."""

    def __init__(self, folder: Folder, path: Path, before: Tail | None) -> None:
        self._folder = folder
        self._path = path
        self._before = before
        self._continued = False
        self.tail = EMPTY

    def frames(self) -> Iterator[Frame]:
        segment = self._path.read_bytes()
        try:
            header = _continuing_header(self._path, segment, self._before)
            seal = self._folder.keys.seal_of(self._path, header.key_id, header.salt)
            self.tail = Tail(
                header.first - 1,
                header.seed,
                self._path,
                header.seed,
                seal,
                HEADER_BYTES,
                torn=False,
                closed=False,
            )
            for frame in decode_frames(segment, header.first, header.seed, seal):
                yield frame
                self._take(frame)
                if self._continued:
                    return  # bytes behind it are of a failed write, whose cut was not durable
        except BadBytes as bad:
            if not _is_torn(segment, bad):
                raise JournalCorrupt(self._path, bad.offset, bad.reason) from None
            self.tail = self.tail._replace(torn=True)

    def _take(self, frame: Frame) -> None:
        self._continued = frame.kind is FrameKind.CONTINUED
        self.tail = self.tail._replace(
            head=frame.first + len(frame.records) - 1,
            crc=self.tail.crc if self._continued else frame.crc,
            end=frame.end,
            closed=frame.kind is FrameKind.CLOSED,
        )

    def check_end(self, later: Sequence[Path]) -> None:
        """Check the segments behind this one against its last frame. Raises JournalCorrupt."""
        if self._continued and not later:
            raise JournalCorrupt(self._path, self.tail.end, "the segment behind this one is missing")
        if later and not self._continued:
            if len(later) > 1 or _holds_frames(later[0]):
                raise JournalCorrupt(self._path, self.tail.end, "the end of this segment is missing")
            try:
                _continuing_header(later[0], later[0].read_bytes(), self.tail)
            except BadBytes as bad:
                raise JournalCorrupt(later[0], bad.offset, bad.reason) from None
            self.tail = self.tail._replace(torn=True)


def _holds_frames(segment: Path) -> bool:
    return segment.stat().st_size > HEADER_BYTES


def _continuing_header(path: Path, segment: bytes, before: Tail | None) -> SegmentHeader:
    """Return the segment's header. It must continue the segment before, if that was read. Raises BadBytes."""
    header = decode_header(segment)
    if header.first != first_position(path) or (
        before is not None and (header.first, header.seed) != (before.head + 1, before.crc)
    ):
        raise BadBytes(0, "the segment does not continue the one before it")
    return header


def _is_torn(segment: bytes, bad: BadBytes) -> bool:
    """Return True if the bad bytes can be writes that were never durable."""
    return (
        bad.offset > 0
        and not bad.whole
        and all(watermark <= bad.offset for watermark in watermarks_behind(segment, bad.offset))
    )


def set_torn_aside(folder: Folder, segment: Path, end: int) -> None:
    """Copy the unfinished writes behind the journal's end to a file of their own, before they are cut off.

    A segment that does not count is deleted.
    """
    torn = segment.read_bytes()[end:]
    if torn:
        write_file(folder.disk, segment.with_name(f"{segment.name}-{end}{TORN_SUFFIX}"), [torn])
    for _, path in list_segments(folder.path):
        if path > segment:
            folder.disk.unlink(path)  # it holds no frame
    folder.disk.sync_folder(folder.path)


def make_durable(folder: Folder) -> None:
    """Make the newest segment, the last frame of the one before, and their names durable.

    A start has read them, and they may not be durable: the last process may have been killed before its sync,
    or stopped because of a failed one. All bytes before them are durable. After a failed sync, the kernel
    takes the pages for written and another sync does nothing, so the same bytes are written again.
    """
    segments = [path for _, path in list_segments(folder.path)]
    for path in segments[-2:]:
        content = path.read_bytes()
        start = 0 if path == segments[-1] else max(len(content) - FRAME_BYTES, 0)
        file = folder.disk.open(path)
        try:
            write_all(folder.disk, file, content[start:], start)
            folder.disk.sync(file)
        finally:
            folder.disk.close(file)
    folder.disk.sync_folder(folder.path)


def delete_behind(folder: Folder, position: int, kept_bytes: int = 0) -> None:
    """Delete the segments that hold nothing newer than `position`. The newest one that counts stays.

    The newest of the others stay, too, as long as they have at most `kept_bytes` together.
    """
    unneeded = [
        path
        for (_, path), (next_first, following) in pairwise(list_segments(folder.path))
        if next_first <= position + 1 and _holds_frames(following)
    ]
    kept, size = len(unneeded), 0
    while kept and (size := size + unneeded[kept - 1].stat().st_size) <= kept_bytes:
        kept -= 1
    for path in unneeded[:kept]:  # the oldest first: a crash between two leaves no hole
        folder.disk.unlink(path)
    folder.disk.sync_folder(folder.path)
