"""The packed form of a listing: its bytes as a snapshot holds them.

A start takes rows as they are. To make objects of all of them would take longer than the rest of the start,
and most are asked for much later, or never. Law: bytes that were packed from rows of one shape can always be
unpacked by code of the same shape. `SHAPE` names the shape; a snapshot holds it beside its rows.
"""

import hashlib
from typing import NamedTuple

import msgspec

from core.rows import Listing

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Listing).decode
_schema = msgspec.json.encode(msgspec.json.schema(Listing), order="deterministic")
SHAPE = hashlib.blake2b(_schema, digest_size=16).hexdigest()


class PackedRow(NamedTuple):
    """A listing that nobody has asked for yet."""

    ref: str
    content: bytes

    @property
    def keys(self) -> int:
        """The number of its API keys."""
        return len(_keys(self.content).keys)


class _Keys(msgspec.Struct):
    keys: list[msgspec.Raw] = []


_keys = msgspec.msgpack.Decoder(_Keys).decode
