"""Orders of the catalogue: by votes of the month, by votes in all, newest first, by name. Invariant: no order
is made in one piece, none is made again while nothing has changed, and a page reads one that is frozen.

Thousands of votes a second may come in. So nothing is sorted when a vote comes: an *edition* is an order as
it was at one moment. A new one is made, in slices, when somebody asks and the last one is some seconds old.

A cursor names an edition, and a place in it. Editions do not change and stay for a while after their last
use. So a reader of a list meets every listing once, whatever votes come in meanwhile; what is no
longer approved is left out. An edition that is gone, after a long pause or a restart, or at another node, is
replaced by the newest: the list goes on behind the key (the votes, the time or the name) of the last listing
that was shown, as it was when it was shown. Only then may a listing that has overtaken others meanwhile be
shown twice or be missed.

The total of a list is the number of its rows: the listings of the edition that are still on the shelf. The
catalogue may be ahead of both.

Equal ones stand in the order of their ids. The order by votes of the month is that of the month in which it
was made.
"""

import heapq
from array import array
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, Protocol

import msgspec

from core.listing_table import ref_slices
from core.refusals import Invalid
from languages.said import Fault
from listings.catalogue import Catalogue, Shelf
from listings.long_lists import LongList

Sort = Literal["month", "votes", "newest", "name"]
SORTS: tuple[Sort, ...] = ("month", "votes", "newest", "name")
FRESH_SECONDS = 5
"""No order is made again sooner than that; `web/people/list_keeper.py` may wait longer, to spare the loop."""
STALE_SECONDS = 60
"""An order that is older is shown to nobody who begins to read a list."""
KEPT_SECONDS = 600
"""An edition stays for so long after somebody has read a page of it."""
MOST_PLACES = 2_000_000
"""The places of all editions together, of about 24 bytes each. The one that was not read for longest leaves
first."""
MOST_EDITIONS = 10_000
"""An edition takes about 1 KB beside its places, and there is one for each keyword that was asked for."""
RUN, SLICE = 1_000, 250
"""The keys that are sorted, and that are merged, in one piece: well below a millisecond."""
SKIPPED = 1_000
"""The longest gap of listings that are gone in one page."""

NO_CURSOR = {"after": Fault("not_a_cursor")}

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


class EditionTally:
    """The listings of an edition, and how many are on its shelf now. Ids come in the order of refs."""

    def __init__(self) -> None:
        self._ids = array("Q")
        self.present = 0

    def add(self, ids: Sequence[int]) -> None:
        self._ids.extend(ids)
        self.present += len(ids)

    def move(self, id_: int, step: int) -> None:
        """Count a listing that came back to the shelf, or left it, if it is one of these."""
        at = bisect_left(self._ids, str(id_), key=str)
        if at < len(self._ids) and self._ids[at] == id_:
            self.present += step


class Edition(NamedTuple):
    """An order as it was at one moment. `keys` are those of the listings with the `ids`, and both are sorted
    by them. Numbers in arrays burden no garbage collection.

    `changes` is what the catalogue had counted then. `made_ns` is monotonic time.
    """

    number: int
    order: ListOrder
    ids: "array[int]"
    keys: "array[int] | LongList[str]"
    tally: EditionTally
    changes: tuple[int, int]
    month: int
    made_ns: int
    is_whole: bool

    def ref(self, at: int) -> str:
        """Return the listing in a place."""
        return f"{self.order.shelf.prefix}{self.ids[at]}"


