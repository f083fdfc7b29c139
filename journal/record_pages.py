"""Pages of the journal behind a position, read while it is written.

Invariant: the loop never waits for the disk.

Invariant: the loop never waits for the disk.

A reader names the last record that it has read by its position and its *proof*: the checksum of the frame
with that record, which depends on all records before it. The same position of another or a restored journal
has another proof. A frame without records continues the same history, and so does the header of
the segment behind the record: their checksums prove the position, too.

The way to a record leads from frame to frame, over their heads alone. `_Known` remembers frames that were
met, so nearly every page begins at a known one. Only durable records are read: bytes behind them may still be
cut off.
"""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from core.events import Event, UnknownEvent, decode_record
from core.failures import PlaceLost
from journal.frames import (
    HEAD_BYTES,
    HEADER_BYTES,
    BadBytes,
    FrameHead,
    FrameKind,
    SegmentHeader,
    decode_head,
    decode_header,
    open_frame,
)
from journal.journal import End, Journal
from journal.segments import list_segments
from storage.folder import Folder
from storage.sealing import KeyMissing, Seal

PAGE_BYTES = 1 << 20
"""A page ends with the frame that reaches so many bytes."""
WALK_BYTES = 8 << 20
"""The bytes of frames that the thread reads for one reader before it turns to the next."""
BLOCK_BYTES = 256 << 10
MARK_BYTES = 256 << 10
MOST_MARKS = 4_096
"""The frames of a segment that are remembered. Beyond that, every second one is forgotten."""
MOST_PLACES = 256


class FoundRecord(NamedTuple):
    position: int
    proof: int
    events: Sequence[Event]


class FoundPage(NamedTuple):
    """Records that match. The search has reached `position`; `is_last` is true if it is the durable end."""

    records: Sequence[FoundRecord]
    position: int
    proof: int
    is_last: bool


class JournalPages:
    """Reads pages in a thread of its own, one at a time.

    Args:
        tags: the tags of the wanted events, such as `vote_cast.1`.
    """

    def __init__(self, folder: Folder, journal: Journal, tags: Sequence[str]) -> None:
        self._folder = folder
        self._journal = journal
        self._known = _Known()
        self._wanted = re.compile(b'"type":"(?:%s)"' % b"|".join(re.escape(tag.encode()) for tag in tags))
        self._thread = ThreadPoolExecutor(1, "journal pages")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    @property
    def end(self) -> tuple[int, int]:
        """The position of the newest durable record, and its proof."""
        end = self._journal.end
        self._known.end(end)
        return end.position, end.crc

    async def behind(self, position: int, proof: int, most: int, *, again: bool = False) -> FoundPage:
        """Return the next records with wanted events, at most `most`, in the order of the log.

        With `again`, the record at the position itself comes first. Raises PlaceLost if the journal no longer
        reaches back so far, cannot be read there, or is another one than the position is of; and OSError.
        """
        asked = _Asked(position, proof, most, again)
        while True:
            end = self._journal.end
            if position > end.position:
                raise PlaceLost
            if (position, proof, again) == (end.position, end.crc, False):
                return FoundPage((), position, proof, is_last=True)
            self._known.end(end)
            page = await self._in_thread(_Walk(self._folder, self._known, self._wanted, end, asked).page)
            if page is not None:
                return page

    async def _in_thread(self, call: Callable[[], FoundPage | None]) -> FoundPage | None:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except (KeyMissing, UnknownEvent, BadBytes) as error:
            raise PlaceLost(str(error)) from None


class _Asked(NamedTuple):
    """A request for a page: at most `most` records behind a position, or from it on (`again`)."""

    position: int
    proof: int
    most: int
    again: bool


class _Known:
    """Frames that were read: for each segment (the newest position before the frame, its offset), in order.

    `places` are former ends of the journal: their segment and offset, by position and proof.
    """

    def __init__(self) -> None:
        self.segments: Mapping[int, Path] = {}
        self.places: dict[tuple[int, int], tuple[int, int]] = {}
        self._frames: dict[int, list[tuple[int, int]]] = {}

    def end(self, end: End) -> None:
        """Remember the end of the journal, and forget the oldest one."""
        if end.segment and (end.position, end.crc) not in self.places:
            self.places[end.position, end.crc] = (end.segment, end.offset)
            if len(self.places) > MOST_PLACES:
                del self.places[next(iter(self.places))]

    def mark(self, segment: int, before: int, offset: int) -> None:
        frames, frame = self._frames.setdefault(segment, []), (before, offset)
        at = bisect_left(frames, frame)
        if at == len(frames) or frames[at] != frame:
            frames.insert(at, frame)
            if len(frames) > MOST_MARKS:
                del frames[1::2]

    def before(self, segment: int, position: int) -> tuple[int, int]:
        """Return the last known frame in a segment that does not come behind the record at the position."""
        frames = self._frames.get(segment, [])
        at = bisect_left(frames, (position, 0))
        return frames[at - 1] if at else (segment - 1, HEADER_BYTES)

    def keep(self, segments: Mapping[int, Path]) -> None:
        """Set the segments that exist, and forget the frames of others."""
        self.segments = segments
        self._frames = {first: frames for first, frames in self._frames.items() if first in segments}


