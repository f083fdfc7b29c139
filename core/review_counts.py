"""Numbers of listings by kind and review. Law: once all rows are counted, nothing is ever counted again.

Rows that a start has loaded are counted afterwards, in slices and in the order of their refs: a start has no
time for them. Meanwhile a change of a row that is counted already changes the numbers, and any other row is
counted as it is when its turn comes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

from core.rows import BOTS, SERVERS, Review

SLICE = 64  # rows
REVIEWS: Sequence[Review] = ("in_review", "approved", "denied")
KINDS = [prefix.removesuffix("/") for prefix in (BOTS, SERVERS)]

KindAndReview = tuple[str, Review]


class ReviewCounts:
    def __init__(self) -> None:
        self._counts: dict[KindAndReview, int] = {(kind, each): 0 for kind in KINDS for each in REVIEWS}
        self._counted_to = ""  # refs up to this one are counted
        self._is_complete = False

    @property
    def known(self) -> Mapping[KindAndReview, int] | None:
        """The numbers; None while rows of the start are still to be counted."""
        return self._counts if self._is_complete else None

    def changed(self, ref: str, before: Review | None, after: Review | None) -> None:
        """Take in that a row has come (`before` is None), has changed, or has gone (`after` is None)."""
        if before is after or not (self._is_complete or ref <= self._counted_to):
            return
        if before is not None:
            self._add(ref, before, -1)
        if after is not None:
            self._add(ref, after, 1)

    def count(self, refs: Sequence[str], review_of: Callable[[str], Review]) -> Iterator[None]:
        """Count the rows in slices. `refs` are sorted; they may come and go between two slices."""
        while not self._is_complete:
            begin = bisect_right(refs, self._counted_to)
            some = refs[begin : begin + SLICE]
            for ref in some:
                self._add(ref, review_of(ref), 1)
            if some:
                self._counted_to = some[-1]
            else:
                self._is_complete = True
            yield

    def _add(self, ref: str, review: Review, number: int) -> None:
        place = (ref.partition("/")[0], review)
        self._counts[place] = self._counts.get(place, 0) + number
