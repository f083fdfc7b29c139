"""The reviews of users by listing. Invariant: the index follows from the rows of users, and is not stored.

A review stays in the row of its author when its listing is removed. So a reader names the time at which the
listing was made, and sees nothing older: that was about another listing of the same ref.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

STARS = 5
PRIOR_COUNT, PRIOR_STARS = 5, 3.5
"""The prior: the mean counts this many more users with this many stars, so one review moves it little."""
Entry = tuple[int, int, int]
"""The time of a review, its author and its stars. Times order the entries of a listing."""


@dataclass(frozen=True)
class RatingSummary:
    """The reviews of a listing. `stars` counts those with one star, with two, and so on."""

    stars: tuple[int, ...]

    @property
    def count(self) -> int:
        return sum(self.stars)

    @property
    def mean(self) -> float:
        """The Bayesian mean of the stars, rounded to hundredths; that of the prior without reviews."""
        given = sum(number * count for number, count in enumerate(self.stars, 1))
        return round((PRIOR_COUNT * PRIOR_STARS + given) / (PRIOR_COUNT + self.count), 2)


class _OfListing:
    """The entries of a listing, in order, and how many there are of each number of stars."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stars = [0] * STARS

    def add(self, entry: Entry) -> None:
        insort(self.entries, entry)
        self.stars[entry[2] - 1] += 1

    def discard(self, entry: Entry) -> None:
        at = bisect_left(self.entries, entry)
        if self.entries[at : at + 1] == [entry]:
            del self.entries[at]
            self.stars[entry[2] - 1] -= 1


class RatingsView:
    """The reviews by listing, as readers see them."""

    def __init__(self) -> None:
        self._of: dict[str, _OfListing] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def summary(self, ref: str, since_ms: int) -> RatingSummary:
        """Return the numbers of reviews of a listing that was made at a time."""
        known = self._of.get(ref)
        if known is None:
            return RatingSummary((0,) * STARS)
        stars = [*known.stars]
        for _, _, given in known.entries[: bisect_left(known.entries, (since_ms,))]:
            stars[given - 1] -= 1
        return RatingSummary(tuple(stars))

    def newest(self, ref: str, since_ms: int, before: tuple[int, int] | None = None) -> Iterator[Entry]:
        """Yield the entries of a listing that was made at a time, the newest first.

        Args:
            before: the time and the author of the entry behind which to begin.
        """
        entries: Sequence[Entry] = known.entries if (known := self._of.get(ref)) is not None else ()
        start = bisect_left(entries, before) if before is not None else len(entries)
        for at in range(start - 1, bisect_left(entries, (since_ms,)) - 1, -1):
            yield entries[at]

    def count_since(self, ref: str, since_ms: int) -> int:
        """Return the number of entries of a time or later."""
        known = self._of.get(ref)
        return len(known.entries) - bisect_left(known.entries, (since_ms,)) if known is not None else 0


class RatingIndex(RatingsView):
    """The index that the table of users updates."""

    def add(self, ref: str, entry: Entry) -> None:
        self._of.setdefault(ref, _OfListing()).add(entry)
        self._count += 1

    def discard(self, ref: str, entry: Entry) -> None:
        known = self._of[ref]
        known.discard(entry)
        self._count -= 1
        if not known.entries:
            del self._of[ref]
