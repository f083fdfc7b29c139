"""What stands in Redis. Law: it opens only where it was put, and only for those who have the fleet's keys.

An envelope is sealed like a file on disk (`storage/sealing.py`): key id 8s | salt 16s | sealed msgpack. It is
bound to the name of its place: an entry of a node's stream or of a copy to its id, a node's word to its name,
what limiters have allowed to its stream. So nothing can be moved; but an old word can be put back.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from replication.facts.kinds import Fact
from storage.sealing import KEY_ID_BYTES, SALT_BYTES, KeyMissing, Keyring, Seal, Unsealable

SEALS_KEPT = 256
T = TypeVar("T")


class Foreign(Exception):
    """What stands in Redis is not of this fleet, or not of this version."""


class Id(NamedTuple):
    """Of an entry: the epoch of its node, and the newest position of its node's journal that it tells of."""

    epoch: int
    position: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.position}"


def id_of(text: str) -> Id:
    epoch, _, position = text.partition("-")
    return Id(int(epoch), int(position))


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """All that a node has to tell of the positions behind `before`, up to that of the entry's id.

    `proof` is of the record at that position: another one there means that the journal is another one.
    """

    before: int
    proof: bytes
    facts: list[Fact]


class Status(msgspec.Struct, frozen=True, array_like=True):
    """What a node says of itself, time and again. `fleet` proves that it has the fleet's secret.

    `beat` is another one each time. `top` is the newest position that it has put into its stream. It wants a
    copy of the state of the node named `wants`, under the name `copy`. `at_ms` is the time of its clock, 0 if
    it does not tell; `settings` are those that all nodes should have alike.
    """

    label: str
    fleet: str
    beat: int
    top: int
    cursors: dict[str, int]
    wants: str = ""
    copy: str = ""
    at_ms: int = 0
    settings: dict[str, str] = {}


class Uses(msgspec.Struct, frozen=True, array_like=True):
    """How many requests a node has allowed, by bot, since it last told."""

    label: str
    by_ref: dict[str, int]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """Of a copy. The last one has `cursors`: the copy holds all that was told up to
    them, by label."""

    number: int
    facts: list[Fact]
    cursors: dict[str, int] | None = None


def proof_of(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=8).digest()


class Envelopes:
    def __init__(self, keys: Keyring) -> None:
        self._keys = keys
        self._newest = keys.new_seal()
        self._seal = lru_cache(SEALS_KEPT)(self._seal_of)

    def seal(self, content: Any, place: str) -> bytes:
        newest = self._newest
        return newest.key_id + newest.salt + newest.seal(msgspec.msgpack.encode(content), place.encode())

    def open(self, envelope: bytes, place: str, kind: type[T]) -> T:
        """Raises Foreign."""
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
