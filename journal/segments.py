"""Reading a journal back. Law: the only bytes that may be bad are those that were never durable.

A crash can leave a bad frame at the end, and with `fsync: interval` good ones behind it that were written
later. None of them was vouched for: every watermark behind the bad frame is below it. That is a torn write:
it is cut off and set aside. Anything else that is bad is corruption: it is reported with its place, and
nothing is touched.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from journal.folder import sync_folder
from journal.frames import HEADER_BYTES, BadBytes, decode_frames, decode_header, watermarks_behind

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
    end: int
    torn: bool


EMPTY = Tail(head=0, crc=0, segment=None, end=0, torn=False)


def segment_path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def first_position(segment: Path) -> int:
    return int(segment.name.removeprefix(PREFIX))


def list_segments(folder: Path) -> list[tuple[int, Path]]:
    """(first position, path), oldest first."""
    found = []
    for path in folder.glob(PREFIX + "*"):
        digits = path.name.removeprefix(PREFIX)
        if len(digits) == 20 and digits.isdecimal() and digits.isascii():
            found.append((first_position(path), path))
    return sorted(found)


class JournalReader:
    """Reads the records behind a position; `tail` then tells where the journal ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tail = EMPTY

    def records(self, after: int) -> Iterator[tuple[int, bytes]]:
        """(position, record) for every record behind `after`. Raises JournalCorrupt."""
        segments = list_segments(self._folder)
        # A newest segment without a whole header was being created: nothing was ever in it.
        unborn = bool(segments) and segments[-1][1].stat().st_size < HEADER_BYTES
        if unborn:
            segments.pop()
        while len(segments) > 1 and segments[1][0] <= after + 1:
            del segments[0]
        self.tail = EMPTY._replace(head=after)
        if segments and segments[0][0] > after + 1:
            raise JournalCorrupt(segments[0][1], 0, f"records from position {after + 1} on are missing")
        for index, (first, path) in enumerate(segments):
            is_first, is_last = index == 0, index == len(segments) - 1
            yield from self._segment_records(path, first, after, is_first=is_first, is_last=is_last)
        if self.tail.head < after:
            path, end = segments[-1][1], self.tail.end
            raise JournalCorrupt(path, end, f"records up to position {after} are missing")
        if unborn:
            self.tail = self.tail._replace(torn=True)

    def _segment_records(
        self, path: Path, first: int, after: int, *, is_first: bool, is_last: bool
    ) -> Iterator[tuple[int, bytes]]:
        segment = path.read_bytes()
        try:
            named_first, seed = decode_header(segment)
            if named_first != first or (
                not is_first and (first, seed) != (self.tail.head + 1, self.tail.crc)
            ):
                raise BadBytes(0, "the segment does not continue the one before it")
            self.tail = Tail(first - 1, seed, path, HEADER_BYTES, torn=False)
            for frame in decode_frames(segment, first, seed):
                for position, record in enumerate(frame.records, frame.first):
                    if position > after:
                        yield position, record
                head = frame.first + len(frame.records) - 1
                self.tail = Tail(head, frame.crc, path, frame.end, torn=False)
        except BadBytes as bad:
            if not is_last or not _is_torn(segment, bad.offset, self.tail.head + 1):
                raise JournalCorrupt(path, bad.offset, bad.reason) from None
            self.tail = self.tail._replace(torn=True)


def _is_torn(segment: bytes, offset: int, position: int) -> bool:
    """Whether the bad bytes, where `position` should be, can be writes that were never durable."""
    return offset > 0 and all(watermark < position for watermark in watermarks_behind(segment, offset))


def sync_newest(folder: Path) -> None:
    """Makes durable what is written, also with `fsync: interval`; older segments are durable already."""
    segments = list_segments(folder)
    if segments:
        descriptor = os.open(segments[-1][1], os.O_RDONLY)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def set_torn_aside(folder: Path, tail: Tail) -> None:
    """Cuts the unfinished write off the newest segment, keeping its bytes in a file beside it."""
    _, path = list_segments(folder)[-1]
    keep = tail.end if path == tail.segment else 0
    aside = path.with_name(f"{path.name}-{keep}{TORN_SUFFIX}")
    with path.open("r+b") as segment:
        segment.seek(keep)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as torn:
            torn.write(segment.read())
            torn.flush()
            os.fsync(torn.fileno())
        segment.truncate(keep)
    if keep < HEADER_BYTES:
        path.unlink()
    sync_folder(folder)


def delete_behind(folder: Path, position: int) -> None:
    """Deletes the segments that hold nothing newer than `position`; the newest one always stays."""
    segments = list_segments(folder)
    for (_, path), (next_first, _) in pairwise(segments):
        if next_first <= position + 1:
            path.unlink()
    sync_folder(folder)
