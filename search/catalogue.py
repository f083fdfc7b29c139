"""The listings that everybody may find, under index keys: by kind, category, keyword and language.

Invariant: a look at the catalogue walks through no other listings, and a listing that is not approved, is
hidden, or is unlisted by its owner, is not in it.

A start leaves rows packed, so the first survey looks at all of them once, in slices. After that the log tells
of changes. The catalogue is complete once the survey has ended. A start may take rows of an earlier one in
place of the survey (`index_file.py`). `list_orders.py` puts it in order.
"""

import unicodedata
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from core import events as ev
from core.events import FREQUENT
from core.listing_table import ref_slices, survey
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
ROWS = 512
"""The entries of one slice of rows: half a millisecond."""
Keys = Sequence["IndexKey"]
SLICE = 256
"""The refs of one slice. Putting them into an order takes about 0.5 ms."""


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


class CatalogueRows(msgspec.Struct, frozen=True, gc=False):
    """Some entries of a catalogue, in columns, sorted by ref. A key has the number of its place among the
    `new_keys` of these rows and all rows before."""

    new_keys: Sequence[IndexKey]
    refs: Sequence[str]
    names: Sequence[str]
    since_ms: Sequence[int]
    keys: Sequence[Sequence[int]]


class Catalogue:
    def __init__(self, state: State, kinds: Collection[Kind] = KINDS) -> None:
        """`kinds` are those whose listings everybody may find."""
        self._kinds = kinds
        self._listings = state.listings
        self._refs: dict[IndexKey, list[str]] = {}
        self._entries: dict[str, ShownListing] = {}
        self._known: dict[tuple[str, str, str], IndexKey] = {}
        """One object for each key, by its prefix, the name of its condition, and the value of that: all its
        entries share it."""
        self.entries: Mapping[str, ShownListing] = self._entries
        self.is_complete = False
        self.watchers: list[Moved] = []
        self.changed: dict[str, None] = {}
        """The refs whose entries the log has changed. The reader who writes them down takes them out."""

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
            for some in self._listings.briefs():
                for ref, brief in some:
                    self._take_brief(ref, brief)
                yield
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, CHANGING):
                before = self._entries.get(event.ref)
                self._look(event.ref)
                if self._entries.get(event.ref) != before:
                    self.changed[event.ref] = None

    def rows(self) -> Iterator[CatalogueRows]:
        """Yield all entries, a few at once, each as it is when its turn comes."""
        numbers = dict[IndexKey, int]()
        for refs in ref_slices(self._listings.refs, most=ROWS):
            found = [(ref, entry) for ref in refs if (entry := self._entries.get(ref)) is not None]
            known = len(numbers)
            keys = [[numbers.setdefault(key, len(numbers)) for key in entry.keys] for _, entry in found]
            names, since = [entry.name for _, entry in found], [entry.since_ms for _, entry in found]
            yield CatalogueRows([*numbers][known:], [ref for ref, _ in found], names, since, keys)

    def take(self, rows: CatalogueRows, keys: list[IndexKey]) -> None:
        """Take rows of an earlier start. They are those of a survey, but for the listings that have changed
        since: `taken` must follow.

        Args:
            keys: the keys of all rows before. The new ones are added.
        """
        keys += [self._key(*_named(key)) for key in rows.new_keys]
        if not rows.refs:
            return
        refs, of_keys, key_of = self._listings.refs, defaultdict[int, list[str]](list), keys.__getitem__
        here = refs[bisect_left(refs, rows.refs[0]) : bisect_right(refs, rows.refs[-1])]
        same = dict(zip(here, here, strict=True))  # all tables share one string for each ref
        for ref, name, since_ms, numbers in zip(rows.refs, rows.names, rows.since_ms, rows.keys, strict=True):
            known = same.get(ref)
            if known is not None and known not in self._entries:
                self._entries[known] = ShownListing(name, since_ms, tuple(map(key_of, numbers)))
                for number in numbers:
                    of_keys[number].append(known)
        for number, some in of_keys.items():
            under = self._refs.setdefault(keys[number], [])
            if not under or under[-1] < some[0]:
                under += some
            else:  # the log has added one meanwhile
                for ref in some:
                    insort(under, ref)

    def taken(self, changed: Sequence[str]) -> Iterator[None]:
        """Look at the listings that have changed since the rows, in slices. All are complete then."""
        yield from survey(changed, self._look)
        self.is_complete = True

    def _look(self, ref: str) -> None:
        self._take_brief(ref, self._listings.brief(ref) if ref in self._listings else None)

    def _take_brief(self, ref: str, brief: Brief | None) -> None:
        before, now = self._entries.get(ref), None
        if brief is not None and brief.is_listed and (kind := kind_of(ref)) in self._kinds:
            now = self._entry(kind.prefix, brief)
        if now == before:
            return
        old, new = before.keys if before is not None else (), now.keys if now is not None else ()
        if now is not None:
            self._entries[ref] = now
        else:
            del self._entries[ref]
        for key in {*old} - {*new}:
            self._take(ref, key)
        for key in {*new} - {*old} if old else new:
            self._put(ref, key)
        for watcher in self.watchers:
            watcher(ref, before, now)

    def _put(self, ref: str, key: IndexKey) -> None:
        refs = self._refs.get(key)
        if refs is None:
            self._refs[key] = [ref]
        elif refs[-1] < ref:  # in a survey
            refs.append(ref)
        else:
            insort(refs, ref)

    def _take(self, ref: str, key: IndexKey) -> None:
        refs = self._refs[key]
        del refs[bisect_left(refs, ref)]
        if not refs:
            del self._refs[key]
            del self._known[_named(key)]

    def _entry(self, prefix: str, brief: Brief) -> ShownListing:
        since_ms = brief.created_ms if brief.decided_ms is None else brief.decided_ms
        keys = [self._key(prefix, "", "")]
        keys += [self._key(prefix, "category", each) for each in brief.categories]
        keys += [self._key(prefix, "keyword", tag_of(each)) for each in brief.keywords]
        keys += [self._key(prefix, "language", each) for each in brief.languages]
        return ShownListing(folded(brief.name), since_ms, tuple(dict.fromkeys(keys)))

    def _key(self, prefix: str, condition: str, value: str) -> IndexKey:
        known = self._known.get((prefix, condition, value))
        if known is None:
            known = IndexKey(prefix, **{condition: value}) if condition else IndexKey(prefix)
            self._known[prefix, condition, value] = known
        return known


def _named(key: IndexKey) -> tuple[str, str, str]:
    """Return the prefix of a key of at most one condition, the name of that, and its value."""
    found = (("category", key.category), ("keyword", key.keyword), ("language", key.language))
    return key.prefix, *next((each for each in found if each[1]), ("", ""))


def folded(text: str) -> str:
    """Return a text for sorting and comparing: without width, case and composition."""
    return unicodedata.normalize("NFKC", text.casefold())
