"""The listings that everybody may find, under index keys: by kind, category, keyword and language.

Invariant: a look at the catalogue walks through no other listings, and a listing that is not approved, is
hidden, or is unlisted by its owner, is not in it.

A start leaves rows packed, so the first survey looks at all of them once, in slices. After that the log tells
of changes. The catalogue is complete once the survey has ended. `list_orders.py` puts it in order.
"""

import sys
import unicodedata
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from core import events as ev
from core.events import FREQUENT
from core.listing_table import survey
from core.packing import Brief
from core.state import State
from grammars.tags import tag_of
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of

CHANGING = (
    ev.ListingSaved
    | ev.ListingReviewed
    | ev.ChangeDecided
    | ev.SlotsSet
    | ev.ListingRemoved
    | ev.ListingMerged
)
"""The events that may change whether everybody sees a listing, or its profile."""
Keys = Sequence["IndexKey"]
SLICE = 256
"""The refs of one slice. To put so many into an order takes about 0.5 ms."""


class IndexKey(msgspec.Struct, frozen=True, gc=False):
    """The key of a part of the catalogue: the listings of a kind, or those with a category, a keyword or a
    language, or with several of the three.

    `prefix` is that of the refs of the kind. A keyword is in the form of `tag_of`.
    """

    prefix: str
    category: str = ""
    keyword: str = ""
    language: str = ""

    @property
    def parts(self) -> "tuple[IndexKey, ...]":
        """The keys of one condition each, all of which a listing is under."""
        parts = (
            *([IndexKey(self.prefix, category=self.category)] if self.category else ()),
            *([IndexKey(self.prefix, keyword=self.keyword)] if self.keyword else ()),
            *([IndexKey(self.prefix, language=self.language)] if self.language else ()),
        )
        return parts or (self,)


class ShownListing(msgspec.Struct, frozen=True, gc=False):
    """A listing that everybody may see.

    `name` is for sorting. `since_ms` is the time since which everybody sees it. Each key has one condition.
    """

    name: str
    since_ms: int
    keys: tuple[IndexKey, ...]

    def is_under(self, parts: Keys) -> bool:
        """Return true if the listing is under all parts of a key."""
        return all(part in self.keys for part in parts)


Moved = Callable[[str, ShownListing | None, ShownListing | None], None]
"""Called with a ref, its old entry, and its new entry."""


class Catalogue:
    def __init__(self, state: State, kinds: Collection[Kind] = KINDS) -> None:
        """`kinds` are those whose listings everybody may find."""
        self._kinds = kinds
        self._listings = state.listings
        self._refs: dict[IndexKey, list[str]] = {}
        self._entries: dict[str, ShownListing] = {}
        self._known: dict[IndexKey, IndexKey] = {}
        """One object for each key: all its entries share it."""
        self.entries: Mapping[str, ShownListing] = self._entries
        self.is_complete = False
        self.watchers: list[Moved] = []

    def refs_of(self, key: IndexKey) -> Sequence[str]:
        """Return the refs under a key of at most one condition, sorted."""
        return self._refs.get(key, ())

    def may_have(self, key: IndexKey) -> bool:
        """Return false if there is no listing for one of the conditions of a key."""
        return all(self.refs_of(part) for part in key.parts)

    def rarest(self, key: IndexKey) -> IndexKey:
        """Return the one of the conditions of a key that the fewest listings meet."""
        return min(key.parts, key=lambda part: len(self.refs_of(part)))

    def slices(self, key: IndexKey) -> Iterator[Sequence[str]]:
        """Yield the refs that meet the rarest condition of a key, sorted, a few at once. Refs may come and go
        between two slices, and no other one is missed."""
        part, after = self.rarest(key), ""
        while refs := self.refs_of(part)[(first := bisect_right(self.refs_of(part), after)) : first + SLICE]:
            yield refs
            after = refs[-1]

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if not self.is_complete:
            yield from survey(self._listings.refs, self._look)
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        brief = self._listings.brief(ref) if ref in self._listings else None
        before, now = self._entries.get(ref), None
        if brief is not None and brief.is_listed and kind_of(ref) in self._kinds:
            now = self._entry(ref, brief)
        if now == before:
            return
        old, new = before.keys if before is not None else (), now.keys if now is not None else ()
        if now is not None:
            self._entries[ref] = now
        else:
            del self._entries[ref]
        for key in {*old} - {*new}:
            self._take(ref, key)
        for key in {*new} - {*old}:
            insort(self._refs.setdefault(key, []), ref)
        for watcher in self.watchers:
            watcher(ref, before, now)

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
            *(IndexKey(prefix, language=sys.intern(each)) for each in brief.languages),
        )
        return ShownListing(
            folded(brief.name), since_ms, tuple(self._known.setdefault(each, each) for each in keys)
        )


def folded(text: str) -> str:
    """Return a text for sorting and comparing: without width, case and composition."""
    return unicodedata.normalize("NFKC", text.casefold())
