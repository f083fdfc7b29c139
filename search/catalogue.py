"""The listings that everybody may see, under index keys: by kind, by category and by keyword.

Invariant: a look at the catalogue walks through no other listings, and a listing that is not approved, or is
hidden, is not in it.

A start leaves rows packed, so the first survey looks at all of them once, in slices. After that the log tells
of changes. The catalogue is complete once the survey has ended. `list_orders.py` puts it in order.
"""

import sys
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from core import events as ev
from core.events import FREQUENT
from core.listing_table import survey
from core.packing import Brief
from core.state import State
from grammars.tags import tag_of
from kinds.registry import kind_of

CHANGING = (
    ev.ListingSaved
    | ev.ListingReviewed
    | ev.ChangeDecided
    | ev.SlotsSet
    | ev.ListingRemoved
    | ev.ListingMerged
)
"""The events that may change whether everybody sees a listing, or its profile."""
_DAILY = FREQUENT - {ev.VoteCast}
Moved = Callable[["IndexKey", str, int], None]
"""Called with a key, a ref, and 1 if it came under the key or -1 if it left."""


class IndexKey(msgspec.Struct, frozen=True, gc=False):
    """The key of a part of the catalogue: the listings of a kind, of a category, or with a keyword.

    `prefix` is that of the refs of the kind. A key has a category or a keyword, or neither. A keyword is in
    the form of `tag_of`.
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
    keys: tuple[IndexKey, ...]


class Catalogue:
    def __init__(self, state: State) -> None:
        self._listings = state.listings
        self._refs: dict[IndexKey, list[str]] = {}
        self._entries: dict[str, ShownListing] = {}
        self._known: dict[IndexKey, IndexKey] = {}
        """One object for each key: all its entries share it."""
        self.entries: Mapping[str, ShownListing] = self._entries
        self.changes = 0
        """Counts what changes an order by time or by name."""
        self.votes = 0
        """Counts what changes an order by votes."""
        self.is_complete = False
        self.watchers: list[Moved] = []

    def refs_of(self, key: IndexKey) -> Sequence[str]:
        """Return the refs under a key, sorted."""
        return self._refs.get(key, ())

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if not self.is_complete:
            yield from survey(self._listings.refs, self._look)
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) in _DAILY:
                continue
            self.votes += 1  # a vote; and events that are rare enough to be taken for one, such as a merge
            if isinstance(event, CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        brief = self._listings.brief(ref) if ref in self._listings else None
        before, now = self._entries.get(ref), None
        if brief is not None and brief.is_public:
            now = self._entry(ref, brief)
        if now == before:
            return
        self.changes += 1
        old, new = before.keys if before is not None else (), now.keys if now is not None else ()
        if now is not None:
            self._entries[ref] = now
        else:
            del self._entries[ref]
        for key in {*old} - {*new}:
            self._take(ref, key)
            self._moved(key, ref, -1)
        for key in {*new} - {*old}:
            insort(self._refs.setdefault(key, []), ref)
            self._moved(key, ref, 1)

    def _moved(self, key: IndexKey, ref: str, step: int) -> None:
        for watcher in self.watchers:
            watcher(key, ref, step)

    def _take(self, ref: str, key: IndexKey) -> None:
        refs = self._refs[key]
        del refs[bisect_left(refs, ref)]
        if not refs:
            del self._refs[key], self._known[key]

    def _entry(self, ref: str, brief: Brief) -> ShownListing:
        prefix = kind_of(ref).prefix
        since_ms = brief.created_ms if brief.decided_ms is None else brief.decided_ms
        keys = (
            IndexKey(prefix),
            *(IndexKey(prefix, category=sys.intern(each)) for each in brief.categories),
            *(IndexKey(prefix, keyword=each) for each in dict.fromkeys(map(tag_of, brief.keywords))),
        )
        return ShownListing(
            folded(brief.name), since_ms, tuple(self._known.setdefault(each, each) for each in keys)
        )


def folded(text: str) -> str:
    """Return a text for sorting and comparing: without width, case and composition."""
    return unicodedata.normalize("NFKC", text.casefold())
