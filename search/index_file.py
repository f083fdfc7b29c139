"""The search index in a file of the data folder, so that a start need not build it.

Invariant: with the changes that it names, a table that is read finds the same as one that is built from the
state. A file of which that is not certain is not read.

    TablePiece ...     the rows of the tables (`search_table.py`), a few at once
    Whole         the end of the tables, and the position in the journal that they are of
    Changed ...   the listings that have changed up to a later position; one behind each snapshot

The tables are written once, and then only refs. A start puts the listings of these refs again, and those of
the records behind the last position. Each position is durable when it is written. The index is built again if
the journal does not reach from that position to its head, and if the file is damaged, of another program, or
sealed with a key that is gone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import get_args

import msgspec

from core.events import decode_record
from search.catalogue import CHANGING
from search.search_table import SearchTable, TablePiece, form
from storage.folder import SEARCH_INDEX, Folder
from storage.sealed_chunks import ChunksDamaged, NewChunks, Place, SealedChunks

MOST_CHANGED = 10_000
"""The refs that a file may name beside its tables. A start takes about 0.1 ms for each."""
Records = Callable[[int, int], Iterator[tuple[int, bytes]]]
"""Returns the records of the journal behind a position, up to another one, with their positions."""


class Whole(msgspec.Struct, frozen=True, tag="whole"):
    """`numbers` has the number of the next row, by kind."""

    position: int
    numbers: Mapping[str, int]


class Changed(msgspec.Struct, frozen=True, tag="changed"):
    position: int
    refs: Sequence[str]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TablePiece | Whole | Changed).decode


class Kept(msgspec.Struct):
    """The file that is on disk, as far as it is good.

    `built_ms` is the time at which its tables were built from nothing.
    """

    built_ms: int
    key_id: bytes
    position: int
    place: Place
    refs: dict[str, None]
    """The refs that have changed since the tables were written."""


class IndexFile:
    """The file of one data folder. Its calls wait for the disk, so they run in a thread."""

    def __init__(self, folder: Folder) -> None:
        self.kept: Kept | None = None
        self._folder = folder
        self._path = folder.path / SEARCH_INDEX

    @property
    def is_full(self) -> bool:
        """True if the tables have to be written again."""
        kept, newest = self.kept, self._folder.keys.newest
        return kept is None or kept.key_id != newest or len(kept.refs) + kept.place.number > MOST_CHANGED

    def read(self, table: SearchTable, records: Records, head: int) -> Sequence[str] | None:
        """Read the tables into an empty table, and return the refs that have changed since. Without a file
        there are none, and the result is None. Raises Exception if the file cannot be used.

        Args:
            records: those of the journal, up to `head`.
        """
        if not self._path.exists():
            return None
        kept = self._read(table)
        if kept.position > head:
            raise ChunksDamaged(
                f"{self._path} is of position {kept.position}, and the journal ends at {head}"
            )
        behind = changed_in(records, kept.position, head)
        self.kept = kept
        return sorted(behind.union(kept.refs))

    def discard(self) -> None:
        """Delete the file. Otherwise a journal that goes on could make it look right later."""
        self.kept = None
        with suppress(FileNotFoundError):
            self._folder.disk.unlink(self._path)

    def _read(self, table: SearchTable) -> Kept:
        file, kept = SealedChunks(self._folder, self._path), None
        if file.header.form != form():
            raise ChunksDamaged(f"{self._path} is of another program")
        for chunk, place in file.chunks():
            match _decode(chunk):
                case TablePiece() as piece:
                    table.take(piece)
                case Whole(position, numbers):
                    table.taken(numbers)
                    kept = Kept(file.header.created_ms, file.header.key_id, position, place, {})
                case Changed(position, refs) if kept is not None:
                    kept.position, kept.place = position, place
                    kept.refs.update(dict.fromkeys(refs))
        if kept is None:
            raise ChunksDamaged(f"{self._path} is damaged or cut off")
        return kept

    def begin(self, built_ms: int) -> NewChunks:
        """Begin to write the tables again."""
        return NewChunks(self._folder, self._path, form(), built_ms)

    @staticmethod
    def add(new: NewChunks, pieces: Iterator[TablePiece]) -> bool:
        """Write the next piece, if there is one."""
        piece = next(pieces, None)
        if piece is not None:
            new.add(_encode(piece))
        return piece is not None

    def finish(self, new: NewChunks, built_ms: int, position: int, numbers: Mapping[str, int]) -> None:
        """Let the file count."""
        new.add(_encode(Whole(position, numbers)))
        self.kept = Kept(built_ms, new.key_id, position, new.finish(), {})

    def append(self, position: int, refs: Sequence[str]) -> None:
        """Write that these refs have changed up to a position."""
        kept = self.kept
        if kept is None:
            raise ValueError("there is no file")
        file = SealedChunks(self._folder, self._path)
        kept.place = file.append(_encode(Changed(position, refs)), kept.place)
        kept.position = position
        kept.refs.update(dict.fromkeys(refs))


_CHANGES = re.compile(b"|".join(f'"{each.__struct_config__.tag}"'.encode() for each in get_args(CHANGING)))


def changed_in(records: Records, after: int, until: int) -> set[str]:
    """Return the refs of listings that the records of a part of the journal may have changed."""
    found = set[str]()
    for _, record in records(after, until):
        if _CHANGES.search(record):  # of few: nearly all records are votes
            found.update(event.ref for event in decode_record(record) if isinstance(event, CHANGING))
    return found
