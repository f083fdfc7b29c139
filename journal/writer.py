"""Writing frames, in the journal's thread. Invariant: no frame follows bytes that may not be whole.

A frame goes behind the last one. When its write fails, the writer cuts it off again, so that a later try
begins at the same byte. A new segment is written under a name that does not count, synced and renamed, and
its folder is synced. Then the old segment says that it is continued, and only then comes the first frame. A
failed sync is final: the content of the disk is unknown from then on.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from journal.frames import HEADER_BYTES, FrameKind, encode_frame, encode_header
from journal.segments import Tail, first_position, make_durable, segment_path
from storage.disk import write_all
from storage.folder import UNFINISHED, Folder
from storage.sealing import Seal

T = TypeVar("T")


class SyncFailed(OSError):
    """A sync has failed. The content of the disk is unknown from then on."""


class End(NamedTuple):
    """The end of what is written: the newest position, the checksum that the next frame continues, the first
    position of the segment, and the offset in it."""

    position: int
    crc: int
    segment: int
    offset: int


class _Open(NamedTuple):
    """The segment being written."""

    file: int
    first: int
    seal: Seal


class SegmentWriter:
    """A writer that continues the journal at `tail`, whose torn bytes were set aside."""

    def __init__(self, folder: Folder, tail: Tail, segment_bytes: int) -> None:
        self.written_position = self.synced_position = tail.head
        self.vouched_position = 0
        """The newest position that a frame on disk vouches for."""
        self._folder = folder
        self._disk = folder.disk
        self._segment_bytes = segment_bytes
        self._crc = tail.crc
        self._end = self._synced_end = tail.end
        self._rotate = False
        self._segment: _Open | None = None
        if tail.segment is not None and tail.seal is not None:
            file = self._disk.open(tail.segment)
            if tail.torn:
                self._disk.truncate(file, self._end)
            make_durable(folder)
            self._rotate = tail.seal.key_id != folder.keys.newest
            first = first_position(tail.segment)
            if self._rotate and first > tail.head:  # without records, so the next segment takes its name
                self._disk.close(file)
                self._crc = tail.seed
            else:
                self._segment = _Open(file, first, tail.seal)

    @property
    def end(self) -> End:
        first = self._segment.first if self._segment is not None else 0
        return End(self.written_position, self._crc, first, self._end)

    def rotate(self) -> None:
        """Begin a new segment with the next frame."""
        self._rotate = True

    def write(self, kind: FrameKind, records: Sequence[bytes]) -> None:
        """Write the records as one frame.

        Raises OSError, after which the caller may write the same records again, or SyncFailed.
        """
        first = self.written_position + 1
        segment = self._segment
        full = self._rotate or self._end >= self._segment_bytes
        # A segment without records stays the newest: the next one would have the same name.
        if segment is None or (full and first > segment.first):
            self._rotate = False  # before it begins, because a call of `rotate` meanwhile asks for another
            try:
                segment = self._begin_segment(first)
            except OSError:
                self._rotate = True
                raise
        self._crc = self._put(segment, kind, first, records)
        self.vouched_position = self.synced_position
        self.written_position += len(records)

    def sync(self) -> None:
        """Make all written frames durable. Raises SyncFailed."""
        if self._segment is not None:
            _sync_once(self._disk.sync, self._segment.file)
        self.synced_position, self._synced_end = self.written_position, self._end

    def close(self) -> None:
        if self._segment is not None:
            self._disk.close(self._segment.file)
            self._segment = None

    def _put(self, segment: _Open, kind: FrameKind, first: int, records: Sequence[bytes]) -> int:
        """Append a frame and return its checksum."""
        frame, crc = encode_frame(kind, first, records, self._synced_end, self._crc, segment.seal)
        try:
            write_all(self._disk, segment.file, frame, self._end)
        except OSError:
            self._disk.truncate(segment.file, self._end)
            raise
        self._end += len(frame)
        return crc

    def _begin_segment(self, first: int) -> _Open:
        if self._synced_end < self._end:
            self.sync()  # no segment may begin before the one before it is whole
        seal = self._folder.keys.new_seal()
        new = _Open(self._create(first, seal), first, seal)
        if self._segment is not None:
            try:
                self._put(self._segment, FrameKind.CONTINUED, first, [])
                _sync_once(self._disk.sync, self._segment.file)
            except OSError:
                with contextlib.suppress(OSError):  # the first error is the one to raise
                    self._disk.close(new.file)
                raise
            self._disk.close(self._segment.file)
        self._segment = new
        self._end = self._synced_end = HEADER_BYTES
        return new

    def _create(self, first: int, seal: Seal) -> int:
        """Create a segment with its header, durable under its name. Return its descriptor, open to write."""
        path = segment_path(self._folder.path, first)
        unnamed = path.with_name(path.name + UNFINISHED)
        file = self._disk.create(unnamed)
        try:
            write_all(self._disk, file, encode_header(first, self._crc, seal), 0)
            _sync_once(self._disk.sync, file)
            self._disk.rename(unnamed, path)
            _sync_once(self._disk.sync_folder, self._folder.path)
        except OSError:
            with contextlib.suppress(OSError):
                self._disk.close(file)
                self._disk.unlink(unnamed)
            raise
        return file


def _sync_once(sync: Callable[[T], None], what: T) -> None:
    try:
        sync(what)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror) from None
