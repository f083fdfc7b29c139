"""This node's stream in Redis. Invariant: ids only grow, so Redis refuses a repeated entry."""

import logging
from collections.abc import Sequence

from replication.streams.entries import Entry
from replication.transport.link import ENVELOPE, EntryId, SealedLink, entry_id_of

log = logging.getLogger(__name__)


class OwnStream:
    """All methods that ask Redis raise UNREACHABLE."""

    def __init__(self, sealed_link: SealedLink, name: str) -> None:
        self._link, self._envelopes = sealed_link.link, sealed_link.envelopes
        self._redis = self._link.redis
        self._key = self._link.stream(name)

    async def newest(self) -> tuple[EntryId, bytes] | None:
        """Return the id and the envelope of the last entry."""
        found = await self._link.newest_of_ours(self._key)
        return (entry_id_of(found.id), found.envelope) if found is not None else None

    def open(self, id_: EntryId, envelope: bytes) -> Entry:
        """Return the entry in an envelope. Raises Foreign."""
        return self._envelopes.open(envelope, f"{self._key}/{id_}", Entry)

    async def append(self, epoch: int, entries: Sequence[tuple[int, Entry]]) -> None:
        """Append (position, entry) in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for position, entry in entries:
            id_ = EntryId(epoch, position)
            envelope = self._envelopes.seal(entry, f"{self._key}/{id_}")
            pipeline.xadd(self._key, {ENVELOPE: envelope}, id=str(id_))
        await pipeline.execute()

    async def delete(self) -> None:
        await self._redis.delete(self._key)

    async def cut_before(self, oldest: EntryId) -> None:
        await self._redis.xtrim(self._key, minid=str(oldest), approximate=False)

    async def cut_to(self, most_bytes: int) -> None:
        """Cut off the oldest entries if the stream takes more room; the newest one stays."""
        used = await self._redis.memory_usage(self._key) or 0
        if used > most_bytes:
            kept = max(await self._redis.xlen(self._key) * most_bytes // used, 1)
            log.warning("the stream takes %d bytes: a node that has not read it yet will take a copy", used)
            await self._redis.xtrim(self._key, maxlen=kept, approximate=False)
