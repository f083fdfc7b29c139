"""A copy of rows that change meanwhile, for snapshots."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from core.packing import PackedRow
from core.rows import Delivery, Listing

SLICE = 64  # listings or users
SLICE_DELIVERIES = 2_048  # a single listing may have more


class Rows(NamedTuple):
    """The row of a listing with its deliveries and its votes by day and month (`core/vote_counts.py`), or the
    row of a user. The row is None for a ref that is gone."""

    row: Listing | PackedRow | None
    deliveries: Sequence[Delivery] = ()
    counts: Sequence[bytes] = ()


class RowCopy:
    """A copy of rows that change meanwhile. Invariant: it is of one moment, however long it takes.

    It is copy on write: the copy goes through the listings in the order of their refs, a few at a time, and
    then through the users. One that changes before its turn is set aside first, as it is; one that is added
    after the copy began is left out.
    """

    def __init__(self, refs: Sequence[Sequence[str]], rows_of: Callable[[str], Rows]) -> None:
        """`refs` has the sorted refs of each table. Those of one table come behind those of the table before.
        They stay sorted while rows change."""
        self._refs = refs
        self._rows_of = rows_of
        self._after = ""
        """The last ref that is copied."""
        self._before: dict[str, Rows] = {}
        """Rows set aside, by ref."""

    def changing(self, ref: str) -> None:
        """Set the rows of the ref aside. Comes before every change of one of them."""
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
            yield [rows for rows in taken if rows.row is not None]
        removed = [rows for rows in self._before.values() if rows.row is not None]
        for start in range(0, len(removed), SLICE):
            yield removed[start : start + SLICE]

    def _next_refs(self) -> Sequence[str]:
        for refs in self._refs:
            start = bisect_right(refs, self._after)
            if start < len(refs):
                return refs[start : start + SLICE]
        return ()

    def _take(self, ref: str) -> Rows:
        return self._before.pop(ref) if ref in self._before else self._rows_of(ref)
