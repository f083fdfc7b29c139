"""A copy of rows that change meanwhile, for snapshots: of all rows, or of those that have changed."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from core.packing import PackedRow
from core.rows import Delivery, Listing

SLICE = 64  # listings or users
SLICE_DELIVERIES = 2_048  # a single listing may have more


class Rows(NamedTuple):
    """The row of a listing with its deliveries and its votes by day and month (`core/vote_counts.py`), or the
    row of a user. The row is None for a ref that is gone.

    In a copy of changed rows, the `kept` newest finished deliveries of the file before stay, and `deliveries`
    follow them.
    """

    ref: str
    row: Listing | PackedRow | None
    deliveries: Sequence[Delivery] = ()
    counts: Sequence[bytes] = ()
    kept: int = 0


class AllRefs:
    """The refs that are still to be copied if all rows are. They are copied in their order."""

    def __init__(self, refs: Sequence[Sequence[str]]) -> None:
        """`refs` has the sorted refs of each table. Those of one table come behind those of the table before.
        They stay sorted while rows change."""
        self._refs = refs
        self._after = ""
        """The last ref that is copied."""

    def has(self, ref: str) -> bool:
        return ref > self._after

    def next(self) -> Sequence[str]:
        for refs in self._refs:
            start = bisect_right(refs, self._after)
            if start < len(refs):
                return refs[start : start + SLICE]
        return ()

    def copied(self, ref: str) -> None:
        self._after = ref


class SomeRefs:
    """The refs that are still to be copied if only some rows are."""

    def __init__(self, refs: set[str]) -> None:
        self._refs = {*refs}
        self._order = [*refs]
        self._at = 0

    def has(self, ref: str) -> bool:
        return ref in self._refs

    def next(self) -> Sequence[str]:
        return self._order[self._at : self._at + SLICE]

    def copied(self, ref: str) -> None:
        self._refs.discard(ref)
        self._at += 1


class RowCopy:
    """A copy of rows that change meanwhile. Invariant: it is of one moment, however long it takes.

    It is copy on write: the copy goes through the refs, a few at a time. A row that changes before its turn
    is set aside first, as it is; one that is added after the copy began is left out.
    """

    def __init__(self, ahead: AllRefs | SomeRefs, rows_of: Callable[[str], Rows]) -> None:
        self._ahead = ahead
        self._rows_of = rows_of
        self._before: dict[str, Rows] = {}
        """Rows set aside, by ref."""

    def changing(self, ref: str) -> None:
        """Set the rows of the ref aside. Must be called before every change of one of them."""
        if self._ahead.has(ref) and ref not in self._before:
            self._before[ref] = self._rows_of(ref)

    def slices(self) -> Iterator[list[Rows]]:
        while refs := self._ahead.next():
            taken: list[Rows] = []
            size = 0
            for ref in refs:
                taken.append(self._take(ref))
                self._ahead.copied(ref)
                size += len(taken[-1].deliveries)
                if size >= SLICE_DELIVERIES:
                    break
            yield taken
        removed = list(self._before.values())
        for start in range(0, len(removed), SLICE):
            yield removed[start : start + SLICE]

    def _take(self, ref: str) -> Rows:
        return self._before.pop(ref) if ref in self._before else self._rows_of(ref)
