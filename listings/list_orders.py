"""Orders of the catalogue: by votes of the month, by votes in all, newest first, by name. Law: no order is
made in one piece, none is made again while nothing has changed, and a page reads one that is frozen.

Thousands of votes a second may come in. So nothing is sorted when a vote comes: an *edition* is an order as
it was at one moment. A new one is made, in slices, when somebody asks and the last one is some seconds old.

A cursor names an edition, and a place in it. Editions do not change and stay for a while after their last
use. So whoever pages through a list meets every listing once, whatever votes come in meanwhile; what is no
longer approved is left out. An edition that is gone, after a long pause or a restart, or at another node, is
replaced by the newest: the list goes on behind the key (the votes, the time or the name) of the last listing
that was shown, as it was when it was shown. Only then may a listing that has overtaken others meanwhile be
shown twice or be missed.

Equal ones stand in the order of their ids. The order by votes of the month is that of the month in which it
was made.
"""

import heapq
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, Protocol

import msgspec

from core.refusals import Invalid
from listings.catalogue import Catalogue, Shelf
from listings.finding import ref_slices
from listings.long_lists import LongList

Sort = Literal["month", "votes", "newest", "name"]
SORTS: tuple[Sort, ...] = ("month", "votes", "newest", "name")
FRESH_SECONDS = 5
"""No order is made anew sooner than that; `web/people/list_keeper.py` may take longer, to spare the loop."""
STALE_SECONDS = 60
"""An order that is older is shown to nobody who begins to read a list."""
KEPT_SECONDS = 600
"""An edition stays for so long after somebody has read a page of it."""
MOST_PLACES = 2_000_000
"""The places of all editions together, of about 16 bytes each. The one that was not read for longest leaves
first."""
RUN, SLICE = 1_000, 250
"""How many keys are sorted, and how many are merged, in one piece: well below a millisecond."""
SKIPPED = 1_000
"""The longest gap of listings that are gone in one page."""

NO_CURSOR = {"after": "must be the `next` of another page"}

Key = int | str


class VoteTotals(Protocol):
    """Numbers of votes by listing."""

    def total(self, ref: str) -> int:
        """Return the number of votes of all time."""

    def in_month(self, ref: str, month: int) -> int:
        """Return the number of votes of a month, counted from January 1970 (UTC)."""


class ListOrder(msgspec.Struct, frozen=True, gc=False):
    """A way to list a shelf."""

    shelf: Shelf
    sort: Sort


class Edition(NamedTuple):
    """An order as it was at one moment. `keys` are those of `refs`, and both are sorted by them.

    `changes` is what the catalogue had counted then. `made_ns` is monotonic time.
    """

    number: int
    order: ListOrder
    refs: LongList[str]
    keys: LongList[Key]
    changes: tuple[int, int]
    month: int
    made_ns: int
    is_whole: bool


class ListPage(NamedTuple):
    """A part of a list. `next` is the cursor of the next one; None at the end."""

    refs: Sequence[str]
    next: str | None


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    edition: int
    place: int
    key: Key
    ref: str


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Cursor).decode


