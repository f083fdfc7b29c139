"""Listings that are unpacked when they are first asked for. Law: what differs is when, and nothing else.

A start takes listings as they are encoded in a snapshot: making objects of them all would take longer than
everything else that it does, and most are asked for much later, or never. What was encoded from rows of the
same shape can always be unpacked; `SHAPE` stands for it. No packed row has a suspended endpoint, so that
whoever looks for those has no need to unpack the rest.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
        """How many API keys it has."""
        return len(_keys(self.content).keys)


class _Keys(msgspec.Struct):
    keys: list[msgspec.Raw] = []


_keys = msgspec.msgpack.Decoder(_Keys).decode


class PackedListings(Mapping[str, Listing]):
    """The listings by ref."""

    def __init__(self) -> None:
        self.packed_keys = 0
        """How many API keys the packed listings have."""
        self._packed: dict[str, bytes] = {}
        self._rows = _Rows(self._unpack)
        self.by_ref: Mapping[str, Listing] = self._rows
        """For `[ref]` alone, and as quick as a dict: it does not know what else is packed."""
        self._on_unpacked: list[Callable[[Listing], None]] = []

    def on_unpacked(self, call: Callable[[Listing], None]) -> None:
        """Calls `call(row)` for each row that is unpacked from now on, before anybody sees it."""
        self._on_unpacked.append(call)

    def load(self, refs: Sequence[str], rows: Sequence[bytes], keys: int) -> None:
        """Takes packed rows of the same shape, which have so many API keys together."""
        self._packed.update(zip(refs, rows, strict=True))
        self.packed_keys += keys

    def put(self, row: Listing) -> None:
        """Takes the row in place of the one that is there, which is unpacked."""
        self._rows[row.ref] = row

    def pop(self, ref: str) -> Listing | None:
        row = self.get(ref)
        self._rows.pop(ref, None)
        return row

    def at_hand(self) -> Iterable[Listing]:
        """Those that are unpacked."""
        return self._rows.values()

    def as_it_is(self, ref: str) -> Listing | PackedRow | None:
        """The row, which stays packed if it is."""
        content = self._packed.get(ref)
        return self.get(ref) if content is None else PackedRow(ref, content)

    def shown(self, ref: str) -> Listing:
        """The row, for one look: a packed one stays packed."""
        content = self._packed.get(ref)
        return self._rows[ref] if content is None else unpack(content)

    def _unpack(self, ref: str) -> Listing:
        row = unpack(self._packed.pop(ref))  # KeyError: there is none
        self._rows[row.ref] = row
        self.packed_keys -= len(row.keys)
        for call in self._on_unpacked:
            call(row)
        return row

    def __getitem__(self, ref: str) -> Listing:
        return self._rows[ref]

    def __contains__(self, ref: object) -> bool:
        return ref in self._rows or ref in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter([*self._rows, *self._packed])  # who goes on may unpack

    def __len__(self) -> int:
        return len(self._rows) + len(self._packed)


class _Rows(dict[str, Listing]):
    """Those that are unpacked. `[ref]` unpacks one that is not."""

    def __init__(self, unpack: Callable[[str], Listing]) -> None:
        super().__init__()
        self._unpack = unpack

    def __missing__(self, ref: str) -> Listing:
        return self._unpack(ref)
