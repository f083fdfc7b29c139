"""The operator's search through all listings, in slices. Invariant: packed rows stay packed.

Other requests are served between two slices, and listings may come and go.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.listing_table import ref_slices
from core.packing import Brief
from core.state import State
from kinds.kind import Kind

SLICE = 256
"""The names of one slice: about 0.3 ms."""


class Hit(NamedTuple):
    ref: str
    brief: Brief


class ListingSearch:
    """The listings of some kinds whose id is a text, or whose name contains it in any case."""

    def __init__(self, state: State, kinds: Sequence[Kind], text: str, most: int) -> None:
        self._listings = state.listings
        self._kinds = kinds
        self._text = text
        self._most = most
        self._ranked: tuple[list[Hit], ...] = ([], [], [])
        self.found: list[Hit] = []
        """The best first: that id, then that name, names that begin so, and names that contain the text."""
        self.more = False
        """True if there are more than `most`."""

    def slices(self) -> Iterator[None]:
        by_id = [ref for kind in self._kinds if (ref := kind.ref(self._text)) in self._listings]
        sought = self._text.casefold()
        prefixes, name_of = tuple(kind.prefix for kind in self._kinds), self._listings.name
        for refs in ref_slices(self._listings.refs, most=SLICE):
            for ref in refs:
                is_found = ref.startswith(prefixes) and sought in (name := name_of(ref).casefold())
                if is_found and ref not in by_id:
                    self._rank(0 if name == sought else 1 if name.startswith(sought) else 2, ref)
            yield
        first = [Hit(ref, self._listings.brief(ref)) for ref in by_id if ref in self._listings]
        hits = [*first, *(hit for ranked in self._ranked for hit in ranked)]
        self.found, self.more = hits[: self._most], self.more or len(hits) > self._most

    def _rank(self, rank: int, ref: str) -> None:
        if len(self._ranked[rank]) < self._most:
            self._ranked[rank].append(Hit(ref, self._listings.brief(ref)))
        else:
            self.more = True