class ListPage(NamedTuple):
    """A part of a list of `total` listings. `next` is the cursor of the next one; None at the end."""

    refs: Sequence[str]
    next: str | None
    total: int


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
        self,
        catalogue: Catalogue,
        votes: VoteTotals,
        first: int,
        most_places: int = MOST_PLACES,
        most_editions: int = MOST_EDITIONS,
    ) -> None:
        self._catalogue = catalogue
        self._votes = votes
        self._number = first
        self._most_places = most_places
        self._most_editions = most_editions
        self._newest: dict[ListOrder, Edition] = {}
        self._kept: OrderedDict[int, tuple[Edition, int]] = OrderedDict()
        """Editions with the monotonic time of their last use, the least recently used first."""
        self._tallies: dict[Shelf, list[EditionTally]] = {}
        """Tallies of the kept editions, and of those that are being made."""
        self.places = 0

    def moved(self, shelf: Shelf, ref: str, step: int) -> None:
        """Count a listing that came to a shelf of the catalogue, or left it."""
        for tally in self._tallies.get(shelf, ()):
            tally.move(_id_of(ref), step)

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
        found: list[int] = []
        for at in range(place, min(len(edition.ids), place + most + SKIPPED)):
            if self._is_on(edition.order.shelf, edition.ref(at)):
                if len(found) == most:
                    last = found[-1]
                    cursor = _Cursor(edition.number, last + 1, edition.keys[last], edition.ref(last))
                    return ListPage([*map(edition.ref, found)], _written(cursor), edition.tally.present)
                found.append(at)
        return ListPage([*map(edition.ref, found)], None, edition.tally.present)

    def build(self, order: ListOrder, month: int, now_ns: int) -> Iterator[None]:
        """Make a new edition, in slices. It is the newest once the iterator has ended."""
        tally = EditionTally()
        self._tallies.setdefault(order.shelf, []).append(tally)
        try:
            edition = yield from self._made(order, tally, month, now_ns)
        except BaseException:  # also when the iterator is closed before its end
            self._forget(order.shelf, tally)
            raise
        for gone in self._keep(edition, now_ns):
            if isinstance(gone.keys, LongList):
                yield from gone.keys.freed()

    def _made(
        self, order: ListOrder, tally: EditionTally, month: int, now_ns: int
    ) -> Generator[None, None, Edition]:
        catalogue = self._catalogue
        changes, is_whole = (catalogue.changes, catalogue.votes), catalogue.is_complete
        groups: dict[Key, int | array[int]] = {}
        for sliced in ref_slices(catalogue.on_shelf(order.shelf)):
            found = [*map(_id_of, sliced)]
            for ref, id_ in zip(sliced, found, strict=True):
                _add(groups, self._key(order.sort, ref, month), id_)
            tally.add(found)
            yield
        ids = array("Q")
        keys: array[int] | LongList[str] = LongList() if order.sort == "name" else array("q")
        for number, key in enumerate((yield from _sorted_in_slices(groups))):
            group = groups.pop(key)
            some = group if isinstance(group, array) else (group,)
            ids.extend(some)
            keys.extend([key] * len(some))  # type: ignore[list-item] # all keys have one type
            if number % SLICE == 0:
                yield
        number, self._number = self._number, self._number + 1
        return Edition(number, order, ids, keys, tally, changes, month, now_ns, is_whole)

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
            return kept[0], min(max(cursor.place, 0), len(kept[0].ids))
        if isinstance(cursor.key, str) != (newest.order.sort == "name"):
            raise Invalid(NO_CURSOR)
        places, after = range(len(newest.ids)), (cursor.key, cursor.ref)
        return newest, bisect_right(places, after, key=lambda at: (newest.keys[at], newest.ref(at)))

    def _keep(self, edition: Edition, now_ns: int) -> list[Edition]:
        """Keep an edition, and return those that leave for it."""
        left: list[Edition] = []
        self._newest[edition.order] = edition
        self._kept[edition.number] = edition, now_ns
        self.places += len(edition.ids)
        while self._kept:
            oldest, used_ns = next(iter(self._kept.values()))
            is_late = now_ns - used_ns >= KEPT_SECONDS * 1_000_000_000
            is_much = self.places > self._most_places or len(self._kept) > self._most_editions
            if oldest.number == edition.number or not (is_late or is_much):
                break
            left.append(oldest)
            del self._kept[oldest.number]
            self._forget(oldest.order.shelf, oldest.tally)
            self.places -= len(oldest.ids)
            if self._newest.get(oldest.order) is oldest:
                del self._newest[oldest.order]
        return left

    def _forget(self, shelf: Shelf, tally: EditionTally) -> None:
        known = self._tallies[shelf]
        known.remove(tally)
        if not known:
            del self._tallies[shelf]

    def _use(self, edition: Edition, now_ns: int) -> None:
        if edition.number in self._kept:
            self._kept[edition.number] = edition, now_ns
            self._kept.move_to_end(edition.number)


def _add(groups: "dict[Key, int | array[int]]", key: Key, id_: int) -> None:
    group = groups.setdefault(key, id_)
    if isinstance(group, array):
        group.append(id_)
    elif group != id_:
        groups[key] = array("Q", (group, id_))


def _id_of(ref: str) -> int:
    return int(ref.partition("/")[2])


def _sorted_in_slices(keys: Iterable[Key]) -> Generator[None, None, LongList[Key]]:
    """Sort keys of one type: runs by themselves, then all of them merged."""
    rest, runs = iter(keys), list[tuple[Key, ...]]()
    while run := tuple(sorted(islice(rest, RUN))):
        runs.append(run)
        yield
    merged, found = heapq.merge(*runs), LongList[Key]()
    while taken := list(islice(merged, SLICE)):
        found.extend(taken)
        yield
    return found


def _written(cursor: _Cursor) -> str:
    return urlsafe_b64encode(_encode(cursor)).decode().rstrip("=")


def _read(text: str) -> _Cursor:
    try:
        return _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (msgspec.DecodeError, ValueError):
        raise Invalid(NO_CURSOR) from None
