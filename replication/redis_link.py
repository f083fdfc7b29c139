"""The connection to Redis, the names of its keys, and the envelopes around all content there.

Invariant: a command is tried once; the caller decides about more. No content leaves unsealed, and an envelope
opens only at its place, and only with the fleet's keys.

redis-py's own retries are off. They would send XADD again without knowing whether the first one arrived, and
they would multiply with the retries of `RetryingLoop`. Every command has a time-out; a blocking read waits
for less than that. All keys begin with the prefix. A reader of Redis sees names, sizes, positions and times:

    <prefix>:nodes               hash: name -> Status
    <prefix>:alive:<name>        lease on a name: a random id of the process, for five heartbeats
    <prefix>:stream:<name>       stream: the node's entries, "e" -> Entry
    <prefix>:uses                stream: requests that the nodes' limiters have allowed, "e" -> Uses
    <prefix>:copy:<name>:<copy>  stream: a copy that the node fetches, "e" -> Piece
    <prefix>:successor:<node id> lease on the webhooks of a node that is gone
    <prefix>:reminders           leader lease: the node id of the node that sends reminders
    <prefix>:wanted              stream: files of listings that nodes lack, "e" -> WantedBlob
    <prefix>:blob:<digest>       stream: a file that a node fetches, "e" -> BlobPiece
    <prefix>:giver:<digest>      lease on giving that file: the node id of the node that does
    <prefix>:vote:<digest>       lease on a user's vote: when the user voted, and a random id
    <prefix>:used:<digest>       note of a value that counts once in the fleet

An envelope is encrypted like a file on disk (`storage/sealing.py`): key id 8s | salt 16s | encrypted msgpack.
It is bound to the name of its place: an entry of a stream or of a copy to its id, the status of a node to its
name, what limiters have allowed to its stream. So nobody can move an envelope unseen; but a stranger who can
write to Redis can put an old one back.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from storage.sealing import KEY_ID_BYTES, SALT_BYTES, KeyMissing, Keyring, Unsealable

SEALS_KEPT = 256
T = TypeVar("T")


class Foreign(Exception):
    """An envelope is not of this fleet, or not of this version."""


class Envelopes:
    """Seals content for Redis, and opens it."""

    def __init__(self, keys: Keyring) -> None:
        self._keys = keys
        self._newest = keys.new_seal()
        self._seal = lru_cache(SEALS_KEPT)(partial(keys.seal_of, Path("redis")))

    def seal(self, content: Any, place: str) -> bytes:
        if self._newest.key_id != self._keys.newest:
            self._newest = self._keys.new_seal()
        newest = self._newest
        return newest.key_id + newest.salt + newest.seal(msgspec.msgpack.encode(content), place.encode())

    def open(self, envelope: bytes, place: str, kind: type[T]) -> T:
        """Return the content. Raises Foreign."""
        begin = KEY_ID_BYTES + SALT_BYTES
        try:
            seal = self._seal(envelope[:KEY_ID_BYTES], envelope[KEY_ID_BYTES:begin])
            return msgspec.msgpack.decode(seal.unseal(envelope[begin:], place.encode()), type=kind)
        except KeyMissing:
            key_id = envelope[:KEY_ID_BYTES].hex()
            raise Foreign(
                f"{place} is sealed with key {key_id}, which this node's sealing.keys lack"
            ) from None
        except Unsealable:
            raise Foreign(f"{place} does not open with this node's sealing.keys") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Foreign(f"{place} was written by another version of Votegate") from None


log = logging.getLogger(__name__)

WRONG_TYPE = "WRONGTYPE"
ENVELOPE = b"e"  # the one field of every entry
BLOCK_MS = 500
TIMEOUT_SECONDS = 3.0
UNREACHABLE = (RedisError, OSError, TimeoutError, RuntimeError)
"""Redis refuses or cannot be reached. On uvloop, the first command over a connection that was reset while it
was idle raises RuntimeError ("the handler is closed")."""


QUOTED = "caused error: "  # redis-py puts the command of a pipeline before it, and the error behind it
ERROR_CHARACTERS = 120


def described(error: Exception) -> str:
    """Describe the error in one short line, without the command that redis-py quotes."""
    text = "".join(filter(str.isprintable, str(error).rpartition(QUOTED)[2]))[:ERROR_CHARACTERS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class EntryId(NamedTuple):
    """The id of an entry. In the stream of a node: its epoch, and the newest position in the entry."""

    epoch: int
    position: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.position}"


BEGINNING = EntryId(0, 0)


class SealedEntry(NamedTuple):
    """An entry of any stream as Redis has it; the envelope is empty if a stranger wrote the entry."""

    id: EntryId
    envelope: bytes


def connection(url: str, options: Mapping[str, Any]) -> Redis:
    """Return a connection that tries each command once. `options` are redis-py's for TLS and the password."""
    return Redis.from_url(
        url,
        retry=Retry(NoBackoff(), 0),
        retry_on_timeout=False,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        health_check_interval=0,
        protocol=2,
        driver_info=None,  # CLIENT SETINFO tells more than Redis needs, and an ACL may refuse it
        **options,
    )


