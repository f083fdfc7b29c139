"""Sealed content of Redis. Invariant: an envelope opens only at its place, and only with the fleet's keys.

An envelope is encrypted like a file on disk (`storage/sealing.py`): key id 8s | salt 16s | encrypted msgpack.
It is bound to the name of its place: an entry of a stream or of a copy to its id, the status of a node to its
name, what limiters have allowed to its stream. So nobody can move an envelope unseen; but a
stranger who can write to Redis can put an old one back.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from storage.sealing import KEY_ID_BYTES, SALT_BYTES, KeyMissing, Keyring, Seal, Unsealable

SEALS_KEPT = 256
T = TypeVar("T")


class Foreign(Exception):
    """An envelope is not of this fleet, or not of this version."""


class Envelopes:
    def __init__(self, keys: Keyring) -> None:
        self._keys = keys
        self._newest = keys.new_seal()
        self._seal = lru_cache(SEALS_KEPT)(self._seal_of)

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

    def _seal_of(self, key_id: bytes, salt: bytes) -> Seal:
        return self._keys.seal_of(Path("redis"), key_id, salt)
