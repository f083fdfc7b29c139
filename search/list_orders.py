"""Orders of the catalogue: by votes of a month, by all votes, by growth, newest first, by name.

Invariant: an order is made in slices, and not again while nothing has changed. A page reads one that is
frozen.

Thousands of votes come in every second, so no list is sorted when a vote comes. An *ordering snapshot* is an
order at one moment. A new one is made when a reader comes and the last one is some seconds old.

A cursor names a snapshot and a place in it. Snapshots do not change, and stay for a while after their last
use. So a reader of a list meets every listing once, whatever votes come in; listings that are no longer
approved are left out. After a long pause or a restart, or at another node, the snapshot is gone. Then the
newest one takes its place: the list goes on behind the sort key (the votes, the time or the name) that the
last listing had when it was shown. Only then may a listing that has overtaken others be shown twice or be
missed.

The total of a list is the number of its rows: the listings of the snapshot that are still under its index
key. The catalogue may be ahead of both.

Listings with equal sort keys are in the order of their ids. The order by votes of the month is that of the
month in which it was made, unless it names a month of its own. Such an order has the listings with votes in
that month alone.

The trending order compares the votes of the last 7 days with those of the 21 days before. It has only the
listings whose votes grow, and that have enough votes.
"""

import heapq
from array import array
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

import msgspec

from core.clock import month_of_day
from kinds.registry import kind_of
from languages.refusals import Invalid
from languages.said import Fault
from search.catalogue import Catalogue, IndexKey, Keys
from search.paging import ListPage, page_of

Sort = Literal["month", "votes", "newest", "name", "trending"]
SORTS: tuple[Sort, ...] = ("month", "votes", "newest", "name")
"""The orders of lists. `trending` leaves listings out, so it is a list of its own."""
FRESH_SECONDS = 5
"""The age from which an order is made again. `list_keeper.py` may wait longer, to spare the loop."""
STALE_SECONDS = 60
"""The age from which no reader begins with an order that has changed."""
SLOW = 120
"""The orders of past months and the trending one may be so many times as old: they hardly change."""
RECENT_DAYS, DAYS_BEFORE = 7, 21
LEAST_RECENT, EXPECTED = 25, 25
"""The minimum of votes in the recent days, and the votes that are added to both sides of the comparison, so
that a few votes after none are not the greatest growth."""
LEAST_GROWTH = 1.2
KEPT_SECONDS = 600
"""The time for which a snapshot stays after the last page of it."""
MOST_PLACES = 2_000_000
"""The places of all snapshots, of about 24 bytes each. The least recently used snapshot leaves first."""
MOST_SNAPSHOTS = 10_000
"""A snapshot takes about 1 KB beside its places, and there is one for each keyword that was asked for."""
RUN, SLICE = 1_000, 250
"""The sort keys that are sorted, and that are merged, at once: well below a millisecond."""
SKIPPED = 1_000
"""The longest gap of listings that are gone in one page."""

TUPLE = 500
"""The items of a tuple of a `LongList`, which is freed in about 20 us."""
NO_CURSOR = {"after": Fault("not_a_cursor")}
SortKey = int | str
T = TypeVar("T", str, int, str | int)


