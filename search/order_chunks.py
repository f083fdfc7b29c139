"""The places of an order, in chunks. A place is a sort key and the id of a listing.

Invariant: a chunk never changes. A change of an order puts another chunk in its place.

So a snapshot of an order of a million listings is a copy of some thousand pointers, which takes 5 us, and it
shares all chunks that have not changed since. A change copies one chunk, which takes about 2 us.

A chunk has two columns: the sort keys, and the ids. A column of numbers is an array, one of texts a tuple.
So the garbage collector does not hold the event loop: it never looks at the numbers of an array, and once at
a tuple of texts.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

SortKey = int | str
Id = int | str
"""A listing: its id if that is a number of the chat platform, else its ref, which the catalogue has, too."""
Place = tuple[SortKey, Id]
Column = Any
"""An array of numbers, or a tuple of texts."""
Chunk = tuple[Column, Column]
"""The sort keys and the ids of up to `MOST` places, in order."""
MOST = 1_000


class Places(NamedTuple):
    """An order at one moment. `lasts` has the last place of each chunk."""

    chunks: Sequence[Chunk]
    lasts: Sequence[Place]
    size: int

    def behind(self, place: Place) -> Iterator[Place]:
        """Yield the places behind one that may be in the order or not."""
        at = bisect_right(self.lasts, place)
        if at < len(self.chunks):
            keys, ids = self.chunks[at]
            begin = _index(self.chunks[at], place)
            begin += begin < len(ids) and (keys[begin], ids[begin]) == place
            yield from zip(keys[begin:], ids[begin:], strict=True)
        for later in range(at + 1, len(self.chunks)):
            yield from zip(*self.chunks[later], strict=True)

    def __iter__(self) -> Iterator[Place]:  # type: ignore[override] # of its places, not of its fields
        for chunk in self.chunks:
            yield from zip(*chunk, strict=True)

    def before(self, sort_key: SortKey) -> int:
        """Return the number of places with a lesser sort key."""
        at = bisect_left(self.lasts, sort_key, key=lambda place: place[0])
        rest = bisect_left(self.chunks[at][0], sort_key) if at < len(self.chunks) else 0
        return sum(len(ids) for _, ids in self.chunks[:at]) + rest


class LivingPlaces:
    """An order that changes place by place. Invariant: no chunk is empty, or longer than `MOST`."""

    def __init__(self, chunks: Iterable[Chunk] = ()) -> None:
        self._chunks = [*chunks]
        self._lasts: list[Place] = [(keys[-1], ids[-1]) for keys, ids in self._chunks]
        self._size = sum(len(ids) for _, ids in self._chunks)

    def __len__(self) -> int:
        return self._size

    def frozen(self) -> Places:
        """Return the order as it is now."""
        return Places(tuple(self._chunks), tuple(self._lasts), self._size)

    def add(self, place: Place) -> None:
        """Add a place that is not in the order."""
        self._size += 1
        at = bisect_left(self._lasts, place)
        if at == len(self._chunks):
            if not self._chunks:
                self._put(0, 0, [_chunk([place])])
                return
            at -= 1
        chunk, (sort_key, id_) = self._chunks[at], place
        index, (keys, ids) = _index(chunk, place), chunk
        keys, ids = _with(keys, index, sort_key), _with(ids, index, id_)
        if len(ids) > MOST:
            half = MOST // 2
            self._put(at, at + 1, [(keys[:half], ids[:half]), (keys[half:], ids[half:])])
        else:
            self._put(at, at + 1, [(keys, ids)])

    def remove(self, place: Place) -> None:
        """Remove a place. Raises LookupError if it is not in the order."""
        at = bisect_left(self._lasts, place)
        if at == len(self._chunks):
            raise LookupError
        chunk = keys, ids = self._chunks[at]
        index = _index(chunk, place)
        if (keys[index], ids[index]) != place:
            raise LookupError
        self._size -= 1
        if len(ids) == 1:
            self._put(at, at + 1, [])
            return
        keys, ids, begin, end = _without(keys, index), _without(ids, index), at, at + 1
        if at and len(self._chunks[at - 1][1]) + len(ids) <= MOST // 2:
            begin = at - 1
            keys, ids = self._chunks[begin][0] + keys, self._chunks[begin][1] + ids
        elif end < len(self._chunks) and len(ids) + len(self._chunks[end][1]) <= MOST // 2:
            keys, ids, end = keys + self._chunks[end][0], ids + self._chunks[end][1], end + 1
        self._put(begin, end, [(keys, ids)])

    def _put(self, begin: int, end: int, chunks: Sequence[Chunk]) -> None:
        self._chunks[begin:end] = chunks
        self._lasts[begin:end] = [(keys[-1], ids[-1]) for keys, ids in chunks]


class PlacesInTheMaking:
    """Places that come in any order, before they are sorted.

    They are collected in pots: each has all places up to its last one, in any order. A pot that is full is
    sorted and cut in two. So no sort is long, and the pots become the chunks.
    """

    def __init__(self) -> None:
        self._pots: list[tuple[Any, Any]] = []
        self._lasts: list[Place] = []
        """The last places of all pots but the last one, which has no bound."""

    def add(self, places: Iterable[Place]) -> None:
        pots, lasts = self._pots, self._lasts
        for place in places:
            if not pots:
                pots.append(_pot([place]))
                continue
            at = bisect_left(lasts, place)
            keys, ids = pots[at]
            keys.append(place[0])
            ids.append(place[1])
            if len(ids) == 2 * MOST:
                in_order = sorted(zip(keys, ids, strict=True))
                pots[at : at + 1] = _pot(in_order[:MOST]), _pot(in_order[MOST:])
                lasts.insert(at, in_order[MOST - 1])

    def chunks(self) -> Iterator[list[Chunk]]:
        """Yield the chunks of each pot, in order. Nothing may be added any more."""
        while self._pots:
            in_order = sorted(zip(*self._pots.pop(0), strict=True))
            yield [_chunk(in_order[begin : begin + MOST]) for begin in range(0, len(in_order), MOST)]


def _chunk(places: Sequence[Place]) -> Chunk:
    keys, ids = zip(*places, strict=True)
    return _column("q", keys), _column("Q", ids)


def _pot(places: Sequence[Place]) -> tuple[Any, Any]:
    """Return the columns of some places, which may grow."""
    keys, ids = _chunk(places)
    return [*keys] if isinstance(keys, tuple) else keys, [*ids] if isinstance(ids, tuple) else ids


def _column(code: str, values: Sequence[Any]) -> Column:
    return tuple(values) if isinstance(values[0], str) else array(code, values)


def _index(chunk: Chunk, place: Place) -> int:
    """Return the index in a chunk at which a place is, or would be."""
    (keys, ids), (sort_key, id_) = chunk, place
    begin = bisect_left(keys, sort_key)
    return bisect_left(ids, id_, begin, bisect_right(keys, sort_key, begin))


def _with(column: Column, index: int, value: SortKey | Id) -> Column:
    if isinstance(column, tuple):
        return (*column[:index], value, *column[index:])
    changed = column[:]
    changed.insert(index, value)
    return changed


def _without(column: Column, index: int) -> Column:
    if isinstance(column, tuple):
        return column[:index] + column[index + 1 :]
    changed = column[:]
    del changed[index]
    return changed