KeyKind = (
    Literal["nodes", "alive", "stream", "uses", "copy", "successor", "reminders", "vote", "used"]
    | Literal["wanted", "blob", "giver"]
)


class Link:
    """A connection, the names of the keys, and the envelopes of their content."""

    def __init__(self, redis: Redis, prefix: str, envelopes: Envelopes) -> None:
        self.redis = redis
        self.seal, self.open = envelopes.seal, envelopes.open
        self._prefix = prefix

    def key(self, kind: KeyKind, *names: str) -> str:
        """Return the name of a key, as in the table above."""
        return ":".join((self._prefix, kind, *names))

    async def holds(self, lease: str, holder: str, lasts_ms: int) -> bool:
        """Take the lease or renew it. Return False if somebody else holds it."""
        if await self.redis.set(lease, holder, nx=True, px=lasts_ms):
            return True
        if await self.redis.get(lease) != holder.encode():
            return False
        return bool(await self.redis.set(lease, holder, xx=True, px=lasts_ms))

    async def give_back(self, lease: str, holder: str) -> None:
        """End the lease, unless somebody else holds it by now."""
        if await self.redis.get(lease) == holder.encode():
            await self.redis.delete(lease)

    async def newest(self, stream: str) -> SealedEntry | None:
        """Return the last entry of a stream."""
        found: Any = await self.redis.xrevrange(stream, count=1)
        return _sealed_entry(found[0]) if found else None

    async def newest_of_ours(self, stream: str) -> SealedEntry | None:
        """Return the last entry of a stream; delete a value of another type in its place."""
        try:
            return await self.newest(stream)
        except ResponseError as error:
            if not str(error).startswith(WRONG_TYPE):
                raise
            log.error("%s is no stream: a new one begins", stream)
            await self.redis.delete(stream)
            return None

    async def read(self, cursors: Mapping[str, EntryId], count: int) -> dict[str, list[SealedEntry]]:
        """Return the entries behind the cursors, at most `count` of each stream. Waits up to `BLOCK_MS` for
        the first one. Callers repeat it until they are cancelled."""
        streams: Any = {stream: str(cursor) for stream, cursor in cursors.items()}
        found: Any = await self.redis.xread(streams, count=count, block=BLOCK_MS)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError  # redis-py's `wait_for` drops one that comes as its work ends
        return {
            stream.decode(): [_sealed_entry(entry) for entry in entries] for stream, entries in found or ()
        }

    async def drop_idle(self) -> None:
        """Close idle connections: after an outage they may be dead unnoticed.

        Each leaves the pool first. The pool's own `disconnect` may close a connection that another command
        has just taken. redis-py fails with an AttributeError then, which is no outage.
        """
        pool: Any = self.redis.connection_pool
        (idle, _), _ = pool.get_connection_count()
        for connection in [pool.get_available_connection() for _ in range(idle)]:
            with suppress(*UNREACHABLE):
                await connection.disconnect(nowait=True)
            await pool.release(connection)


def _sealed_entry(entry: tuple[bytes, Mapping[bytes, bytes]]) -> SealedEntry:
    id_, fields = entry
    epoch, position = id_.split(b"-")
    return SealedEntry(EntryId(int(epoch), int(position)), fields.get(ENVELOPE, b""))
