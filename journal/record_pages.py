"""Pages of the journal behind a position, read while it is written.

Invariant: the loop never waits for the disk.

A reader names the last record that it has read by its position and its *proof*: the checksum of the frame
with that record, which depends on all records before it. The same position of another or a restored journal
has another proof. A frame without records continues the same history, and so does the header of
the segment behind the record: their checksums prove the position, too.

The way to a record leads from frame to frame, over their heads alone. `_Frames` remembers the ends of pages,
so nearly every page begins at a known frame. Only durable records are read: bytes behind them may still be
cut off.
"""

import asyncio
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from core.events import UnknownEvent, decode_record
from core.failures import PlaceLost
from core.ledger import FoundPage, FoundRecord
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
from journal.segments import list_segments, segment_path
from storage.folder import Folder
from storage.sealing import KeyMissing, Seal

PAGE_BYTES = 1 << 20
"""A page ends with the frame that reaches so many bytes."""
WALK_BYTES = 8 << 20
"""The bytes of frames that the thread reads for one reader before it turns to the next."""
BLOCK_BYTES = 256 << 10
MOST_FRAMES = 4_096
"""The frames that are remembered. Beyond that, the oldest one is forgotten."""


class JournalPages:
    """Reads pages in a thread of its own, one at a time.

    Args:
        tags: the tags of the wanted events, such as `vote_cast.1`.
    """

    def __init__(self, folder: Folder, journal: Journal, tags: Sequence[str]) -> None:
        self._folder = folder
        self._journal = journal
        self._frames = _Frames()
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
        self._keep(end)
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
            self._keep(end)
            walk, page = _Walk(self._folder, self._frames, self._wanted, end, asked), None
            try:
                while page is None:
                    page = await self._in_thread(walk.page)
            except FileNotFoundError:
                continue  # a snapshot has deleted a segment since the walk listed them
            return page

    def _keep(self, end: End) -> None:
        if end.segment:
            self._frames.keep(end.position, end.crc, _Frame(end.segment, end.position, end.offset))

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


class _Frame(NamedTuple):
    """A frame: the first position of its segment, the newest position before the frame, and its offset."""

    segment: int
    before: int
    offset: int


class _Frames:
    """Frames by position and proof: the one with the record, or, at a former end of the journal, the next.

    The loop and the thread use it, so each call is one step of the interpreter.
    """

    def __init__(self) -> None:
        self._frames = OrderedDict[tuple[int, int], _Frame]()

    def keep(self, position: int, proof: int, frame: _Frame) -> None:
        self._frames[position, proof] = frame
        if len(self._frames) > MOST_FRAMES:
            self._frames.popitem(last=False)

    def find(self, position: int, proof: int) -> _Frame | None:
        return self._frames.get((position, proof))


class _Segment:
    """A segment that is open, with the bytes around the frame in turn."""

    def __init__(self, folder: Folder, path: Path) -> None:
        self.file: BinaryIO = path.open("rb")
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
            self._start, self._bytes = offset, self.file.read(max(size, BLOCK_BYTES))
            begin = 0
        return self._bytes[begin : begin + size]

    def head_at(self, offset: int) -> FrameHead | None:
        """Return the head of a frame; None at the end of the file. Raises BadBytes."""
        head = self.bytes_at(offset, HEAD_BYTES)
        return decode_head(head, offset, self.header.salt) if head else None


class _Walk:
    """One walk from the frame of a position on. Runs in the thread."""

    def __init__(
        self, folder: Folder, frames: _Frames, wanted: re.Pattern[bytes], end: End, asked: _Asked
    ) -> None:
        self._folder = folder
        self._frames = frames
        self._wanted = wanted
        self._until = end.position
        self._is_empty = not end.segment
        self._asked = asked
        self._first_asked = asked.position + (not asked.again)
        self._proofs: set[int] = set()
        """The checksums that prove the position from which the walk begins, as far as they are known."""
        self._found: list[FoundRecord] = []
        self._taken_bytes = self._walked_bytes = 0
        self._at, self._at_proof = asked.position, asked.proof
        self._frame: _Frame | None = None
        """The next frame, once the walk has begun."""
        self._last_taken: _Frame | None = None

    def page(self) -> FoundPage | None:
        """Return the page; None if the walk has not reached it yet. Raises PlaceLost, BadBytes, OSError."""
        if self._is_empty:
            return FoundPage((), self._until, self._asked.proof, is_last=True)
        frame = self._frame or self._start()
        while frame.before < self._until:
            frame, is_whole = self._through(frame)
            if is_whole is None:
                self._frame = frame
                return None
            if is_whole:
                break
            frame = _Frame(frame.before + 1, frame.before, HEADER_BYTES)
        self._check()
        if self._last_taken is not None:
            self._frames.keep(self._at, self._at_proof, self._last_taken)
        return FoundPage(self._found, self._at, self._at_proof, is_last=self._at >= self._until)

    def _start(self) -> _Frame:
        """Return the frame from which to walk. Raises PlaceLost."""
        asked = self._asked
        firsts = [first for first, _ in list_segments(self._folder.path)]
        known = self._frames.find(asked.position, asked.proof)
        if known is not None and known.segment in firsts and known.before < self._first_asked:
            self._proofs.add(asked.proof)
            return known
        index = bisect_right(firsts, max(asked.position, 1)) - 1  # the segment with the position
        if index >= 0:
            return _Frame(firsts[index], firsts[index] - 1, HEADER_BYTES)
        if not asked.again and firsts and firsts[0] == asked.position + 1:
            return _Frame(firsts[0], asked.position, HEADER_BYTES)
        raise PlaceLost

    def _through(self, frame: _Frame) -> tuple[_Frame, bool | None]:
        """Walk through a segment. Return the next frame, and true if the page is whole: None if the walk must
        go on later."""
        asked, (first, before, offset) = self._asked, frame
        segment = _Segment(self._folder, segment_path(self._folder.path, first))
        with segment.file:
            if segment.header.first == asked.position + 1:
                self._proofs.add(segment.header.seed)
            while before < self._until:
                head = segment.head_at(offset)
                if head is None or head.kind is FrameKind.CONTINUED:
                    break
                if head.first != before + 1:
                    raise BadBytes(offset, "the frame does not continue the one before it")
                last = before + head.records
                if before < asked.position <= last or before == asked.position == last:
                    self._proofs.add(head.crc)
                if last >= self._first_asked:
                    self._check()
                    if self._taken_bytes >= PAGE_BYTES or len(self._found) >= asked.most:
                        return _Frame(first, before, offset), True
                    self._take(segment, offset, head)
                    self._last_taken = _Frame(first, before, offset)
                else:
                    self._walked_bytes += HEAD_BYTES + head.length
                before, offset = last, offset + HEAD_BYTES + head.length
                if self._walked_bytes >= WALK_BYTES:
                    self._walked_bytes = 0
                    return _Frame(first, before, offset), None
            return _Frame(first, before, offset), False

    def _take(self, segment: _Segment, offset: int, head: FrameHead) -> None:
        self._taken_bytes += HEAD_BYTES + head.length
        frame = segment.bytes_at(offset, HEAD_BYTES + head.length)
        for position, record in enumerate(open_frame(frame, offset, segment.seal), head.first):
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
