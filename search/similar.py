"""Similar listings: those that share most tags and words with a listing.

Invariant: a page waits for the index only if nobody has asked about its listing for a while. Answers are kept
for `KEPT_SECONDS`, for the `MOST_KEPT` listings asked about most recently.
"""

from collections import OrderedDict
from collections.abc import Sequence

from core.clock import Clock
from core.failures import SearchUnavailable
from core.rows import Listing
from search.catalogue import Catalogue
from search.index import SearchIndex

FOUND = 12
"""The listings that are found. A page shows fewer: some may be gone by then."""
KEPT_SECONDS = 600
MOST_KEPT = 5_000
"""A kept answer takes about 1 KB."""


class SimilarListings:
    def __init__(self, index: SearchIndex, catalogue: Catalogue, clock: Clock) -> None:
        self._index = index
        self._catalogue = catalogue
        self._clock = clock
        self._kept: OrderedDict[str, tuple[Sequence[str], int]] = OrderedDict()
        """Refs with the monotonic time at which they were found, the least recently asked for first."""

    async def of(self, row: Listing, most: int, month: int, asker: str) -> Sequence[str]:
        """Return the refs most similar to a public listing; none while the index cannot answer."""
        kept, now_ns = self._kept.get(row.ref), self._clock.monotonic_ns()
        if kept is None or now_ns - kept[1] >= KEPT_SECONDS * 1_000_000_000:
            try:
                kept = await self._index.similar(row, FOUND, month, asker), now_ns
            except SearchUnavailable:
                if kept is None:
                    return ()
        self._keep(row.ref, kept)
        return [ref for ref in kept[0] if ref in self._catalogue.entries][:most]

    def _keep(self, ref: str, found: tuple[Sequence[str], int]) -> None:
        self._kept[ref] = found
        self._kept.move_to_end(ref)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
