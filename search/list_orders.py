"""Orders of the catalogue: by votes of a month, by all votes, by growth, newest first, by name.

Invariant: an order that is read is made once, in slices. After that, a listing moves in it when its place
changes. A reader meets every listing once.

Thousands of votes come in every second, so nothing moves when a vote comes. The first change of a listing
notes how it was, and its next changes note nothing. Some seconds later a *drain* takes all notes: it moves
each noted listing from its old place to its new one, in each order that it is in. So a listing that gets a
hundred votes a second moves once in five seconds. An order is made again only if all its places depend on a
day or a month that is over.

An *ordering snapshot* is an order as it was after a drain (`order_chunks.py`). A cursor names a snapshot
and a place in it. Snapshots do not change, and stay for a while after their last use. So a reader of a list
meets every listing once, whatever votes come in; listings that are no longer approved are left out. After a
long pause or a restart, or at another node, the snapshot is gone. Then the newest one takes its place: the
list goes on behind the sort key (the votes, the time or the name) that the last listing had when it was
shown. Only then may a listing that has overtaken others be shown twice or be missed.

The total of a list is the number of its rows: the listings of the snapshot that are still under its index
key. The catalogue may be ahead of both. Partial orders have no total.

Listings with equal sort keys are in the order of their ids. The order by votes of the month is that of the
month in which it was made, unless it names a month of its own. Such an order has the listings with votes in
that month alone.

The trending order compares the votes of the last 7 days with those of the 21 days before. It has only the
listings whose votes grow, and that have enough votes.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, Protocol

import msgspec

from core.clock import month_of_day
from core.vote_counts import VotesOfListing
from kinds.registry import kind_of
from languages.refusals import Invalid
from languages.said import Fault
from search.catalogue import Catalogue, IndexKey, ShownListing
from search.order_chunks import MOST, Chunk, Id, LivingPlaces, Place, Places, PlacesInTheMaking, SortKey
from search.paging import ListPage, page_of

Sort = Literal["month", "votes", "newest", "name", "trending"]
SORTS: tuple[Sort, ...] = ("month", "votes", "newest", "name")
"""The orders of lists. `trending` leaves listings out, so it is a list of its own."""
FRESH_SECONDS = 5
"""The time between two drains. `list_keeper.py` may wait longer, to spare the loop."""
STALE_SECONDS = 60
"""The age from which no reader begins with an order that has changed."""
RECENT_DAYS, DAYS_BEFORE = 7, 21
LEAST_RECENT, EXPECTED = 25, 25
"""The minimum of votes in the recent days, and the votes that are added to both sides of the comparison, so
that a few votes after none are not the greatest growth."""
LEAST_GROWTH = 1.2
KEPT_SECONDS = 600
"""The time for which a snapshot stays after the last page of it, and an order after its last reader."""
MOST_PLACES = 8_000_000
"""The places of all orders, of 16 bytes each, and of chunks that only snapshots have. The least recently used
snapshot leaves first, and then the least recently read order."""
MOST_ORDERS = 10_000
"""An order takes about 1 KB beside its places, and there is one for each keyword that was asked for."""
DRAINED = 32
"""The listings that move in one slice: in a few orders each, which takes about 1 ms."""
SKIPPED = 1_000
"""The longest gap of listings that are gone in one page."""

NO_CURSOR = {"after": Fault("not_a_cursor")}
_SECOND = 1_000_000_000
_LAST = "\U0010ffff"
"""Behind all refs."""


_NO_VOTES = VotesOfListing(0, ())


class AllVotes(Protocol):
    """The votes of all listings."""

    def of(self, ref: str) -> VotesOfListing:
        """Return the votes of a listing as they are now."""


class ListOrder(msgspec.Struct, frozen=True, gc=False):
    """A way to list the listings under an index key. `month` is that of a ranking: see `month_of`."""

    key: IndexKey
    sort: Sort
    month: int | None = None

    @property
    def has_votes(self) -> bool:
        """True if the votes of a listing have a part in its sort key."""
        return self.sort not in {"newest", "name"}

    @property
    def is_partial(self) -> bool:
        """True if listings whose sort key is 0 are left out."""
        return self.sort == "trending" or self.month is not None


class OrderingSnapshot:
    """An order at one moment. `came` and `gone` are the listings that have come under its index key since, or
    that have left it."""

    __slots__ = ("came", "gone", "number", "order", "own", "places", "used_ns")

    def __init__(self, number: int, order: ListOrder, places: Places) -> None:
        self.number = number
        self.order = order
        self.places = places
        self.came = set[str]()
        self.gone = set[str]()
        self.own = 0
        """The most places that are in no chunk of a newer snapshot."""
        self.used_ns: int | None = None
        """The monotonic time at which a reader got a cursor of it."""

    @property
    def total(self) -> int:
        """The number of its listings that are still under its index key, but of a partial order all."""
        return self.places.size - len(self.gone)

    def moved(self, ref: str, *, is_in: bool) -> None:
        """Note that a listing has come under the index key, or has left it."""
        back, away = (self.gone, self.came) if is_in else (self.came, self.gone)
        if ref in back:
            back.remove(ref)
        else:
            away.add(ref)


class _Before(NamedTuple):
    """A listing before it changed."""

    entry: ShownListing | None
    votes: VotesOfListing


class _Notes(dict[str, _Before]):
    """Changed listings as they were before. Refs behind `read_to` are not noted: an order that is being made
    has not read them yet."""

    read_to = _LAST

    def taken(self) -> list[tuple[str, _Before]]:
        """Take some notes, the last ones: to take the first ones from a long dict takes longer each time."""
        return [self.popitem() for _ in range(min(DRAINED, len(self)))]


class _LivingOrder:
    def __init__(self, order: ListOrder, places: LivingPlaces, day: int, made_ns: int) -> None:
        self.order = order
        self._parts = order.key.parts
        self._begin = len(order.key.prefix)
        self._has_numbers = kind_of(order.key.prefix).has_snowflakes
        self.places = places
        self.month = month_of_day(day) if order.month is None else order.month
        self.periods = trend_periods(day)
        self.day = day
        self.made_ns = made_ns
        """Monotonic time."""
        self.used_ns = made_ns
        self.is_frozen = False
        """True for one that was made while the catalogue was not complete."""
        self.moves = 0
        """Moves since the newest snapshot."""

    def place(self, ref: str, entry: ShownListing | None, votes: VotesOfListing) -> Place | None:
        """Return the place of a listing with this entry and these votes; None if it is not in the order."""
        if entry is None:
            return None
        for part in self._parts:
            if part not in entry.keys:
                return None
        sort_key = self._sort_key(entry, votes)
        if not sort_key and self.order.is_partial:
            return None
        return sort_key, int(ref[self._begin :]) if self._has_numbers else ref

    def _sort_key(self, entry: ShownListing, votes: VotesOfListing) -> SortKey:
        """Return the sort key of a listing: the least is first."""
        match self.order.sort:
            case "month":
                return -votes.in_month(self.month)
            case "votes":
                return -votes.total
            case "trending":
                (recent,) = votes.in_days(self.periods[:1])
                if recent < LEAST_RECENT:  # true of most listings, and faster than `trend`
                    return 0
                return -trend(*votes.in_days(self.periods))
            case "newest":
                return -entry.since_ms
            case "name":
                return entry.name

    def is_over(self, day: int) -> bool:
        """Return true if all its places depend on a month or a day that is over."""
        if self.order.sort == "trending":
            return day != self.day
        return self.order.sort == "month" and self.order.month is None and month_of_day(day) != self.month


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    snapshot: int
    sort_key: SortKey
    id: Id


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Cursor).decode


class ListOrders:
    """The orders of a gateway that somebody reads.

    `changing` must hear of a listing before it changes, and `moved` of an entry of the catalogue that has
    changed.

    Args:
        first: the number of the first snapshot. No other start, and no other node, begins with the same.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        votes: AllVotes,
        first: int,
        most_places: int = MOST_PLACES,
        most_orders: int = MOST_ORDERS,
    ) -> None:
        self._catalogue = catalogue
        self._votes = votes
        self._number = first
        self._most_places = most_places
        self._most_orders = most_orders
        self._living: OrderedDict[ListOrder, _LivingOrder] = OrderedDict()
        """The least recently read order first."""
        self._snapshots: dict[ListOrder, list[OrderingSnapshot]] = {}
        """The snapshots of each order, the newest last: that of a living order, and those with cursors."""
        self._used: OrderedDict[int, OrderingSnapshot] = OrderedDict()
        """Snapshots with cursors by their numbers, the least recently used first."""
        self._by_key: dict[IndexKey, set[ListOrder]] = {}
        """The orders with snapshots, by the rarest of the conditions that their listings meet."""
        self._key_of: dict[ListOrder, IndexKey] = {}
        self._notes = _Notes()
        self._making: _Notes | None = None
        """The notes for the order that is being made."""
        self._drained_ns = 0
        self._old: list[Chunk] = []
        """Chunks of orders that have left, until they are freed in slices."""

    @property
    def places(self) -> int:
        """The places of all orders, and those that only snapshots have, at most."""
        held = sum(snapshot.own for known in self._snapshots.values() for snapshot in known)
        return held + sum(len(living.places) for living in self._living.values())

    # -- changes ---------------------------------------------------------------------------------------

    def changing(self, ref: str) -> None:
        """Note how a listing is before it changes."""
        if self._living or self._making is not None:
            entry = self._catalogue.entries.get(ref)
            if entry is not None:
                self._note(ref, entry)

    def moved(self, ref: str, before: ShownListing | None, now: ShownListing | None) -> None:
        """Note that an entry of the catalogue has come, changed or gone."""
        self._note(ref, before)
        for order in self._orders_of(before, now):
            parts = order.key.parts
            is_in = now is not None and now.is_under(parts)
            if not order.is_partial and is_in != (before is not None and before.is_under(parts)):
                for snapshot in self._snapshots[order]:
                    snapshot.moved(ref, is_in=is_in)

    def _note(self, ref: str, entry: ShownListing | None) -> None:
        if self._living and self._catalogue.is_complete and ref not in self._notes:
            self._notes[ref] = _Before(entry, self._votes.of(ref))
        if self._making is not None and ref <= self._making.read_to and ref not in self._making:
            self._making[ref] = _Before(entry, self._votes.of(ref))

    def _orders_of(self, *entries: ShownListing | None) -> Iterable[ListOrder]:
        """Return the orders that have a listing with one of the entries, and others."""
        keys = dict.fromkeys(key for entry in entries if entry is not None for key in entry.keys)
        return [order for key in keys for order in self._by_key.get(key, ())]

    # -- readers ---------------------------------------------------------------------------------------

    def newest(self, order: ListOrder, day: int, now_ns: int) -> tuple[OrderingSnapshot | None, bool]:
        """Return the newest snapshot that may be shown, if there is one, and true if a newer one is due."""
        living = self._living.get(order)
        if living is None:
            return None, True
        is_over = living.is_over(day)
        age_ns = now_ns - (living.made_ns if living.is_frozen else self._drained_ns)
        has_changed = is_over or living.is_frozen or bool(self._notes)
        is_part = living.is_frozen and self._catalogue.is_complete  # made of a part of the catalogue
        is_due = is_over or is_part or (has_changed and age_ns >= FRESH_SECONDS * _SECOND)
        is_of_now = not is_part and (not is_over or order.sort == "trending")
        is_shown = is_of_now and not (is_due and age_ns >= STALE_SECONDS * _SECOND)
        return (self._snapshots[order][-1] if is_shown else None), is_due

    def _read(self, order: ListOrder, now_ns: int) -> None:
        living = self._living.get(order)
        if living is not None:
            living.used_ns = now_ns
            self._living.move_to_end(order)

    def rank(self, order: ListOrder, votes: int, month: int, now_ns: int) -> tuple[int, int] | None:
        """Return the place that a listing with so many votes has in an order by votes, and the total of the
        list; None if no order of the month is made yet. The age of the order makes no difference."""
        living, total = self._living.get(order), len(self._catalogue.refs_of(order.key))
        self._read(order, now_ns)
        if living is None or living.month != month or not living.places:
            return None
        return min(self._snapshots[order][-1].places.before(-votes) + 1, total), total

    def page(
        self, newest: OrderingSnapshot, after: str | None, limit: int, now_ns: int
    ) -> tuple[ListPage[str], int]:
        """Return a page of refs, and the total of its list. Raises Invalid for a cursor that is none."""
        self._read(newest.order, now_ns)
        snapshot, behind = newest, iter(newest.places)
        if after is not None:
            snapshot, behind = self._place(newest, _decoded(after))
        key = snapshot.order.key

        def cursor(place: Place) -> str:
            return _encoded(_Cursor(snapshot.number, *place))

        found = (place for place in islice(behind, limit + SKIPPED) if self._is_under(key, place))
        shown = page_of(found, limit, cursor)
        if shown.next is not None:
            self._use(snapshot, now_ns)
        return ListPage([_ref_of(key, id_) for _, id_ in shown.rows], shown.next), snapshot.total

    def _is_under(self, key: IndexKey, place: Place) -> bool:
        entry = self._catalogue.entries.get(_ref_of(key, place[1]))
        return entry is not None and entry.is_under(key.parts)

    def _place(self, newest: OrderingSnapshot, cursor: _Cursor) -> tuple[OrderingSnapshot, Iterator[Place]]:
        order = newest.order
        has_texts = not kind_of(order.key.prefix).has_snowflakes
        if (
            isinstance(cursor.sort_key, str) != (order.sort == "name")
            or isinstance(cursor.id, str) != has_texts
        ):
            raise Invalid(NO_CURSOR)
        used = self._used.get(cursor.snapshot)
        snapshot = used if used is not None and used.order == order else newest
        return snapshot, snapshot.places.behind((cursor.sort_key, cursor.id))

    def _use(self, snapshot: OrderingSnapshot, now_ns: int) -> None:
        if snapshot in self._snapshots.get(snapshot.order, ()):
            snapshot.used_ns = now_ns
            self._used[snapshot.number] = snapshot
            self._used.move_to_end(snapshot.number)

    # -- work in slices --------------------------------------------------------------------------------

    def renew(self, order: ListOrder, day: int, now_ns: int) -> Iterator[None]:
        """Bring an order up to date, in slices: make it, or take the notes of all orders."""
        self._read(order, now_ns)
        return self.build(order, day, now_ns) if self.is_to_make(order, day) else self.drain(now_ns)

    def is_to_make(self, order: ListOrder, day: int) -> bool:
        """Return true if a drain is not enough to bring the order up to date."""
        living = self._living.get(order)
        return living is None or living.is_over(day) or living.is_frozen

    def build(self, order: ListOrder, day: int, now_ns: int) -> Iterator[None]:
        """Make an order, in slices. It is there once the iterator has ended."""
        notes = self._making = _Notes()
        notes.read_to = ""
        living = _LivingOrder(order, LivingPlaces(), day, now_ns)
        living.is_frozen = not self._catalogue.is_complete
        try:
            making, entries = PlacesInTheMaking(), self._catalogue.entries
            votes_of = self._votes.of if order.has_votes else _no_votes
            for refs in self._catalogue.slices(order.key):
                places = (living.place(ref, entries.get(ref), votes_of(ref)) for ref in refs)
                making.add(place for place in places if place is not None)
                notes.read_to = refs[-1]
                yield
            notes.read_to = _LAST
            chunks: list[Chunk] = []
            for some in making.chunks():
                chunks += some
                yield
            living.places = LivingPlaces(chunks)
            while notes or self._notes:  # both end in one slice: then all orders have the same changes
                self._drain_some()
                for ref, before in notes.taken():
                    self._move([living], ref, before)
                if notes or self._notes:
                    yield
        finally:
            self._making = None
        self._forget([order])
        self._living[order] = living
        self._take_snapshot(living)
        yield from self._end_drain(now_ns)

    def drain(self, now_ns: int) -> Iterator[None]:
        """Move the listings that have changed, in slices. Then there are new snapshots, and orders and
        snapshots that nobody has used for long leave."""
        while self._notes:
            self._drain_some()
            if self._notes:
                yield
        yield from self._end_drain(now_ns)

    def _drain_some(self) -> None:
        living = self._living
        try:
            for ref, before in self._notes.taken():
                orders = self._orders_of(before.entry, self._catalogue.entries.get(ref))
                found = (living[order] for order in orders if order in living)
                self._move((each for each in found if not each.is_frozen), ref, before)
        except Exception:  # an order that has missed a move is never right again
            self._forget(living)
            raise

    def _end_drain(self, now_ns: int) -> Iterator[None]:
        """Take snapshots while nothing is noted, so that each has what is under its index key now."""
        self._drained_ns = now_ns
        for living in self._living.values():
            if living.moves:
                self._take_snapshot(living)
        self._trim(now_ns)
        while self._old:
            del self._old[-DRAINED:]
            yield

    def _move(self, orders: Iterable[_LivingOrder], ref: str, before: _Before) -> None:
        entry, votes = self._catalogue.entries.get(ref), self._votes.of(ref)
        for living in orders:
            if entry is before.entry and not living.order.has_votes:
                continue
            old, new = living.place(ref, *before), living.place(ref, entry, votes)
            if old == new:
                continue
            if old is not None:
                living.places.remove(old)
            if new is not None:
                living.places.add(new)
            living.moves += 1

    def _take_snapshot(self, living: _LivingOrder) -> None:
        order = living.order
        known = self._snapshots.setdefault(order, [])
        if order not in self._key_of:
            key = self._key_of[order] = self._catalogue.rarest(order.key)
            self._by_key.setdefault(key, set()).add(order)
        before = known[-1] if known else None
        known.append(OrderingSnapshot(self._number, order, living.places.frozen()))
        if before is not None:
            before.own = max(before.own, min(before.places.size, 2 * MOST * living.moves))
            if before.used_ns is None:
                self._leave(before)
        self._number, living.moves = self._number + 1, 0

    def _trim(self, now_ns: int) -> None:
        """Forget orders and snapshots that nobody has used for long, and those beyond the limits."""
        late_ns = now_ns - KEPT_SECONDS * _SECOND
        places = self.places
        while self._used:
            snapshot = next(iter(self._used.values()))
            if (snapshot.used_ns or 0) > late_ns and places <= self._most_places:
                break
            places -= self._leave(snapshot)
        while self._living:
            order, living = next(iter(self._living.items()))
            is_much = places > self._most_places or len(self._living) > self._most_orders
            if living.used_ns > late_ns and (not is_much or len(self._living) == 1):
                break
            places -= len(living.places)
            self._forget([order])

    def _forget(self, orders: Collection[ListOrder]) -> None:
        """Let orders leave. Their snapshots with cursors stay."""
        for order in [*orders]:
            if self._living.pop(order, None) is None:
                continue
            if not self._living:
                self._notes.clear()
            newest = self._snapshots[order][-1]
            newest.own = newest.places.size
            if newest.used_ns is None:
                self._leave(newest)

    def _leave(self, snapshot: OrderingSnapshot) -> int:
        """Let a snapshot leave, and return the number of places that this frees."""
        known = self._snapshots[snapshot.order]
        at = known.index(snapshot)
        self._used.pop(snapshot.number, None)
        snapshot.used_ns = None
        if at == len(known) - 1 and snapshot.order in self._living:
            return 0
        del known[at]
        freed = snapshot.own
        if at:  # chunks that no newer snapshot has may be in the one before
            before = known[at - 1]
            own = min(before.places.size, before.own + snapshot.own)
            freed += before.own - own
            before.own = own
        if snapshot.order not in self._living:  # else the order shares nearly all of them
            self._old += snapshot.places.chunks
        if not known:
            del self._snapshots[snapshot.order]
            key = self._key_of.pop(snapshot.order)
            self._by_key[key].discard(snapshot.order)
            if not self._by_key[key]:
                del self._by_key[key]
        return freed


def trend_periods(day: int) -> tuple[range, range]:
    """Return the recent days, with today, and the days before them."""
    first = day - RECENT_DAYS + 1
    return range(first, day + 1), range(first - DAYS_BEFORE, first)


def trend(recent: int, before: int) -> int:
    """Return the growth of the votes of recent days, in thousandths; 0 if it is no trend."""
    expected = before * RECENT_DAYS / DAYS_BEFORE
    growth = (recent + EXPECTED) / (expected + EXPECTED)
    return round(growth * 1_000) if recent >= LEAST_RECENT and growth >= LEAST_GROWTH else 0


def _no_votes(_: str) -> VotesOfListing:
    return _NO_VOTES


def _ref_of(key: IndexKey, id_: Id) -> str:
    return id_ if isinstance(id_, str) else f"{key.prefix}{id_}"


def _encoded(cursor: _Cursor) -> str:
    return urlsafe_b64encode(_encode(cursor)).decode().rstrip("=")


def _decoded(text: str) -> _Cursor:
    try:
        return _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (msgspec.DecodeError, ValueError):
        raise Invalid(NO_CURSOR) from None
