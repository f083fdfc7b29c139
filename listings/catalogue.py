"""The listings that everybody may see, by kind, category and keyword. Invariant: known without a walk
through all listings, and what is not approved, or is hidden, is not in it.

A start leaves rows packed, so the first look walks through all of them once, in slices; after that the log
tells what changes. All is complete once the survey has ended. `list_orders.py` puts them in order.
"""

import sys
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from core.events import (
    FREQUENT,
    ChangeDecided,
    Event,
    ListingMerged,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    SlotsSet,
    VoteCast,
)
from core.packing import Brief
from core.state import State
from kinds.registry import kind_of
from listings.finding import survey

_CHANGING = (
    *(ListingSaved, ListingReviewed, ChangeDecided),
    *(SlotsSet, ListingRemoved, ListingMerged),
)
_DAILY = FREQUENT - {VoteCast}
Moved = Callable[["Shelf", str, int], None]
"""Called with the shelf, the ref, and 1 if it came to the shelf or -1 if it left."""


class Shelf(msgspec.Struct, frozen=True, gc=False):
    """A part of the catalogue: the listings of a kind, those of a category, or those with a keyword.

    `prefix` is that of refs, "bots/" or "servers/". An empty `category` or `keyword` leaves nobody out; a
    shelf has one of them at most. A keyword is in the form of `folded`.
    """

    prefix: str
    category: str = ""
    keyword: str = ""


class ShownListing(msgspec.Struct, frozen=True, gc=False):
    """A listing that everybody may see.

    `name` is for sorting. `since_ms` is the time since which everybody sees it.
    """

    name: str
    since_ms: int
    shelves: tuple[Shelf, ...]


class Catalogue:
    def __init__(self, state: State) -> None:
        self._listings = state.listings
        self._shelves: dict[Shelf, list[str]] = {}
        self._entries: dict[str, ShownListing] = {}
        self._known: dict[Shelf, Shelf] = {}
        """One object for each shelf, which all its entries share."""
        self.entries: Mapping[str, ShownListing] = self._entries
        self.changes = 0
        """Counts what changes an order by time or by name."""
        self.votes = 0
        """Counts what changes an order by votes."""
        self.is_complete = False
        self.watchers: list[Moved] = []

    def on_shelf(self, shelf: Shelf) -> Sequence[str]:
        """Return the refs on a shelf, sorted."""
        return self._shelves.get(shelf, ())

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if not self.is_complete:
            yield from survey(self._listings.refs, self._look)
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) in _DAILY:
                continue
            self.votes += 1  # a vote; and events that are rare enough to be taken for one, such as a merge
            if isinstance(event, _CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        brief = self._listings.brief(ref) if ref in self._listings else None
        before, now = self._entries.get(ref), None
        if brief is not None and brief.is_public:
            now = self._entry(ref, brief)
        if now == before:
            return
        self.changes += 1
        old, new = before.shelves if before is not None else (), now.shelves if now is not None else ()
        if now is not None:
            self._entries[ref] = now
        else:
            del self._entries[ref]
        for shelf in {*old} - {*new}:
            self._take(ref, shelf)
            self._moved(shelf, ref, -1)
        for shelf in {*new} - {*old}:
            insort(self._shelves.setdefault(shelf, []), ref)
            self._moved(shelf, ref, 1)

    def _moved(self, shelf: Shelf, ref: str, step: int) -> None:
        for watcher in self.watchers:
            watcher(shelf, ref, step)

    def _take(self, ref: str, shelf: Shelf) -> None:
        refs = self._shelves[shelf]
        del refs[bisect_left(refs, ref)]
        if not refs:
            del self._shelves[shelf], self._known[shelf]

    def _entry(self, ref: str, brief: Brief) -> ShownListing:
        prefix = kind_of(ref).prefix
        since_ms = brief.created_ms if brief.decided_ms is None else brief.decided_ms
        shelves = (
            Shelf(prefix),
            *(Shelf(prefix, category=sys.intern(each)) for each in brief.categories),
            *(Shelf(prefix, keyword=each) for each in dict.fromkeys(map(folded, brief.keywords))),
        )
        return ShownListing(
            folded(brief.name), since_ms, tuple(self._known.setdefault(each, each) for each in shelves)
        )


def folded(text: str) -> str:
    """Return a text as it is sorted and compared: width, case and composition make no difference."""
    return unicodedata.normalize("NFKC", text.casefold())