class LongList(Generic[T]):
    """A long list of texts or numbers, in tuples that do not change.

    Invariant: neither garbage collection nor the end of the list holds the event loop. The collector looks at
    each item of a list in each of its runs, which takes milliseconds for some hundred thousand. It looks at a
    tuple of texts and numbers once. Python frees a list in one piece; `freed` frees it in slices.
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._runs: list[tuple[T, ...]] = []
        self._last: list[T] = []
        self.extend(items)

    def __len__(self) -> int:
        return len(self._runs) * TUPLE + len(self._last)

    def __getitem__(self, at: int) -> T:
        run, place = divmod(at, TUPLE)
        return self._runs[run][place] if run < len(self._runs) else self._last[place]

    def __iter__(self) -> Iterator[T]:
        for run in self._runs:
            yield from run
        yield from self._last

    def extend(self, items: Iterable[T]) -> None:
        last = self._last
        last += items
        while len(last) >= TUPLE:
            self._runs.append(tuple(last[:TUPLE]))
            del last[:TUPLE]

    def freed(self) -> Iterator[None]:
        """Empty the list, in slices."""
        self._last.clear()
        while self._runs:
            self._runs.pop()
            yield


Id = int | str
"""A listing: its id if that is a number of the chat platform, else its ref, which the catalogue has, too."""
Ids = Any
"""Many listings: an array of numbers, or a `LongList` of refs."""


class VoteTotals(Protocol):
    """Numbers of votes by listing."""

    def total(self, ref: str) -> int:
        """Return the number of votes of all time."""

    def in_month(self, ref: str, month: int) -> int:
        """Return the number of votes of a month, counted from January 1970 (UTC)."""

    def in_days(self, ref: str, periods: Sequence[range]) -> list[int]:
        """Return the number of votes in each of some periods of days, counted from 1970-01-01 (UTC)."""


class ListOrder(msgspec.Struct, frozen=True, gc=False):
    """A way to list the listings under an index key. `month` is that of a ranking: see `month_of`."""

    key: IndexKey
    sort: Sort
    month: int | None = None

    @property
    def is_slow(self) -> bool:
        """True if the order may be old."""
        return self.sort == "trending" or self.month is not None

    @property
    def is_partial(self) -> bool:
        """True if listings whose sort key is 0 are left out."""
        return self.is_slow


class SnapshotTally:
    """The listings of a snapshot, and how many are under its index key now. Ids come in the order of refs."""

    def __init__(self, key: IndexKey) -> None:
        self._ids = _no_ids(key)
        self.present = 0

    def add(self, ids: Sequence[Id]) -> None:
        self._ids.extend(ids)
        self.present += len(ids)

    def move(self, id_: Id, step: int) -> None:
        """Count a listing of the snapshot that has come back (1), or has left (-1)."""
        at = bisect_left(self._ids, str(id_), key=str)
        if at < len(self._ids) and self._ids[at] == id_:
            self.present += step


class OrderingSnapshot(NamedTuple):
    """An order at one moment. `sort_keys` are those of the listings with the `ids`, in the same order.

    The garbage collector skips numbers in arrays. `changes` is the count of the catalogue's changes at that
    moment, and `day` its day. `made_ns` is monotonic time.
    """

    number: int
    order: ListOrder
    ids: Ids
    sort_keys: "array[int] | LongList[str]"
    tally: SnapshotTally
    changes: tuple[int, int]
    day: int
    made_ns: int
    is_whole: bool

    def ref(self, at: int) -> str:
        """Return the listing in a place."""
        id_ = self.ids[at]
        return id_ if isinstance(id_, str) else f"{self.order.key.prefix}{id_}"


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    snapshot: int
    place: int
    sort_key: SortKey
    ref: str


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Cursor).decode


class ListOrders:
    """The snapshots of a gateway.

    Args:
        first: the number of the first snapshot. No other start, and no other node, begins with the same.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        votes: VoteTotals,
        first: int,
        most_places: int = MOST_PLACES,
        most_snapshots: int = MOST_SNAPSHOTS,
    ) -> None:
        self._catalogue = catalogue
        self._votes = votes
        self._number = first
        self._most_places = most_places
        self._most_snapshots = most_snapshots
        self._newest: dict[ListOrder, OrderingSnapshot] = {}
        self._kept: OrderedDict[int, tuple[OrderingSnapshot, int]] = OrderedDict()
        """Snapshots with the monotonic time of their last use, the least recently used first."""
        self._tallies: dict[IndexKey, list[SnapshotTally]] = {}
        """Tallies of the kept snapshots, and of those that are being made."""
        self._combined: set[IndexKey] = set()
        """Their keys of several conditions."""
        self.places = 0

    def moved(self, ref: str, before: Keys, now: Keys) -> None:
        """Count a listing that was added to index keys, or removed from them."""
        changed = {*before} ^ {*now}
        combined = [key for key in self._combined if not changed.isdisjoint(key.parts)]
        for key in (*changed, *combined):
            step = all(part in now for part in key.parts) - all(part in before for part in key.parts)
            for tally in self._tallies.get(key, ()) if step else ():
                tally.move(_reader_of_ids(key)(ref), step)

    def newest(self, order: ListOrder, day: int, now_ns: int) -> tuple[OrderingSnapshot | None, bool]:
        """Return the newest snapshot that may be shown, if there is one, and true if a newer one is due."""
        snapshot = self._newest.get(order)
        if snapshot is None:
            return None, True
        age, slow = (now_ns - snapshot.made_ns) // 1_000_000_000, SLOW if order.is_slow else 1
        is_due = age >= FRESH_SECONDS * slow and not self._is_current(snapshot, day)
        is_of_now = order.is_slow or month_of_day(snapshot.day) == month_of_day(day)
        is_shown = is_of_now and not (is_due and age >= STALE_SECONDS * slow)
        return (snapshot if is_shown else None), is_due or not is_shown

    def rank(self, order: ListOrder, votes: int, month: int) -> tuple[int, int] | None:
        """Return the place that a listing with so many votes has in an order by votes, and the total of the
        list; None if no order of the month is made yet. The age of the order makes no difference."""
        snapshot, total = self._newest.get(order), len(self._catalogue.refs_of(order.key))
        if snapshot is None or month_of_day(snapshot.day) != month or not snapshot.ids:
            return None
        sort_keys = cast("array[int]", snapshot.sort_keys)
        return min(bisect_left(sort_keys, -votes) + 1, total), total

    def page(
        self, newest: OrderingSnapshot, after: str | None, limit: int, now_ns: int
    ) -> tuple[ListPage[str], int]:
        """Return a page of refs, and the total of its list. Raises Invalid for a cursor that is none."""
        snapshot, first = newest, 0
        if after is not None:
            snapshot, first = self._place(newest, _read(after))
        self._use(snapshot, now_ns)

        def cursor(place: int) -> str:
            ref = snapshot.ref(place)
            return _written(_Cursor(snapshot.number, place + 1, snapshot.sort_keys[place], ref))

        parts = snapshot.order.key.parts
        last = min(len(snapshot.ids), first + limit + SKIPPED)
        found = (place for place in range(first, last) if self._is_under(parts, snapshot.ref(place)))
        shown = page_of(found, limit, cursor)
        return ListPage([*map(snapshot.ref, shown.rows)], shown.next), snapshot.tally.present

    def build(self, order: ListOrder, day: int, now_ns: int) -> Iterator[None]:
        """Make a new snapshot, in slices. It is the newest once the iterator has ended."""
        tally = SnapshotTally(order.key)
        self._tallies.setdefault(order.key, []).append(tally)
        if len(order.key.parts) > 1:
            self._combined.add(order.key)
        try:
            snapshot = yield from self._made(order, tally, day, now_ns)
        except BaseException:  # also when the iterator is closed before its end
            self._forget(order.key, tally)
            raise
        for gone in self._keep(snapshot, now_ns):
            for column in (gone.ids, gone.sort_keys):
                if isinstance(column, LongList):
                    yield from column.freed()

    def _made(
        self, order: ListOrder, tally: SnapshotTally, day: int, now_ns: int
    ) -> Generator[None, None, OrderingSnapshot]:
        catalogue = self._catalogue
        changes, is_whole = (catalogue.changes, catalogue.votes), catalogue.is_complete
        groups: dict[SortKey, Ids | Id] = {}
        read_id = _reader_of_ids(order.key)
        for sliced in catalogue.slices(order.key):
            keys = [(self._sort_key(order, ref, day), read_id(ref)) for ref in sliced]
            found = [each for each in keys if each[0] or not order.is_partial]
            for sort_key, id_ in found:
                _add(order.key, groups, sort_key, id_)
            tally.add([id_ for _, id_ in found])
            yield
        ids = _no_ids(order.key)
        sort_keys: array[int] | LongList[str] = LongList() if order.sort == "name" else array("q")
        for number, sort_key in enumerate((yield from _sorted_in_slices(groups))):
            group = groups.pop(sort_key)
            some = (group,) if isinstance(group, int | str) else group
            ids.extend(some)
            sort_keys.extend([sort_key] * len(some))  # type: ignore[list-item] # all have one type
            if number % SLICE == 0:
                yield
        number, self._number = self._number, self._number + 1
        return OrderingSnapshot(number, order, ids, sort_keys, tally, changes, day, now_ns, is_whole)

    def _sort_key(self, order: ListOrder, ref: str, day: int) -> SortKey:
        """Return the sort key of a listing: the least is first."""
        match order.sort:
            case "month":
                return -self._votes.in_month(ref, month_of_day(day) if order.month is None else order.month)
            case "votes":
                return -self._votes.total(ref)
            case "trending":
                return -trend(*self._votes.in_days(ref, trend_periods(day)))
            case "newest":
                return -self._catalogue.entries[ref].since_ms
            case "name":
                return self._catalogue.entries[ref].name

    def _is_under(self, parts: Keys, ref: str) -> bool:
        entry = self._catalogue.entries.get(ref)
        return entry is not None and entry.is_under(parts)

    def _is_current(self, snapshot: OrderingSnapshot, day: int) -> bool:
        """Return true if a new snapshot would be the same."""
        changes, votes = snapshot.changes
        catalogue, sort = self._catalogue, snapshot.order.sort
        if not snapshot.is_whole or catalogue.changes != changes:
            return False
        return sort in {"newest", "name"} or (catalogue.votes == votes and snapshot.day == day)

    def _place(self, newest: OrderingSnapshot, cursor: _Cursor) -> tuple[OrderingSnapshot, int]:
        kept = self._kept.get(cursor.snapshot)
        if kept is not None and kept[0].order == newest.order:
            return kept[0], min(max(cursor.place, 0), len(kept[0].ids))
        if isinstance(cursor.sort_key, str) != (newest.order.sort == "name"):
            raise Invalid(NO_CURSOR)
        places, after = range(len(newest.ids)), (cursor.sort_key, cursor.ref)
        return newest, bisect_right(places, after, key=lambda at: (newest.sort_keys[at], newest.ref(at)))

    def _keep(self, snapshot: OrderingSnapshot, now_ns: int) -> list[OrderingSnapshot]:
        """Keep a snapshot, and return those that leave for it."""
        left: list[OrderingSnapshot] = []
        self._newest[snapshot.order] = snapshot
        self._kept[snapshot.number] = snapshot, now_ns
        self.places += len(snapshot.ids)
        while self._kept:
            oldest, used_ns = next(iter(self._kept.values()))
            is_late = now_ns - used_ns >= KEPT_SECONDS * 1_000_000_000
            is_much = self.places > self._most_places or len(self._kept) > self._most_snapshots
            if oldest.number == snapshot.number or not (is_late or is_much):
                break
            left.append(oldest)
            del self._kept[oldest.number]
            self._forget(oldest.order.key, oldest.tally)
            self.places -= len(oldest.ids)
            if self._newest.get(oldest.order) is oldest:
                del self._newest[oldest.order]
        return left

    def _forget(self, key: IndexKey, tally: SnapshotTally) -> None:
        known = self._tallies[key]
        known.remove(tally)
        if not known:
            del self._tallies[key]
            self._combined.discard(key)

    def _use(self, snapshot: OrderingSnapshot, now_ns: int) -> None:
        if snapshot.number in self._kept:
            self._kept[snapshot.number] = snapshot, now_ns
            self._kept.move_to_end(snapshot.number)


