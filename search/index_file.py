"""The search index in a file of the data folder, so that a start need not build it.

Invariant: with the changes that it names, a table that is read finds the same as one that is built from the
state. A file is not read unless that is certain.

    rows ...      the rows of the catalogue
    TablePiece ...     the rows of the tables (`kind_table.py`), a few at once
    Whole         the end of the tables, and the position in the journal that they are of
    Changed ...   the listings that have changed up to a later position; one behind each snapshot

The tables are written once, and then only refs. A start puts the listings of these refs again, and those of
the records behind the last position. Each position is durable when it is written. The index is built again if
the journal does not reach from that position to its head, and if the file is damaged, of another program, or
sealed with a key that is gone.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar, get_args

import msgspec

from core.events import decode_record
from kinds.kind import Kind
from kinds.registry import KINDS
from search.catalogue import CHANGING, CatalogueRows
from search.kind_table import TablePiece, form
from search.search_table import SearchTable
from storage.folder import SEARCH_INDEX, Folder
from storage.sealed_chunks import ChunksDamaged, NewChunks, Place, SealedChunks

MOST_CHANGED = 10_000
"""The refs that a file may name beside its tables. A start takes about 0.1 ms for each."""
_T = TypeVar("_T", bound=msgspec.Struct)
Records = Callable[[int, int], Iterator[tuple[int, bytes]]]
"""Returns the records of the journal behind a position, up to another one, with their positions."""


class Whole(msgspec.Struct, frozen=True):
    """`numbers` has the number of the next row, by kind."""

    position: int
    numbers: Mapping[str, int]


class Changed(msgspec.Struct, frozen=True):
    position: int
    refs: Sequence[str]


_TYPES: Sequence[type[msgspec.Struct]] = (CatalogueRows, TablePiece, Whole, Changed)
_encode = msgspec.msgpack.Encoder().encode
_decoders: Sequence[Callable[[memoryview], Any]] = [msgspec.msgpack.Decoder(each).decode for each in _TYPES]


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
    appended: int = 0
    """The number of chunks behind the tables."""

    def take(self, changed: Changed, place: Place) -> None:
        self.position, self.place = changed.position, place
        self.refs.update(dict.fromkeys(changed.refs))
        self.appended += 1


class IndexFile:
    """The file of one data folder. Its calls wait for the disk, so they run in a thread."""

    def __init__(self, folder: Folder, kinds: Collection[Kind] = KINDS) -> None:
        """`kinds` are those whose listings everybody may find."""
        self.kept: Kept | None = None
        self._folder = folder
        self._path = folder.path / SEARCH_INDEX
        self._kinds = kinds

    @property
    def is_full(self) -> bool:
        """True if the tables have to be written again."""
        kept, newest = self.kept, self._folder.keys.newest
        return kept is None or kept.key_id != newest or len(kept.refs) + kept.appended > MOST_CHANGED

    def look(self, records: Records, head: int) -> set[str] | None:
        """Find out if the file can be used, and return the refs that the journal behind it may have changed.
        None if there is no file. Raises Exception if it cannot be used.

        Args:
            records: those of the journal, up to `head`.
        """
        if not self._path.exists():
            return None
        kept, file = None, SealedChunks(self._folder, self._path)
        if file.header.form != form(self._kinds):
            raise ChunksDamaged(f"{self._path} is of another program, or of other settings")
        for chunk, place in file.chunks():
            if chunk[0] == _TYPES.index(Whole):
                whole = _decoded(chunk, Whole)
                kept = Kept(file.header.created_ms, file.header.key_id, whole.position, place, {})
            elif chunk[0] == _TYPES.index(Changed) and kept is not None:
                kept.take(_decoded(chunk, Changed), place)
        if kept is None:
            raise ChunksDamaged(f"{self._path} is damaged or cut off")
        if kept.position > head:
            raise ChunksDamaged(
                f"{self._path} is of position {kept.position}, and the journal ends at {head}"
            )
        behind = changed_in(records, kept.position, head)
        self.kept = kept
        return behind

    def rows(self) -> Iterator[CatalogueRows]:
        """Yield the rows of the catalogue."""
        for chunk, _ in SealedChunks(self._folder, self._path).chunks():
            if chunk[0] != _TYPES.index(CatalogueRows):
                return
            yield _decoded(chunk, CatalogueRows)

    def read(self, table: SearchTable) -> None:
        """Read the tables into an empty table."""
        for chunk, _ in SealedChunks(self._folder, self._path).chunks():
            if chunk[0] == _TYPES.index(TablePiece):
                table.take(_decoded(chunk, TablePiece))
            elif chunk[0] == _TYPES.index(Whole):
                table.taken(_decoded(chunk, Whole).numbers)

    def discard(self) -> None:
        """Delete the file. Otherwise a journal that goes on could make it look right later."""
        self.kept = None
        with suppress(FileNotFoundError):
            self._folder.disk.unlink(self._path)

    def begin(self, built_ms: int) -> NewChunks:
        """Begin to write everything again."""
        return NewChunks(self._folder, self._path, form(self._kinds), built_ms)

    @staticmethod
    def add_rows(new: NewChunks, rows: CatalogueRows) -> None:
        """Write rows of the catalogue. All of them come before the pieces."""
        new.add(_encoded(rows))

    @staticmethod
    def add_piece(new: NewChunks, pieces: Iterator[TablePiece]) -> bool:
        """Write the next piece, if there is one."""
        piece = next(pieces, None)
        if piece is not None:
            new.add(_encoded(piece))
        return piece is not None

    def finish(self, new: NewChunks, built_ms: int, position: int, numbers: Mapping[str, int]) -> None:
        """Let the file count."""
        new.add(_encoded(Whole(position, numbers)))
        self.kept = Kept(built_ms, new.key_id, position, new.finish(), {})

    def append(self, position: int, refs: Sequence[str]) -> None:
        """Write that these refs have changed up to a position."""
        kept = self.kept
        if kept is None:
            raise ValueError("there is no file")
        file = SealedChunks(self._folder, self._path)
        changed = Changed(position, refs)
        kept.take(changed, file.append(_encoded(changed), kept.place))


def _encoded(chunk: msgspec.Struct) -> bytes:
    """Return a chunk as bytes. The first one tells its type, so that a reader can pass over it."""
    return bytes([_TYPES.index(type(chunk))]) + _encode(chunk)


def _decoded(chunk: bytes, of: type[_T]) -> _T:
    found: _T = _decoders[_TYPES.index(of)](memoryview(chunk)[1:])
    return found


_CHANGES = re.compile(b"|".join(f'"{each.__struct_config__.tag}"'.encode() for each in get_args(CHANGING)))


def changed_in(records: Records, after: int, until: int) -> set[str]:
    """Return the refs of listings that the records of a part of the journal may have changed."""
    found = set[str]()
    for _, record in records(after, until):
        if _CHANGES.search(record):  # of few: nearly all records are votes
            found.update(event.ref for event in decode_record(record) if isinstance(event, CHANGING))
    return found
