"""Appending to the journal. Law: a position is durable only after the fdatasync that covers it returned.

`append` only remembers a record. `run` writes what has gathered as one frame, in one thread, one batch at a
time, and then wakes everyone who waits: many records share one fdatasync.

What can go wrong has two fates. No space (or no file descriptor for a new segment): the batch stays and is
tried again every second, and meanwhile appends are refused. Anything else, above all a failed fsync: what the
disk holds is unknown, the journal never writes again, and `run` raises, which stops the process.
"""

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.clock import NS_PER_SECOND, Clock
from core.refusals import Unavailable
from journal.folder import sync_folder
from journal.frames import encode_frame, encode_header
from journal.segments import Tail, first_position, segment_path, set_torn_aside

log = logging.getLogger(__name__)

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
    """`always`: a record is durable after its fdatasync. `interval`: it counts as durable once written,
    and a power cut may take what was written since the last fdatasync, `interval_seconds` at the most."""

    fsync: Literal["always", "interval"]
    interval_seconds: float
    segment_bytes: int
    pending_bytes: int


class _SyncFailed(OSError):
    """A sync has failed, for whatever reason: nothing tells any more what the disk holds."""


class Journal:
    def __init__(self, folder: Path, tail: Tail, policy: JournalPolicy, clock: Clock) -> None:
        """Continues the journal that ends at `tail`, cutting off a torn write first."""
        if tail.torn:
            log.warning("an unfinished write after position %d was set aside", tail.head)
            set_torn_aside(folder, tail)
        self.head = tail.head
        self.durable_position = tail.head
        self._folder = folder
        self._policy = policy
        self._clock = clock
        self._crc = tail.crc
        self._end = tail.end
        self._file = -1
        self._segment_first = 0
        if tail.segment is not None and tail.end > 0:
            self._file = os.open(tail.segment, os.O_WRONLY | os.O_CLOEXEC)
            self._segment_first = first_position(tail.segment)
            os.fdatasync(self._file)  # a killed process may have left what was read in the page cache alone
        self._written_position = self._synced_position = tail.head
        self._vouched_position = 0  # the newest position below the watermark of a frame
        self._synced_ns = clock.monotonic_ns()
        self._rotate = False

        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._on_durable: list[Callable[[], None]] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._closed = asyncio.Event()
        self._unavailable: str | None = None
        self._thread = ThreadPoolExecutor(1, "journal")

    @property
    def writable(self) -> bool:
        return self._unavailable is None

    def on_durable(self, call: Callable[[], None]) -> None:
        """Calls back whenever `durable_position` has advanced."""
        self._on_durable.append(call)

    def append(self, record: bytes) -> int:
        if self._unavailable is not None:
            raise Unavailable(self._unavailable)
        if self._pending_bytes + len(record) > self._policy.pending_bytes:
            raise Unavailable("the disk does not keep up")
        self._pending.append(record)
        self._pending_bytes += len(record)
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

    def rotate(self) -> None:
        """Starts a new segment with the next frame."""
        self._rotate = True

    async def close(self) -> None:
        """Writes what is pending and a last frame that vouches for it; `run` then returns."""
        self._closing = True
        self._wake.set()
        await self._closed.wait()

    async def run(self) -> None:
        """Writes batches until closed. Raises OSError when the disk fails."""
        try:
            while not self._closing or self._pending:
                try:
                    await asyncio.wait_for(self._wake.wait(), self._patience())
                except TimeoutError:
                    await self._vouch()
                else:
                    self._wake.clear()
                    await self.step()
            self._unavailable = "the gateway is stopping"
            await self._vouch()
        except OSError:
            self._unavailable = "the disk has failed"
            raise
        finally:
            self._fail_waiters(self._unavailable or "the gateway is stopping")
            self._thread.shutdown()
            if self._file != -1:
                os.close(self._file)
            self._closed.set()

    async def step(self) -> None:
        """Makes everything pending durable, as one frame."""
        if not self._pending:
            return
        batch, self._pending, self._pending_bytes = self._pending, [], 0
        try:
            await self._in_thread(self._write, batch)
        except _SyncFailed:
            raise
        except OSError as error:
            if error.errno not in PASSING:
                raise
            await self._put_off(batch, PASSING[error.errno])
            return
        if self._unavailable is not None:
            log.warning("the journal takes writes again")
            self._unavailable = None
        self.durable_position = self._written_position
        waiting, self._waiters = self._waiters, []
        for position, waiter in waiting:
            if position > self.durable_position:
                self._waiters.append((position, waiter))
            elif not waiter.done():
                waiter.set_result(None)
        for call in self._on_durable:
            call()

    async def _vouch(self) -> None:
        """Syncs what is not, and says so on disk: what was durable can then be told from a torn write."""
        try:
            await self._in_thread(self._write, [])
        except _SyncFailed:
            raise
        except OSError as error:
            if error.errno not in PASSING:
                raise

    async def _put_off(self, batch: list[bytes], reason: str) -> None:
        if self._unavailable is None:
            log.error("%s for %s: writes are refused until there is", reason, self._folder)
        self._unavailable = reason
        self._pending[:0] = batch
        self._pending_bytes += sum(map(len, batch))
        self._fail_waiters(f"{reason}, and this change may still be written later")
        if self._closing:
            raise OSError(errno.ENOSPC, f"{reason} for the last records; they were never acknowledged")
        await asyncio.sleep(RETRY_SECONDS)
        self._wake.set()

    def _fail_waiters(self, reason: str) -> None:
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(Unavailable(reason))

    def _patience(self) -> float | None:
        return self._policy.interval_seconds if self._vouched_position < self._written_position else None

    async def _in_thread(self, call: Callable[..., None], *args: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    # -- in the writer's thread ------------------------------------------------------------------------

    def _write(self, batch: list[bytes]) -> None:
        if not batch and self._synced_position < self._written_position:
            self._sync()
        first = self._written_position + 1
        full = self._rotate or self._end >= self._policy.segment_bytes
        # A segment without records is not left behind: the next one would have its name.
        if self._file == -1 or (full and first > self._segment_first):
            self._start_segment(first)
        frame, crc = encode_frame(first, batch, self._synced_position, self._crc)
        try:
            _write_all(self._file, frame, self._end)
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(frame)
        self._crc = crc
        self._vouched_position = self._synced_position
        self._written_position += len(batch)
        due = self._clock.monotonic_ns() - self._synced_ns >= self._policy.interval_seconds * NS_PER_SECOND
        if self._policy.fsync == "always" or due or not batch:
            self._sync()

    def _sync(self) -> None:
        try:
            os.fdatasync(self._file)
        except OSError as error:
            raise _SyncFailed(error.errno, error.strerror) from None
        self._synced_position = self._written_position
        self._synced_ns = self._clock.monotonic_ns()

    def _start_segment(self, first: int) -> None:
        if self._synced_position < self._written_position:
            self._sync()  # no segment may begin before the one behind it is whole
        path = segment_path(self._folder, first)
        header = encode_header(first, self._crc)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, header, 0)
            os.fsync(file)
            sync_folder(self._folder)
        except OSError:
            os.close(file)
            path.unlink()
            raise
        if self._file != -1:
            os.close(self._file)
        self._file, self._end, self._segment_first, self._rotate = file, len(header), first, False


def _write_all(file: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written
