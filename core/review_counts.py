"""Numbers of listings by kind and standing. Invariant: once all rows are counted, no walk counts them again.

The standing is the review, or `changed` for an approved listing with a change that waits for a decision.

Rows that a start has loaded are counted afterwards, in slices and in the order of their refs: a start has no
time for them. Meanwhile a change of a row that is counted already changes the numbers, and any other row is
counted as it is when its turn comes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from core.rows import Review
from kinds.registry import KINDS

SLICE = 64  # rows
Standing = Review | Literal["changed"]
STANDINGS: Sequence[Standing] = ("in_review", "approved", "denied", "changed")

KindAndStanding = tuple[str, Standing]


def standing_of(review: Review, *, is_changed: bool) -> Standing:
    return "changed" if review == "approved" and is_changed else review


class ReviewCounts:
    def __init__(self) -> None:
        self._counts: dict[KindAndStanding, int] = {
            (kind.plural, each): 0 for kind in KINDS for each in STANDINGS
        }
        self._counted_to = ""  # refs up to this one are counted
        self._is_complete = False

    @property
    def known(self) -> Mapping[KindAndStanding, int] | None:
        """The numbers; None while rows of the start are still to be counted."""
        return self._counts if self._is_complete else None

    def changed(self, ref: str, before: Standing | None, after: Standing | None) -> None:
        """Take in that a row has come (`before` is None), has changed, or has gone (`after` is None)."""
        if before == after or not (self._is_complete or ref <= self._counted_to):
            return
        if before is not None:
            self._add(ref, before, -1)
        if after is not None:
            self._add(ref, after, 1)

    def count(self, refs: Sequence[str], read: Callable[[str], Standing]) -> Iterator[None]:
        """Count the rows in slices. `refs` are sorted; they may come and go between two slices."""
        while not self._is_complete:
            begin = bisect_right(refs, self._counted_to)
            some = refs[begin : begin + SLICE]
            for ref in some:
                self._add(ref, read(ref), 1)
            if some:
                self._counted_to = some[-1]
            else:
                self._is_complete = True
            yield

    def _add(self, ref: str, standing: Standing, number: int) -> None:
        place = (ref.partition("/")[0], standing)
        self._counts[place] = self._counts.get(place, 0) + number