def trend_periods(day: int) -> tuple[range, range]:
    """Return the recent days, with today, and the days before them."""
    first = day - RECENT_DAYS + 1
    return range(first, day + 1), range(first - DAYS_BEFORE, first)


def trend(recent: int, before: int) -> int:
    """Return the growth of the votes of recent days, in thousandths; 0 if it is no trend."""
    expected = before * RECENT_DAYS / DAYS_BEFORE
    growth = (recent + EXPECTED) / (expected + EXPECTED)
    return round(growth * 1_000) if recent >= LEAST_RECENT and growth >= LEAST_GROWTH else 0


def _add(key: IndexKey, groups: dict[SortKey, Ids | Id], sort_key: SortKey, id_: Id) -> None:
    group = groups.setdefault(sort_key, id_)
    if not isinstance(group, int | str):
        group.extend((id_,))
    elif group != id_:
        groups[sort_key] = both = _no_ids(key)
        both.extend((group, id_))


def _no_ids(key: IndexKey) -> Ids:
    """Return an empty list for the ids of the kind of a key."""
    return array("Q") if kind_of(key.prefix).has_snowflakes else LongList()


def _reader_of_ids(key: IndexKey) -> Callable[[str], Id]:
    """Return the function that makes ids of refs of the kind of a key."""
    begin = len(key.prefix)
    if kind_of(key.prefix).has_snowflakes:
        return lambda ref: int(ref[begin:])
    return lambda ref: ref


def _sorted_in_slices(sort_keys: Iterable[SortKey]) -> Generator[None, None, LongList[SortKey]]:
    """Sort keys of one type: first in runs, then all runs merged."""
    rest, runs = iter(sort_keys), list[tuple[SortKey, ...]]()
    while run := tuple(sorted(islice(rest, RUN))):
        runs.append(run)
        yield
    merged, found = heapq.merge(*runs), LongList[SortKey]()
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