class _Segment:
    """A segment that is open, with the bytes around the frame in turn."""

    def __init__(self, folder: Folder, path: Path) -> None:
        self.file: BinaryIO = path.open("rb", buffering=0)
        try:
            raw = self.file.read(HEADER_BYTES)
            self.header: SegmentHeader = decode_header(raw)
            self.seal: Seal = folder.keys.seal_of(path, self.header.key_id, self.header.salt)
        except BaseException:
            self.file.close()
            raise
        self._start, self._bytes = 0, b""

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end of the file."""
        begin = offset - self._start
        if begin < 0 or begin + size > len(self._bytes):
            self.file.seek(offset)
            self._start, self._bytes = offset, _read(self.file, max(size, BLOCK_BYTES))
            begin = 0
        return self._bytes[begin : begin + size]

    def head_at(self, offset: int) -> FrameHead | None:
        """Return the head of a frame; None at the end of the file. Raises BadBytes."""
        head = self.bytes_at(offset, HEAD_BYTES)
        if not head:
            return None
        if len(head) < HEAD_BYTES:
            raise BadBytes(offset, "the frame is incomplete")
        return decode_head(head, offset, self.header.salt)

    def records_at(self, offset: int, head: FrameHead) -> list[bytes]:
        """Return the records of a frame. Raises BadBytes."""
        return open_frame(self.bytes_at(offset, HEAD_BYTES + head.length), offset, self.seal)


def _read(file: BinaryIO, size: int) -> bytes:
    """Read `size` bytes: one call of the system may return fewer."""
    pieces: list[bytes] = []
    while size and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class _Walk:
    """One walk from the frame of a position on. Runs in the thread."""

    def __init__(
        self, folder: Folder, known: _Known, wanted: re.Pattern[bytes], end: End, asked: _Asked
    ) -> None:
        self._folder = folder
        self._known = known
        self._wanted = wanted
        self._end = end
        self._until = end.position
        self._asked = asked
        self._first_asked = asked.position + (not asked.again)
        self._proofs: set[int] = set()
        """The checksums that prove the position from which the walk begins, as far as they are known."""
        self._found: list[FoundRecord] = []
        self._taken_bytes = self._walked_bytes = 0
        self._at, self._at_proof = asked.position, asked.proof
        self._last_frame: tuple[int, int, int] | None = None

    def page(self) -> FoundPage | None:
        """Return the page; None if the walk has not reached it yet. Raises PlaceLost, OSError."""
        if self._end.segment not in self._known.segments:
            self._known.keep(dict(list_segments(self._folder.path)))
        try:
            return self._page()
        except FileNotFoundError:  # a snapshot has deleted segments meanwhile
            self._known.keep(dict(list_segments(self._folder.path)))
        try:
            return self._page()
        except FileNotFoundError:
            raise PlaceLost from None

    def _page(self) -> FoundPage | None:
        segments = self._known.segments
        if not self._end.segment:
            return FoundPage((), self._until, self._asked.proof, is_last=True)  # nothing was ever written
        first, before, offset = self._start(segments)
        while True:
            path = segments.get(first)
            if path is None:
                break  # it began a moment ago
            before, is_over = self._through(first, path, before, offset)
            if is_over is None:
                return None
            if is_over or before >= self._until:
                break
            first, offset = before + 1, HEADER_BYTES
        self._check()
        if self._last_frame is not None:
            self._known.mark(*self._last_frame)
        return FoundPage(self._found, self._at, self._at_proof, is_last=self._at >= self._until)

    def _start(self, segments: Mapping[int, Path]) -> tuple[int, int, int]:
        """Return the segment, the newest position before the frame, and its offset. Raises PlaceLost."""
        asked = self._asked
        place = None if asked.again else self._known.places.get((asked.position, asked.proof))
        if place is not None and place[0] in segments:
            self._proofs.add(asked.proof)
            return place[0], asked.position, place[1]
        firsts = list(segments)
        index = bisect_right(firsts, max(asked.position, 1)) - 1  # the segment with the position
        if index >= 0:
            return firsts[index], *self._known.before(firsts[index], asked.position)
        if not asked.again and firsts and firsts[0] == asked.position + 1:
            return firsts[0], asked.position, HEADER_BYTES
        raise PlaceLost

    def _through(self, first: int, path: Path, before: int, offset: int) -> tuple[int, bool | None]:
        """Walk through a segment. Return the newest position read, and true if the page is whole: None if the
        walk must go on later."""
        asked, segment, marked = self._asked, _Segment(self._folder, path), offset
        with segment.file:
            if segment.header.first == asked.position + 1:
                self._proofs.add(segment.header.seed)
            while before < self._until:
                head = segment.head_at(offset)
                if head is None or head.kind is FrameKind.CONTINUED:
                    break
                if head.first != before + 1:
                    raise BadBytes(offset, "the frame does not continue the one before it")
                if offset - marked >= MARK_BYTES:
                    self._known.mark(first, before, offset)
                    marked = offset
                last = before + head.records
                if before < asked.position <= last or before == asked.position == last:
                    self._proofs.add(head.crc)
                if last >= self._first_asked:
                    self._check()
                    if self._taken_bytes >= PAGE_BYTES or len(self._found) >= asked.most:
                        return before, True
                    self._take(segment, offset, head)
                    self._last_frame = (first, before, offset)
                else:
                    self._walked_bytes += HEAD_BYTES + head.length
                    if self._walked_bytes >= WALK_BYTES:
                        self._known.mark(first, before, offset)
                        return before, None
                before, offset = last, offset + HEAD_BYTES + head.length
            return before, False

    def _take(self, segment: _Segment, offset: int, head: FrameHead) -> None:
        self._taken_bytes += HEAD_BYTES + head.length
        for position, record in enumerate(segment.records_at(offset, head), head.first):
            if position < self._first_asked:
                continue
            if len(self._found) >= self._asked.most:
                return
            self._at, self._at_proof = position, head.crc
            if self._wanted.search(record):
                self._found.append(FoundRecord(position, head.crc, decode_record(record)))

    def _check(self) -> None:
        if self._asked.proof not in self._proofs:
            raise PlaceLost