class ListOrders:
    """The editions of a gateway.

    Args:
        first: the number of the first edition. No other start, and no other node, begins with the same.
    """

    def __init__(
        self, catalogue: Catalogue, votes: VoteTotals, first: int, most_places: int = MOST_PLACES
    ) -> None:
        self._catalogue = catalogue
        self._votes = votes
        self._number = first
        self._most_places = most_places
        self._newest: dict[ListOrder, Edition] = {}
        self._kept: OrderedDict[int, tuple[Edition, int]] = OrderedDict()
        """Editions with the monotonic time of their last use, the least recently used first."""
        self.places = 0

    def newest(self, order: ListOrder, month: int, now_ns: int) -> tuple[Edition | None, bool]:
        """Return the newest edition that may be shown, if there is one, and true if a newer one is due."""
        edition = self._newest.get(order)
        if edition is None:
            return None, True
        age = (now_ns - edition.made_ns) // 1_000_000_000
        is_due = age >= FRESH_SECONDS and not self._is_current(edition, month)
        is_shown = edition.month == month and not (is_due and age >= STALE_SECONDS)
        return (edition if is_shown else None), is_due or not is_shown

    def page(self, newest: Edition, after: str | None, most: int, now_ns: int) -> ListPage:
        """Return up to `most` listings. Raises Invalid for a cursor that is none."""
        edition, place = newest, 0
        if after is not None:
            edition, place = self._place(newest, _read(after))
        self._use(edition, now_ns)
        refs, keys, shelf = edition.refs, edition.keys, edition.order.shelf
        found: list[int] = []
        for at in range(place, min(len(refs), place + most + SKIPPED)):
            if self._is_on(shelf, refs[at]):
                if len(found) == most:
                    last = found[-1]
                    cursor = _Cursor(edition.number, last + 1, keys[last], refs[last])
                    return ListPage([refs[each] for each in found], _written(cursor))
                found.append(at)
        return ListPage([refs[each] for each in found], None)

    def build(self, order: ListOrder, month: int, now_ns: int) -> Iterator[None]:
        """Make a new edition, in slices. It is the newest once the iterator has ended."""
        catalogue = self._catalogue
        changes, is_whole = (catalogue.changes, catalogue.votes), catalogue.is_complete
        groups: dict[Key, str | list[str]] = {}  # a list only for several: the collector looks at each
        for sliced in ref_slices(catalogue.on_shelf(order.shelf)):
            for ref in sliced:
                key = self._key(order.sort, ref, month)
                group = groups.setdefault(key, ref)
                if isinstance(group, list):
                    group.append(ref)
                elif group is not ref:
                    groups[key] = [group, ref]
            yield
        refs, keys = LongList[str](), LongList[Key]()
        ordered = yield from _sorted_in_slices([*groups])
        for start in range(0, len(ordered), SLICE):
            for key in ordered[start : start + SLICE]:
                group = groups.pop(key)
                if isinstance(group, list):
                    for first in range(0, len(group), SLICE):
                        some = group[first : first + SLICE]
                        refs.extend(some)
                        keys.extend([key] * len(some))
                        yield
                else:
                    refs.extend((group,))
                    keys.extend((key,))
            yield
        edition = Edition(self._number, order, refs, keys, changes, month, now_ns, is_whole)
        self._number += 1
        for gone in self._keep(edition, now_ns):
            yield from gone.refs.freed()
            yield from gone.keys.freed()

    def _key(self, sort: Sort, ref: str, month: int) -> Key:
        """Return what a listing is sorted by: the least first."""
        if sort == "month":
            return -self._votes.in_month(ref, month)
        if sort == "votes":
            return -self._votes.total(ref)
        entry = self._catalogue.entries[ref]
        return entry.name if sort == "name" else -entry.since_ms

    def _is_on(self, shelf: Shelf, ref: str) -> bool:
        entry = self._catalogue.entries.get(ref)
        return entry is not None and shelf in entry.shelves

    def _is_current(self, edition: Edition, month: int) -> bool:
        """Return true if a new edition would be the same."""
        changes, votes = edition.changes
        catalogue, sort = self._catalogue, edition.order.sort
        is_same = edition.is_whole and catalogue.changes == changes
        return is_same and (
            sort in {"newest", "name"} or (catalogue.votes == votes and edition.month == month)
        )

    def _place(self, newest: Edition, cursor: _Cursor) -> tuple[Edition, int]:
        kept = self._kept.get(cursor.edition)
        if kept is not None and kept[0].order == newest.order:
            return kept[0], min(max(cursor.place, 0), len(kept[0].refs))
        if isinstance(cursor.key, str) != (newest.order.sort == "name"):
            raise Invalid(NO_CURSOR)
        keys, refs = newest.keys, newest.refs
        behind = bisect_right(range(len(refs)), (cursor.key, cursor.ref), key=lambda at: (keys[at], refs[at]))
        return newest, behind

    def _keep(self, edition: Edition, now_ns: int) -> list[Edition]:
        """Keep an edition, and return those that leave for it."""
        left: list[Edition] = []
        self._newest[edition.order] = edition
        self._kept[edition.number] = edition, now_ns
        self.places += len(edition.refs)
        while self._kept:
            oldest, used_ns = next(iter(self._kept.values()))
            is_late = now_ns - used_ns >= KEPT_SECONDS * 1_000_000_000
            if oldest.number == edition.number or not (is_late or self.places > self._most_places):
                break
            left.append(oldest)
            del self._kept[oldest.number]
            self.places -= len(oldest.refs)
            if self._newest.get(oldest.order) is oldest:
                del self._newest[oldest.order]
        return left

    def _use(self, edition: Edition, now_ns: int) -> None:
        if edition.number in self._kept:
            self._kept[edition.number] = edition, now_ns
            self._kept.move_to_end(edition.number)


def _sorted_in_slices(keys: list[Key]) -> Generator[None, None, list[Key]]:
    """Sort keys of one type: runs by themselves, then all of them merged."""
    runs = []
    for start in range(0, len(keys), RUN):
        runs.append(sorted(keys[start : start + RUN]))
        yield
    if len(runs) <= 1:
        return runs[0] if runs else []
    merged, found = heapq.merge(*runs), list[Key]()
    while taken := list(islice(merged, SLICE)):
        found += taken
        yield
    return found


def _written(cursor: _Cursor) -> str:
    return urlsafe_b64encode(_encode(cursor)).decode().rstrip("=")


def _read(text: str) -> _Cursor:
    try:
        return _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (msgspec.DecodeError, ValueError):
        raise Invalid(NO_CURSOR) from None
