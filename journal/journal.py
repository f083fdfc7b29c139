"""Appending to the journal. Invariant: a position is durable only after the fdatasync that covers it
returned.

A frame goes behind the last one, in the journal's thread, and never behind bytes that may not be whole: when
its write fails, the writer cuts it off again, so that a later try begins at the same byte. A new segment is
written under a name that does not count, synced and renamed, and its folder is synced. Then the old segment
says that it is continued, and only then comes the first frame. A failed sync is final: the content of the
disk is unknown from then on.
"""

import asyncio
import contextlib
import errno
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from core.clock import NS_PER_SECOND, Clock
from core.durations import DurationCounts
from core.failures import Unavailable
from journal.frames import HEADER_BYTES, FrameKind, encode_frame, encode_header
from journal.segments import Tail, first_position, make_durable, segment_path, set_torn_aside
from languages.texts import Text, Words, in_english
from storage.disk import write_all
from storage.folder import UNFINISHED, Folder
from storage.sealing import Seal

SLOW_SECONDS = 2
"""The length of a write that is slow. After one, a write in half that time is quick again."""
LOOK_SECONDS = 0.25
_SLOW_NS = SLOW_SECONDS * NS_PER_SECOND
log = logging.getLogger(__name__)


class SlowDisk:
    """Measures each write of the journal from its beginning: a write that never ends is logged, too.

    A change is answered once the disk has it. A disk that takes seconds refuses nothing, so without a line
    nobody would see why every vote and every push takes so long. The journal only notes when a write begins
    and ends. `step` draws the conclusions in an observer's loop, so that it cannot fail a write.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns: int | None = None
        self._slow_since_ns: int | None = None
        self._quick_at_ns: int | None = None
        """The end of a quick write after a slow one."""
        self._quiet_since_ns = 0
        self.is_slow = False
        """True from the line that logs the beginning to the line that logs the end."""

    def begin(self) -> None:
        """Note that a write begins."""
        self._began_ns = self._clock.monotonic_ns()

    def end(self) -> None:
        """Note that the write has ended."""
        now_ns = self._quiet_since_ns = self._clock.monotonic_ns()
        began_ns = self._began_ns if self._began_ns is not None else now_ns
        self._began_ns = None
        self._look(began_ns, now_ns)
        if (now_ns - began_ns) * 2 <= _SLOW_NS and self._slow_since_ns is not None:
            self._quick_at_ns = now_ns

    def step(self) -> None:
        """Look at the write under way, and log what has changed."""
        now_ns = self._clock.monotonic_ns()
        if self._began_ns is not None:
            self._look(self._began_ns, now_ns)
        elif now_ns - self._quiet_since_ns >= _SLOW_NS and self._quick_at_ns is None:
            self._quick_at_ns = now_ns  # nobody waits any more
        if self._slow_since_ns is not None and not self.is_slow:
            self.is_slow = True
            log.warning("the disk is slow: a write has taken %d s so far, and changes wait", SLOW_SECONDS)
        if self._slow_since_ns is not None and self._quick_at_ns is not None:
            seconds = (self._quick_at_ns - self._slow_since_ns) / NS_PER_SECOND
            log.info("the disk is slow no longer: it was for %.1f s", seconds)
            self._slow_since_ns, self.is_slow = None, False
        self._quick_at_ns = None

    def _look(self, began_ns: int, now_ns: int) -> None:
        if now_ns - began_ns >= _SLOW_NS:
            self._quick_at_ns = None
            if self._slow_since_ns is None:
                self._slow_since_ns = began_ns

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.step()


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


PASSING = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "no space left on the disk",
    errno.EMFILE: "no file descriptor left",
    errno.ENFILE: "no file descriptor left",
    errno.ENOMEM: "no memory left",
}
RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class JournalPolicy:
    """The settings of a journal.

    `always`: a record is durable after its fdatasync. `interval`: a record counts as durable once it is
    written, and a power cut may take the records since the last fdatasync, `interval_seconds` at most.
    """

    fsync: Literal["always", "interval"]
    interval_seconds: float
    segment_bytes: int
    pending_bytes: int


class Journal:
    """The end of the journal, to which records are appended.

    `append` only remembers a record. `run` writes all pending records as one frame, in one thread, one batch
    at a time, and then wakes everyone who waits: many records share one fdatasync.

    A failure has one of two fates. Without space (or a file descriptor for a new segment), the journal keeps
    the batch, tries it again every second, and refuses appends meanwhile. After any other failure, above all
    a failed fsync, nobody knows what the disk holds: the journal never writes again, and `run` raises, which
    stops the process.
    """

    def __init__(self, folder: Folder, tail: Tail, policy: JournalPolicy, clock: Clock) -> None:
        """Continue the journal that ends at `tail`. A torn write is cut off first."""
        if tail.torn and tail.segment is not None:
            set_torn_aside(folder, tail.segment, tail.end)
            log.info("an unfinished write after position %d was set aside", tail.head)
        elif not tail.closed:
            log.info("the last process did not stop cleanly; its journal ends at position %d", tail.head)
        self.head = tail.head
        self.durable_position = tail.head
        self._folder = folder
        self._policy = policy
        self._clock = clock
        self._writer = SegmentWriter(folder, tail, policy.segment_bytes)
        self.end = self._writer.end
        """The end of what is durable: behind the record at `durable_position`."""
        self.slow_disk = SlowDisk(clock)
        self._synced_ns = clock.monotonic_ns()
        self.first_position = tail.head + 1
        """The position of the first record that this process appends."""
        self.batches = 0
        """The frames with records that this process has written."""
        self.syncs = DurationCounts()
        """The durations of the syncs of written frames."""

        self._pending: list[bytes] = []
        self.pending_bytes = 0
        """The size of the records that wait for the next batch."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._unsynced: list[asyncio.Future[None]] = []
        self._on_durable: list[Callable[[], None]] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._closed = asyncio.Event()
        self._unavailable: Words | None = None
        self.is_behind = False
        """True while the disk does not keep up: records were refused, and more than half of the policy's
        `pending_bytes` still wait."""
        self._thread = ThreadPoolExecutor(1, "journal")

    @property
    def writable(self) -> bool:
        return self._unavailable is None

    @property
    def why_not_writable(self) -> str | None:
        """The reason why writes are refused; None while they are taken."""
        return in_english(self._unavailable) if self._unavailable is not None else None

    def begin(self) -> None:
        """Vouch on disk for the recovered records. Raises OSError when the disk takes no writes."""
        self._write(FrameKind.IDLE, [])

    def on_durable(self, call: Callable[[], None]) -> None:
        """Call `call` whenever `durable_position` has advanced."""
        self._on_durable.append(call)

    def append(self, record: bytes) -> int:
        if self._unavailable is not None:
            raise Unavailable(self._unavailable)
        if self.pending_bytes + len(record) > self._policy.pending_bytes:
            self._fall_behind()
            raise Unavailable(Text("the disk does not keep up"))
        self._pending.append(record)
        self.pending_bytes += len(record)
        self.head += 1
        self._wake.set()
        return self.head

    async def durable(self, position: int) -> None:
        if position <= self.durable_position:
            return
        if self._unavailable is not None:
            raise Unavailable(self._unavailable)
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((position, waiter))
        await waiter

    async def synced(self, position: int) -> None:
        """Return once the record would outlive a power cut, with `fsync: interval` too. Raises Unavailable.

        The journal itself syncs: when that fails, the journal has failed.
        """
        await self.durable(position)
        if position <= self._writer.synced_position:
            return
        if self._unavailable is not None:
            raise Unavailable(self._unavailable)
        waiter = asyncio.get_running_loop().create_future()
        self._unsynced.append(waiter)
        self._wake.set()
        await waiter

    def rotate(self) -> None:
        """Start a new segment with the next frame."""
        self._writer.rotate()

    async def close(self) -> None:
        """Write all pending records and a last frame that vouches for them. `run` returns then."""
        self._closing = True
        self._wake.set()
        await self._closed.wait()

    async def run(self) -> None:
        """Write batches until `close`. Raises OSError when the disk fails."""
        reason = Text("the gateway is stopping")
        try:
            while not self._closing or self._pending:
                try:
                    async with asyncio.timeout(self._patience()):
                        await self._wake.wait()
                except TimeoutError:
                    await self._vouch(FrameKind.IDLE)
                else:
                    self._wake.clear()
                    await self.step()
            await self._vouch(FrameKind.CLOSED)
        except OSError:
            reason = Text("the disk has failed")
            raise
        finally:
            self._unavailable = reason
            self._fail_waiters(reason)
            self._thread.shutdown()
            self._writer.close()
            self._closed.set()

    async def step(self) -> None:
        """Make all pending records durable, as one frame."""
        if self._unsynced:
            await self._vouch(FrameKind.IDLE)
            waiting, self._unsynced = self._unsynced, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)
        if not self._pending:
            return
        batch, self._pending, self.pending_bytes = self._pending, [], 0
        try:
            await self._in_thread(self._write, FrameKind.RECORDS, batch)
        except SyncFailed:
            raise
        except OSError as error:
            if error.errno not in PASSING:
                raise
            await self._put_off(batch, PASSING[error.errno])
            return
        if self._unavailable is not None:
            log.info("the journal takes writes again")
            self._unavailable = None
        if self.is_behind and self.pending_bytes <= self._policy.pending_bytes // 2:
            log.info("the disk keeps up again")
            self.is_behind = False
        self._tell_durable()

    def _fall_behind(self) -> None:
        if not self.is_behind and self.pending_bytes > self._policy.pending_bytes // 2:
            log.warning("the disk does not keep up: writes are refused while too many wait")
            self.is_behind = True

    def _tell_durable(self) -> None:
        self.end = self._writer.end  # the thread rests: there is one batch at a time
        self.durable_position = self.end.position
        waiting, self._waiters = self._waiters, []
        for position, waiter in waiting:
            if position > self.durable_position:
                self._waiters.append((position, waiter))
            elif not waiter.done():
                waiter.set_result(None)
        for call in self._on_durable:
            call()

    async def _vouch(self, kind: FrameKind) -> None:
        """Sync, and write a frame that says so: a reader can then tell a durable record from a torn write."""
        try:
            await self._in_thread(self._write, kind, [])
        except SyncFailed:
            raise
        except OSError as error:
            if error.errno not in PASSING:
                raise

    async def _put_off(self, batch: list[bytes], reason: str) -> None:
        if self._unavailable is None:
            log.warning("%s for %s: writes are refused until there is", reason, self._folder.path)
        self._unavailable = reason
        self._pending[:0] = batch
        self.pending_bytes += sum(map(len, batch))
        self._fail_waiters(f"{reason}, and this change may still be written later")
        if self._closing:
            raise OSError(errno.ENOSPC, f"{reason} for the last records; they were never acknowledged")
        await asyncio.sleep(RETRY_SECONDS)
        self._wake.set()

    def _fail_waiters(self, reason: Words) -> None:
        waiting = [waiter for _, waiter in self._waiters] + self._unsynced
        self._waiters, self._unsynced = [], []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(Unavailable(reason))

    def _patience(self) -> float | None:
        """Return the seconds to wait for records before the journal syncs and vouches. None is no limit."""
        writer, interval_ns = self._writer, self._policy.interval_seconds * NS_PER_SECOND
        if writer.vouched_position >= writer.written_position:
            return None
        if writer.synced_position < writer.written_position:
            interval_ns += self._synced_ns - self._clock.monotonic_ns()
        return max(interval_ns / NS_PER_SECOND, 0)

    async def _in_thread(self, call: Callable[..., None], *args: object) -> None:
        self.slow_disk.begin()
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)
        finally:
            self.slow_disk.end()

    def _write(self, kind: FrameKind, batch: list[bytes]) -> None:
        """Write the batch as one frame. Runs in the writer's thread."""
        writer = self._writer
        if not batch and writer.synced_position < writer.written_position:
            self._sync()
        writer.write(kind, batch)
        self.batches += bool(batch)
        due = self._clock.monotonic_ns() - self._synced_ns >= self._policy.interval_seconds * NS_PER_SECOND
        if self._policy.fsync == "always" or due or not batch:
            self._sync()

    def _sync(self) -> None:
        """Make all written frames durable. Runs in the writer's thread."""
        began_ns = self._clock.monotonic_ns()
        self._writer.sync()
        self._synced_ns = self._clock.monotonic_ns()
        self.syncs.add(self._synced_ns - began_ns)
