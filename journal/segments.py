"""Reading a journal back. Law: the only bytes that may be bad are those that were never durable.

A crash can leave a bad frame at the end, and with `fsync: interval` good ones behind it that were written
later. None of them was vouched for: no watermark behind the bad frame reaches beyond where it begins. That is
a torn write: it is cut off and set aside. Anything else that is bad is corruption: it is reported with its
place, and nothing is touched.

A segment gets its name when its header and all that comes before it are durable, and begins to count when the
one before it says so in its last frame (`Kind.CONTINUED`). So a header is whole or corrupt, a newest segment
that is missing is missed, and one that does not count yet holds nothing, but tells where the one before ends.
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
    Kind,
    SegmentHeader,
    decode_frames,
    decode_header,
    watermarks_behind,
)
from storage.disk import write_all
from storage.folder import Folder, list_numbered
from storage.sealing import Seal

PREFIX = "journal-"
TORN_SUFFIX = ".torn"


class JournalCorrupt(Exception):
    """The journal cannot be read to its end."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path}: {reason} (at byte {offset}); restore the data folder from a backup")


class Tail(NamedTuple):
    """Where the journal ends: what the next frame needs to continue it."""

    head: int
    crc: int
    segment: Path | None
    seed: int
    """What the segment's first frame is seeded with."""
    seal: Seal | None
    end: int
    torn: bool
    """Bytes behind `end`, or a segment behind this one, have to go first."""
    closed: bool
    """The process that wrote it stopped as it should."""


EMPTY = Tail(head=0, crc=0, segment=None, seed=0, seal=None, end=0, torn=False, closed=True)


def segment_path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def first_position(segment: Path) -> int:
    return int(segment.name.removeprefix(PREFIX))


def list_segments(folder: Path) -> list[tuple[int, Path]]:
    """(first position, path), oldest first."""
    return list_numbered(folder, PREFIX)


class JournalReader:
    """Reads the records behind a position; `tail` then tells where the journal ends."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.tail = EMPTY

    def records(self, after: int, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(position, record) for every record behind `after`, and none behind `until`, up to which the
        journal may be read while it is written. Raises JournalCorrupt, KeyMissing."""
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
    """The segments from the one that holds position `after + 1` on; one more, if that may not count yet."""
    start = 0
    while start + 1 < len(segments) and segments[start + 1][0] <= after + 1:
        start += 1
    if 0 < start == len(segments) - 1 and not _holds_frames(segments[start][1]):
        start -= 1
    return segments[start:]


class _Segment:
    """One segment being read. `before` is where the one before it ended, if that was read too."""

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
                    return  # bytes behind it are of a write that failed, and whose cut was not durable
        except BadBytes as bad:
            if not _is_torn(segment, bad):
                raise JournalCorrupt(self._path, bad.offset, bad.reason) from None
            self.tail = self.tail._replace(torn=True)

    def _take(self, frame: Frame) -> None:
        self._continued = frame.kind is Kind.CONTINUED
        self.tail = self.tail._replace(
            head=frame.first + len(frame.records) - 1,
            crc=self.tail.crc if self._continued else frame.crc,
            end=frame.end,
            closed=frame.kind is Kind.CLOSED,
        )

    def check_end(self, later: Sequence[Path]) -> None:
        """Whether the segments behind this one are what its last frame says. Raises JournalCorrupt."""
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
    """The segment's header; it has to continue the segment before, if that was read. Raises BadBytes."""
    header = decode_header(segment)
    if header.first != first_position(path) or (
        before is not None and (header.first, header.seed) != (before.head + 1, before.crc)
    ):
        raise BadBytes(0, "the segment does not continue the one before it")
    return header


def _is_torn(segment: bytes, bad: BadBytes) -> bool:
    """Whether the bad bytes can be writes that were never durable."""
    return (
        bad.offset > 0
        and not bad.whole
        and all(watermark <= bad.offset for watermark in watermarks_behind(segment, bad.offset))
    )


def set_torn_aside(folder: Folder, segment: Path, end: int) -> None:
    """Copies the unfinished writes behind the end of the journal to a file beside it, before they are cut
    off, and deletes a segment that does not count."""
    torn = segment.read_bytes()[end:]
    if torn:
        aside = segment.with_name(f"{segment.name}-{end}{TORN_SUFFIX}")
        file = folder.disk.create(aside)
        try:
            write_all(folder.disk, file, torn, 0)
            folder.disk.sync(file)
        except OSError:
            folder.disk.unlink(aside)
            raise
        finally:
            folder.disk.close(file)
    for _, path in list_segments(folder.path):
        if path > segment:
            folder.disk.unlink(path)  # it holds no frame
    folder.disk.sync_folder(folder.path)


def make_durable(folder: Folder) -> None:
    """Makes durable what a start has read: the newest segment, the last frame of the one before, their names.

    All before that is durable already. This may not be: the last process may have been killed before its
    sync, or stopped because of one that failed. After a failed sync the kernel takes the pages for written,
    and another sync would do nothing: so the same bytes are written again.
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


def delete_behind(folder: Folder, position: int) -> None:
    """Deletes the segments that hold nothing newer than `position`; the newest that counts stays."""
    for (_, path), (next_first, following) in pairwise(list_segments(folder.path)):
        if next_first <= position + 1 and _holds_frames(following):
            folder.disk.unlink(path)
    folder.disk.sync_folder(folder.path)
