"""The files of a running gateway: bounds, memory, the sweep, and files that other nodes have.

An upload comes before the submission that names its file, so a file that no row names waits for an hour.
Another upload of it, and a submission that names it, start the hour again. Then the sweep removes it.

Invariants: the sweep removes nothing before it has read every row. It removes no file that a durable row
named within the last hour of the monotonic clock.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from weakref import WeakValueDictionary

from blobs.blob_names import BlobNames
from blobs.sealed_blobs import Blob, BlobCorrupt, BlobOnDisk, SealedBlobs, digest_of
from core.clock import NS_PER_SECOND, Clock
from core.failures import Unavailable
from core.ledger import Ledger
from forms.file_fields import FileRef
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from storage.folder import Folder, what_to_do
from storage.sealing import KeyMissing

log = logging.getLogger(__name__)

LEAST_COST = 4_096  # bytes that any file counts, because a disk has no smaller block
FILES_AT_ONCE = 32  # of the folder in a slice
FILL_SECONDS = 1.0
ABSENT_SECONDS = 30.0  # before another node is asked for the same file again
MOST_ABSENT = 4_096
_UNREADABLE = (OSError, BlobCorrupt, KeyMissing)


@dataclass(frozen=True)
class BlobBounds:
    """The bytes that files may take, and how long a file that no row names is kept."""

    bytes_per_user: int
    bytes_in_all: int
    memory_bytes: int
    unnamed_seconds: float


@dataclass
class _Waiting:
    """A file that no row named at the last check, and the user who sent it, if that is known."""

    since_ns: int
    cost: int
    user_id: str | None = None


async def _owns_none(_: str) -> Iterable[str]:
    return ()


async def _in_rounds(step: Callable[[], Awaitable[None]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await step()


async def _has_none(_: str) -> Blob | None:
    return None


class Blobs:
    def __init__(
        self,
        folder: Folder,
        ledger: Ledger,
        names: BlobNames,
        clock: Clock,
        bounds: BlobBounds,
        in_slices: Callable[[Iterable[None]], Awaitable[None]],
        deleting: asyncio.Lock,
    ) -> None:
        """`deleting` is held while files are deleted, and while a backup reads them."""
        self.on_disk = SealedBlobs(folder)
        self.names = names
        self.owned: Callable[[str], Awaitable[Iterable[str]]] = _owns_none
        """Returns the listings that a user owns."""
        self.elsewhere: Callable[[str], Awaitable[Blob | None]] = _has_none
        """Returns a file that another node has; None if none answers in time."""
        self._deleting = deleting
        self.count = self.bytes = 0
        """The files on disk, and their bytes there."""
        self._keys = folder.keys
        self._ledger = ledger
        self._clock = clock
        self.bounds = bounds
        self._in_slices = in_slices
        self._memory = OrderedDict[str, bytes]()
        """The files that were read last, the oldest first."""
        self._memory_bytes = 0
        self._waiting: dict[str, _Waiting] = {}
        self._sent_by: dict[str, set[str]] = {}
        """The digests of the files that wait, by the users who have sent them."""
        self._reading: dict[str, asyncio.Future[bytes | None]] = {}
        self._absent: dict[str, int] = {}
        """The files that no node had, and when this node asked for them."""
        self._writing = WeakValueDictionary[str, asyncio.Lock]()
        """The locks of the files that are written or removed now, by their digests."""
        self._reserved = 0
        """The bytes of the files that are written now."""
        self._surveyed = asyncio.Event()
        self._named = asyncio.Event()

    # -- reading and writing ---------------------------------------------------------------------------

    async def put(self, content: bytes, facts: FileRef, user_id: str | None) -> FileRef:
        """Keep a file of a user, or of the gateway itself; return when it is durable.

        Raises Invalid for the whole form, and Unavailable if there is no room or the disk fails.
        """
        await self._surveyed.wait()
        async with self._alone(facts.digest):
            if user_id is not None:
                await self._refuse_full(user_id, facts)
            await self._keep(Blob(facts, content), user_id)
        return facts

    def _alone(self, digest: str) -> asyncio.Lock:
        """Return the lock of a file. Only its holder may write or remove that file."""
        return self._writing.setdefault(digest, asyncio.Lock())

    async def ref(self, digest: str) -> FileRef | None:
        """Return the facts of a file, here or at another node. If no row names it, its hour starts again."""
        try:
            found = await asyncio.to_thread(self.on_disk.ref, digest)
        except _UNREADABLE as error:
            log.error("a file of listings cannot be read: %s", error)
            found = None
        if found is None:
            blob = await self._from_elsewhere(digest)
            found = blob.ref if blob is not None else None
        if digest in self._waiting:
            self._waiting[digest].since_ns = self._clock.monotonic_ns()
        return found

    async def until_named(self) -> None:
        """Return when it is known which listings name files: soon after a start."""
        if not self._named.is_set():
            await self._named.wait()

    def in_memory(self, digest: str) -> bytes | None:
        """Return the content of a file that was read not long ago."""
        content = self._memory.get(digest)
        if content is not None:
            self._memory.move_to_end(digest)
        return content

    async def get(self, digest: str) -> bytes | None:
        """Return the content of a file, here or at another node. It is read once, however many ask for it."""
        content = self.in_memory(digest)
        if content is not None:
            return content
        reading = self._reading.get(digest)
        if reading is None:
            reading = self._reading[digest] = asyncio.ensure_future(self._read(digest))
            reading.add_done_callback(lambda _: self._reading.pop(digest, None))
        return await asyncio.shield(reading)

    def sent_by(self, user_id: str) -> Sequence[str]:
        """Return the digests of the files that a user has sent and that no listing names yet."""
        return sorted(self._sent_by.get(user_id, ()))

    def has_sent(self, user_id: str, digest: str) -> bool:
        """Return true if the user has sent a file that no listing names yet."""
        return digest in self._sent_by.get(user_id, ())

    def forget_sender(self, user_id: str) -> None:
        """Forget who has sent the files that no listing names yet. They are removed as before."""
        for digest in self._sent_by.pop(user_id, ()):
            self._waiting[digest].user_id = None

    async def here(self, digest: str) -> Blob | None:
        """Return a file that this node has."""
        try:
            return await asyncio.to_thread(self.on_disk.read, digest)
        except (*_UNREADABLE, ValueError) as error:
            log.error("a file of listings cannot be read: %s", error)
            return None

    async def _read(self, digest: str) -> bytes | None:
        blob = await self.here(digest) or await self._from_elsewhere(digest)
        if blob is None:
            return None
        self._remember(digest, blob.content)
        return blob.content

    def _remember(self, digest: str, content: bytes) -> None:
        if digest not in self._memory:
            self._memory[digest] = content
            self._memory_bytes += len(content)
        while self._memory_bytes > self.bounds.memory_bytes:
            _, dropped = self._memory.popitem(last=False)
            self._memory_bytes -= len(dropped)

    async def _refuse_full(self, user_id: str, facts: FileRef) -> None:
        """Raise Invalid if the files of the user's listings and those that wait leave no room."""
        owned = await self.owned(user_id)  # nothing waits from here on, so that no other upload comes between
        costs = {digest: self._waiting[digest].cost for digest in self._sent_by.get(user_id, ())}
        for ref in owned:
            costs |= {file.digest: _cost(file.size) for file in self.names.files_of(ref)}
        costs[facts.digest] = _cost(facts.size)
        if sum(costs.values()) > self.bounds.bytes_per_user:
            raise Invalid({"": Fault("files_full", {"most": self.bounds.bytes_per_user >> 20})})

    async def _keep(self, blob: Blob, user_id: str | None) -> None:
        """Write a file unless it is here. The caller holds its lock. Raises Unavailable."""
        digest, size, waited = blob.ref.digest, len(blob.content), self._waiting.get(blob.ref.digest)
        has_room = self.bytes + self._reserved + size <= self.bounds.bytes_in_all
        self._wait(BlobOnDisk(digest, size), user_id)  # so that it counts for other uploads of the user
        self._reserved += size
        try:
            before, after = await asyncio.to_thread(self._written, blob, has_room=has_room)
        except BaseException as error:
            self._forget_waiting(digest)
            if waited is not None:
                self._wait(BlobOnDisk(digest, size), waited.user_id)
            if not isinstance(error, OSError):
                raise
            log.error("a file of listings cannot be written: %s", what_to_do(error, self.on_disk.path))
            raise Unavailable(Text("the disk takes no files")) from None
        finally:
            self._reserved -= size
        self.count += before == 0
        self.bytes += after - before
        self._absent.pop(digest, None)

    def _written(self, blob: Blob, *, has_room: bool) -> tuple[int, int]:
        """Write a file unless it is here, whole. Return its bytes on disk, before and after. Blocks.

        Raises OSError, and Unavailable if it would have to be written and there is no room.
        """
        before = self.on_disk.bytes_of(blob.ref.digest)
        with suppress(*_UNREADABLE):
            if self.on_disk.read(blob.ref.digest) is not None:
                return before, before
        if not has_room:
            raise Unavailable(Text("no room is left for files"))
        return before, self.on_disk.write(blob)

    def _wait(self, found: BlobOnDisk, user_id: str | None) -> None:
        """Let a file wait for a row that names it, from now on."""
        self._forget_waiting(found.digest)
        self._waiting[found.digest] = _Waiting(self._clock.monotonic_ns(), _cost(found.bytes), user_id)
        if user_id is not None:
            self._sent_by.setdefault(user_id, set()).add(found.digest)

    def _forget_waiting(self, digest: str) -> None:
        waited = self._waiting.pop(digest, None)
        if waited is not None and waited.user_id is not None:
            sent = self._sent_by[waited.user_id]
            sent.discard(digest)
            if not sent:
                del self._sent_by[waited.user_id]

    # -- other nodes -----------------------------------------------------------------------------------

    async def _from_elsewhere(self, digest: str) -> Blob | None:
        """Return a file of another node, and keep it here. It asks rarely for one that no node has."""
        now_ns = self._clock.monotonic_ns()
        if now_ns - self._absent.get(digest, -(1 << 62)) < ABSENT_SECONDS * NS_PER_SECOND:
            return None
        blob = await self.elsewhere(digest)
        if blob is None or blob.ref.digest != digest or digest_of(blob.content) != digest:
            self._absent.pop(digest, None)
            self._absent[digest] = now_ns
            if len(self._absent) > MOST_ABSENT:
                del self._absent[next(iter(self._absent))]
            return None
        try:
            await self._surveyed.wait()
            async with self._alone(digest):
                await self._keep(blob, None)
        except Unavailable as error:
            log.info("a file of another node is not kept: %s", error)
        return blob

    # -- the sweep -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Survey disk and rows, then sweep and fetch in rounds, until cancelled."""
        await self.survey()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_in_rounds(self.sweep, self.bounds.unnamed_seconds / 4))
            tasks.create_task(_in_rounds(self.fill, FILL_SECONDS))

    async def survey(self) -> None:
        """Count the files on disk, and learn which listings name some. Uploads wait for the count."""
        try:
            await asyncio.to_thread(self.on_disk.remove_unfinished)
            async for found in self._found():
                self.count, self.bytes = self.count + 1, self.bytes + found.bytes
        except OSError as error:
            log.error("a file of listings cannot be read: %s", what_to_do(error, self.on_disk.path))
        self._surveyed.set()
        await self._in_slices(self.names.survey())
        self._named.set()

    async def fill(self) -> None:
        """Fetch the files that listings of other nodes name, and that are not here."""
        news = self.names.taken_news()
        if self.elsewhere is _has_none:
            return
        for digest in news:
            if not self.names.refs(digest):
                continue
            try:
                is_here = await asyncio.to_thread(self.on_disk.bytes_of, digest) > 0
            except OSError:  # a look at the file logs it
                is_here = False
            if not is_here and await self._from_elsewhere(digest) is None:
                self.names.news.add(digest)

    async def sweep(self) -> None:
        """Remove files that no row has named for an hour. If the disk fails, the next one tries again."""
        now_ns, due = self._clock.monotonic_ns(), list[BlobOnDisk]()
        try:
            async for found in self._found():
                if self._is_due(found, now_ns):
                    due.append(found)
                elif len(self._keys.key_ids) > 1:
                    await self._seal_newly(found.digest)
            if due:
                await self._ledger.durable(self._ledger.head)
                async with self._deleting:
                    for found in due:
                        await self._remove(found, now_ns)
        except (OSError, Unavailable) as error:
            log.error("files that no listing names stay: %s", error)

    async def _seal_newly(self, digest: str) -> None:
        """Seal a file with the newest key, so that no older one is needed."""
        async with self._alone(digest):
            with suppress(FileNotFoundError, BlobCorrupt, KeyMissing):  # a look at the file logs it
                await asyncio.to_thread(self.on_disk.seal_newly, digest)

    async def _found(self) -> AsyncIterator[BlobOnDisk]:
        """Yield the files on disk, a slice at once in a thread."""
        files = self.on_disk.all()
        while some := await asyncio.to_thread(_some, files):
            for found in some:
                yield found

    def _is_due(self, found: BlobOnDisk, now_ns: int) -> bool:
        if not self.names.is_complete:
            return False
        if self.names.refs(found.digest):
            self._forget_waiting(found.digest)
            return False
        if found.digest not in self._waiting:
            self._wait(found, None)
        waited_ns = now_ns - self._waiting[found.digest].since_ns
        return waited_ns >= self.bounds.unnamed_seconds * NS_PER_SECOND

    async def _remove(self, found: BlobOnDisk, now_ns: int) -> None:
        async with self._alone(found.digest):
            if self._is_due(found, now_ns):  # unless somebody has named or sent it meanwhile
                await asyncio.to_thread(self.on_disk.remove, found.digest)
                self._forget_waiting(found.digest)
                self.count, self.bytes = self.count - 1, self.bytes - found.bytes
                content = self._memory.pop(found.digest, b"")
                self._memory_bytes -= len(content)


def _some(files: Iterator[BlobOnDisk]) -> list[BlobOnDisk]:
    return list(islice(files, FILES_AT_ONCE))


def _cost(size: int) -> int:
    return max(size, LEAST_COST)
