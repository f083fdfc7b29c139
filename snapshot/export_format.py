"""Rows as text that other programs read: NDJSON, or CSV.

Invariant: a row that was written is read back equal.

NDJSON is one JSON object a line. CSV has a head line and one column for each field. A cell holds a field that
is always a text as it is, and every other field as JSON: an absent text is `null`.
"""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_origin

import msgspec

from core.rows import Delivery, Listing, NodeCounts
from core.user_rows import UserRow

ROWS_PER_PIECE = 1_024


class Vote(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One user's votes for a listing, as a count. `last_ms` is the time of the latest one."""

    ref: str
    user: str
    count: int
    last_ms: int


class CountedVotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The votes for a listing by day and month, of all nodes together: see `NodeCounts`."""

    ref: str
    counts: NodeCounts


Format = Literal["ndjson", "csv"]
Row = Listing | Vote | CountedVotes | Delivery | UserRow
Kind = type[Listing] | type[Vote] | type[CountedVotes] | type[Delivery] | type[UserRow]


class ExportCorrupt(Exception):
    """The folder is not a whole export of this version."""


_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder().decode


def encoded(rows: Iterable[Row], kind: Kind, written_as: Format) -> Iterator[bytes]:
    """Yield the bytes of the file with these rows, in pieces."""
    rows = iter(rows)
    if written_as == "csv":
        yield _csv_lines([[field.name for field in msgspec.structs.fields(kind)]])
    cells = _cells(kind)
    while few := list(islice(rows, ROWS_PER_PIECE)):
        yield _encode_lines(few) if written_as == "ndjson" else _csv_lines(map(cells, few))


def decoded(file: BinaryIO, path: Path, kind: Kind, written_as: Format) -> Iterator[Row]:
    """Yield the rows of a file that is open to read. Raises ExportCorrupt with the number of a bad row."""
    number = 0
    rows = _from_ndjson(file, kind) if written_as == "ndjson" else _from_csv(file, kind)
    while True:
        number += 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except (msgspec.DecodeError, UnicodeDecodeError, csv.Error) as error:
            raise ExportCorrupt(f"{path}: row {number} cannot be read: {error}") from None
        yield row


def _from_ndjson(file: BinaryIO, kind: Kind) -> Iterator[Row]:
    yield from map(msgspec.json.Decoder(kind).decode, file)


def _from_csv(file: BinaryIO, kind: Kind) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)
    known = msgspec.structs.fields(kind)
    lines = csv.reader((line.decode() for line in file), strict=True)
    names = next(lines, [])
    if names != [field.name for field in known]:
        raise csv.Error(f"the columns must be {','.join(field.name for field in known)}")
    reads = [str if name in _plain(kind) else _decode for name in names]
    for cells in lines:
        if len(cells) != len(names):
            raise csv.Error(f"it has {len(cells)} cells instead of {len(names)}")
        yield msgspec.convert(
            {name: read(cell) for name, read, cell in zip(names, reads, cells, strict=True)}, kind
        )


def _cells(kind: Kind) -> Callable[[Row], list[str]]:
    names, plain = [field.name for field in msgspec.structs.fields(kind)], _plain(kind)

    def cells(row: Row) -> list[str]:
        values: list[Any] = [getattr(row, name) for name in names]
        return [
            value if name in plain else _encode(value).decode()
            for name, value in zip(names, values, strict=True)
        ]

    return cells


def _plain(kind: Kind) -> set[str]:
    """Return the names of the columns that are always texts."""
    fields = msgspec.structs.fields(kind)
    return {field.name for field in fields if field.type is str or get_origin(field.type) is Literal}


def _csv_lines(lines: Iterable[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()
