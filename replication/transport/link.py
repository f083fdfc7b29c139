"""The way to Redis. Law: one try is one try; whoever calls decides about the next.

redis-py's own retries are off: they would send XADD again without knowing what became of the first, and
nest. Every command has a time-out; a blocking read waits for less than that. All keys begin with the prefix,
and what nodes tell is sealed (`transport/envelopes.py`): names, sizes, positions and times can be read.

    <prefix>:nodes            hash: name -> Status
    <prefix>:alive:<name>     which process bears the name: something random, for five beats
    <prefix>:stream:<name>    stream: the node's entries, "e" -> Entry
    <prefix>:uses             stream: what the nodes' limiters have allowed, "e" -> Uses
    <prefix>:copy:<name>:<copy>  stream: a copy being fetched by the node, "e" -> Piece
    <prefix>:heir:<label>     who sends the webhooks of a node that is gone
    <prefix>:vote:<mark>      when a user has voted, by whom it is taken
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

log = logging.getLogger(__name__)

WRONG_TYPE = "WRONGTYPE"
ENVELOPE = b"e"  # the one field of every entry
BLOCK_MS = 500
TIMEOUT_SECONDS = 3.0
UNREACHABLE = (RedisError, OSError, TimeoutError, RuntimeError)
"""Redis does not do what it is asked to, for whatever reason. On uvloop, RuntimeError is what the first
command gets over a connection that was reset while it was idle ("the handler is closed")."""
Read = tuple[str, bytes]
"""The id of an entry, and its envelope; empty, if somebody else has put it there."""


@dataclass(frozen=True)
class RedisPlace:
    """Where Redis is, and as whom to speak to it. `options` are redis-py's for TLS."""

    url: str = field(repr=False)
    prefix: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Link:
    def __init__(self, place: RedisPlace) -> None:
        self.redis: Redis = Redis.from_url(
            place.url,
            retry=Retry(NoBackoff(), 0),
            retry_on_timeout=False,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            health_check_interval=0,
            protocol=2,
            driver_info=None,  # who we are is nobody's business, and ACLs may not allow to say it
            **place.options,
        )
        self._prefix = place.prefix

    async def newest(self, stream: str) -> Read | None:
        """The last entry of a stream."""
        found: Any = await self.redis.xrevrange(stream, count=1)
        return _read(found[0]) if found else None

    async def newest_of_ours(self, stream: str) -> Read | None:
        """The same; what is no stream in the place of one is deleted."""
        try:
            return await self.newest(stream)
        except ResponseError as error:
            if not str(error).startswith(WRONG_TYPE):
                raise
            log.error("%s is no stream: it is begun anew", stream)
            await self.redis.delete(stream)
            return None

    async def read(self, cursors: Mapping[str, str], count: int) -> dict[str, list[Read]]:
        """What comes behind the cursors, at most so many entries of each stream; waits for a while if nothing
        does."""
        streams: Any = dict(cursors)
        found: Any = await self.redis.xread(streams, count=count, block=BLOCK_MS)
        return {stream.decode(): [_read(entry) for entry in entries] for stream, entries in found or ()}

    async def drop_idle(self) -> None:
        """Closes the connections that nobody uses: after an outage they may be dead unnoticed."""
        with suppress(*UNREACHABLE):
            await self.redis.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        await self.redis.aclose()

    @property
    def nodes(self) -> str:
        return f"{self._prefix}:nodes"

    @property
    def uses(self) -> str:
        return f"{self._prefix}:uses"

    def alive(self, name: str) -> str:
        return f"{self._prefix}:alive:{name}"

    def stream(self, name: str) -> str:
        return f"{self._prefix}:stream:{name}"

    def copy(self, name: str, copy: str) -> str:
        return f"{self._prefix}:copy:{name}:{copy}"

    def heir(self, label: str) -> str:
        return f"{self._prefix}:heir:{label}"

    def vote(self, mark: str) -> str:
        return f"{self._prefix}:vote:{mark}"


def _read(entry: tuple[bytes, Mapping[bytes, bytes]]) -> Read:
    id_, fields = entry
    return id_.decode(), fields.get(ENVELOPE, b"")
