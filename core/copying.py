"""Copying rows while they change. Law: a copy is of one moment, however long it takes.

It is taken a few listings at a time, in the order of their refs. What changes before its turn came is set
aside as it was when the copy began; what was added since is left out.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from core.packing import PackedRow
from core.rows import Delivery, Listing

SLICE = 64  # listings
SLICE_DELIVERIES = 2_048  # but for those of one listing


class Rows(NamedTuple):
    """A listing's rows; no listing, no rows."""

    listing: Listing | PackedRow | None
    deliveries: Sequence[Delivery]


class RowCopy:
    def __init__(self, refs: Sequence[str], rows_of: Callable[[str], Rows]) -> None:
        """`refs` are sorted, and stay so while they change."""
        self._refs = refs
        self._rows_of = rows_of
        self._after = ""
        """Up to here the rows are copied."""
        self._before: dict[str, Rows] = {}

    def changing(self, ref: str) -> None:
        """Has to be called before any row of the listing changes."""
        if ref > self._after and ref not in self._before:
            self._before[ref] = self._rows_of(ref)

    def slices(self) -> Iterator[list[Rows]]:
        while refs := self._next_refs():
            taken: list[Rows] = []
            size = 0
            for ref in refs:
                taken.append(self._take(ref))
                self._after = ref
                size += len(taken[-1].deliveries)
                if size >= SLICE_DELIVERIES:
                    break
            yield [rows for rows in taken if rows.listing is not None]
        removed = [rows for rows in self._before.values() if rows.listing is not None]
        for start in range(0, len(removed), SLICE):
            yield removed[start : start + SLICE]

    def _next_refs(self) -> Sequence[str]:
        start = bisect_right(self._refs, self._after)
        return self._refs[start : start + SLICE]

    def _take(self, ref: str) -> Rows:
        return self._before.pop(ref) if ref in self._before else self._rows_of(ref)
