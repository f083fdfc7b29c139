"""Files of listings that a node lacks, from any node that has them, through Redis.

Invariant: nobody waits longer than a few seconds for a file, and Redis holds no more of them than nodes wait
for. A node checks the digest of what it gets (`blobs/blob_store.py`).

A node writes the file that it wants into one short stream that all read. The first node that has the file
takes a lease and writes it in pieces into a stream of that file. The reader deletes both. The rest expires.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from blobs.sealed_blobs import Blob
from core.fleet_table import FleetView
from forms.file_fields import FileRef
from replication.redis_link import BEGINNING, ENVELOPE, UNREACHABLE, EntryId, Foreign, Link, SealedEntry

FETCH_SECONDS = 4.0
AT_ONCE = 8
"""The files that a node waits for at the same time."""
STREAM_LENGTH = 1_000
PIECE_BYTES = 64 << 10
PIECES_AT_ONCE = 16
KEPT_SECONDS = 15


class WantedBlob(msgspec.Struct, frozen=True, array_like=True):
    """A file that a node wants. It is in Redis: nodes of other versions must understand it."""

    label: str
    digest: str


class BlobPiece(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a file, in Redis. The last one has the facts."""

    content: bytes
    ref: FileRef | None = None


class BlobExchange:
    def __init__(self, link: Link, fleet: FleetView, read: Callable[[str], Awaitable[Blob | None]]) -> None:
        """`read` returns a file that this node has."""
        self._link, self._wanted = link, link.key("wanted")
        self._fleet = fleet
        self._read = read
        self._cursor: EntryId | None = None
        self._fetching = asyncio.Semaphore(AT_ONCE)

    # -- taking ----------------------------------------------------------------------------------------

    async def fetch(self, digest: str) -> Blob | None:
        """Return a file of another node; None if none gives it in time."""
        try:
            async with asyncio.timeout(FETCH_SECONDS), self._fetching:
                return await self._fetch(digest)
        except (*UNREACHABLE, Foreign):
            return None

    async def _fetch(self, digest: str) -> Blob:
        """Ask, and again whenever nothing comes, until the whole file is here."""
        key, seen, content = self._link.key("blob", digest), BEGINNING, bytearray()
        while True:
            if seen == BEGINNING:
                await self._ask(digest)
            found = await self._link.read({key: seen}, PIECES_AT_ONCE)
            for seen, envelope in found.get(key, ()):
                piece = self._link.open(envelope, f"{key}/{seen}", BlobPiece)
                content += piece.content
                if piece.ref is not None:
                    await self._link.redis.delete(key, self._lease(digest))
                    return Blob(piece.ref, bytes(content))

    async def _ask(self, digest: str) -> None:
        sealed = self._link.seal(WantedBlob(self._fleet.label, digest), self._wanted)
        await self._link.redis.xadd(self._wanted, {ENVELOPE: sealed}, maxlen=STREAM_LENGTH, approximate=True)

    def _lease(self, digest: str) -> str:
        return self._link.key("giver", digest)

    # -- giving ----------------------------------------------------------------------------------------

    def forget_cursor(self) -> None:
        """Redis was away: the stream may be another one."""
        self._cursor = None

    async def step(self) -> None:
        """Give the files that other nodes want now. Raises UNREACHABLE."""
        if self._cursor is None:
            newest = await self._link.newest_of_ours(self._wanted)
            self._cursor = newest.id if newest is not None else BEGINNING
        found = await self._link.read({self._wanted: self._cursor}, PIECES_AT_ONCE)
        await self._give_all(found.get(self._wanted, ()))

    async def _give_all(self, entries: Sequence[SealedEntry]) -> None:
        for id_, envelope in entries:
            self._cursor = id_
            try:
                wanted = self._link.open(envelope, self._wanted, WantedBlob)
            except Foreign:
                continue
            if wanted.label != self._fleet.label:
                blob = await self._read(wanted.digest)
                if blob is not None:
                    await self._give(blob)

    async def _give(self, blob: Blob) -> None:
        redis, digest = self._link.redis, blob.ref.digest
        if not await redis.set(self._lease(digest), self._fleet.label, nx=True, ex=KEPT_SECONDS):
            return  # another node gives it
        key, content = self._link.key("blob", digest), blob.content
        starts = range(0, max(len(content), 1), PIECE_BYTES)
        for number, start in enumerate(starts, 1):
            is_last = start + PIECE_BYTES >= len(content)
            piece = BlobPiece(content[start : start + PIECE_BYTES], blob.ref if is_last else None)
            id_ = f"1-{number}"
            pipeline = redis.pipeline(transaction=False)
            pipeline.xadd(key, {ENVELOPE: self._link.seal(piece, f"{key}/{id_}")}, id=id_)
            pipeline.expire(key, KEPT_SECONDS)
            await pipeline.execute()
