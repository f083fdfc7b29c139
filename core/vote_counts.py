"""Votes of a listing by day and month. Invariant: of each node, day and month the greatest count stands.

Each node of a fleet counts the votes that were cast at it. A vote carries how many it was, of its day and of
its month, with itself; so counts may be put again, late and in any order, and nodes that have heard the same
have the same. Votes that moderators remove are counted by the same rule, at the node where that was done,
and subtracted from days and months when somebody looks; the vote table, which knows all, has lost them.

Likes are counted otherwise: a user has one for a listing, and the vote table knows its time. So their days
and months follow from the table, in a row of no node (`OF_LIKES`), which nodes do not tell each other. A like
that was given twice counts once, and one that is taken back is gone from its day, wherever that happened.

Days and months are those of UTC (`core/clock.py`). A listing keeps the newest `KEPT` ones with votes at
any node. That rule looks at no clock, so it is the same at all nodes and in a replay, and a
vote that a wrong clock has put into the year 2100 pushes a single day out.

A row is the bytes of one node's counts for one listing: about 250 for one with thousands of votes each day.

    head     number of the node u16 | newest day u16, its votes u32 | newest month u16, its votes u32
             | votes removed, of all time, u32
    older days | older months | days of votes removed | their months
             each: the number of entries, and their gaps and counts in two columns, the newest first. A gap is
             how many keys are missing behind the entry before

The rest is packed by `core/bit_fields.py`. A vote nearly always is of the newest day, and changes
nothing but the head.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from core.bit_fields import BitReader, BitWriter
from core.clock import day_of, month_of_day
from core.rows import NodeCounts
from core.vote_table import VotesView

DAYS, MONTHS, REMOVED_DAYS, REMOVED_MONTHS, REMOVED = range(5)
KEPT = (90, 24, 90, 24, 1)
MAX_KEY = (1 << 16) - 1
OF_LIKES = (1 << 16) - 1
"""The number in the row of likes, in the place of that of a node."""
MAX_COUNT = (1 << 32) - 1
_HEAD = struct.Struct("<HHIHII")
_NUMBER = struct.Struct("<H")
_LISTS = 4
_LENGTH_BITS = 7

Series = list[dict[int, int]]
"""The counts of one node: by day and month, and so for votes removed; the last has those under key 0."""
Stored = bytes | tuple[bytes, ...]
"""The row of the only node, or the rows of several nodes."""


class VotesOfListing(NamedTuple):
    """The votes of one listing at one moment: of all time, and the rows of its nodes."""

    total: int
    rows: tuple[bytes, ...]

    def in_month(self, month: int) -> int:
        """Return the votes of a month as `month_of` counts it."""
        return _in_month(self.rows, month)

    def in_days(self, periods: Sequence[range]) -> list[int]:
        """Return the votes of some periods of days. A listing without votes since they began costs little."""
        found = [0] * len(periods)
        first = min(period.start for period in periods)
        for row in self.rows:
            _, newest, count, _, _, removed = _HEAD.unpack_from(row)
            if removed:
                days = _left(self.rows, DAYS, REMOVED_DAYS)
                return [sum(days.get(day, 0) for day in period) for period in periods]
            if newest < first:
                continue
            counts = {newest: count, **_older(row, DAYS)}
            for at, period in enumerate(periods):
                found[at] += sum(counts.get(day, 0) for day in period)
        return found


class VoteCountsView:
    """Counts of votes by listing, as readers see them. Votes removed are not among them."""

    def __init__(self, votes: VotesView) -> None:
        self._votes = votes
        self._rows: dict[str, Stored] = {}

    def total(self, ref: str) -> int:
        """Return the number of votes of all time, without votes of erased users."""
        return self._votes.total(ref)

    def in_month(self, ref: str, month: int) -> int:
        """Return the votes of a month as `month_of` counts it."""
        return _in_month(self.rows(ref), month)

    def of(self, ref: str) -> "VotesOfListing":
        """Return the votes of a listing as they are now."""
        return VotesOfListing(self._votes.total(ref), self.rows(ref))

    def days(self, ref: str) -> Mapping[int, int]:
        """Return the votes by day as `day_of` counts it, in order, without days that had none."""
        return _left(self.rows(ref), DAYS, REMOVED_DAYS)

    def months(self, ref: str) -> Mapping[int, int]:
        """Return the votes by month as `month_of` counts it, in order, without months that had none."""
        return _left(self.rows(ref), MONTHS, REMOVED_MONTHS)

    def at(self, ref: str, number: int, day: int) -> tuple[int, int]:
        """Return the votes that the node of this number has counted on the day, and in its month."""
        for row in self.rows(ref):
            if _NUMBER.unpack_from(row)[0] == number:
                _, newest, of_day, newest_month, of_month, _ = _HEAD.unpack_from(row)
                month = month_of_day(day)
                if day >= newest and month >= newest_month:
                    return of_day if day == newest else 0, of_month if month == newest_month else 0
                series = _decoded(row)
                return series[DAYS].get(day, 0), series[MONTHS].get(month, 0)
        return 0, 0

    def by_key(self, ref: str, number: int, at: int, key: int) -> int:
        """Return a count of the node of this number; `at` says of what: DAYS, MONTHS, ..."""
        rows = (row for row in self.rows(ref) if _NUMBER.unpack_from(row)[0] == number)
        return next((_decoded(row)[at].get(key, 0) for row in rows), 0)

    def of_nodes(self, ref: str, labels: Sequence[str]) -> Sequence[NodeCounts]:
        """Return the counts of each node as events and facts have them; `labels` are by number."""
        return [
            _told(labels[_NUMBER.unpack_from(row)[0]], _decoded(row)) for row in _of_nodes(self.rows(ref))
        ]

    def summed(self, ref: str) -> NodeCounts:
        """Return the counts as if one node, without a label, had counted all. The row of likes is not among
        them: the votes say the same."""
        return _told("", _sum(map(_decoded, _of_nodes(self.rows(ref)))))

    def rows(self, ref: str) -> tuple[bytes, ...]:
        """Return the row of each node, as bytes."""
        stored = self._rows.get(ref, ())
        return (stored,) if type(stored) is bytes else stored  # type: ignore[return-value] # mypy #9003

    def canonical(self, ref: str) -> bytes:
        """Return bytes that are equal for equal sums of all nodes; none for a listing without counts. The row
        of likes is not among them: the votes say the same."""
        rows = _of_nodes(self.rows(ref))
        if len(rows) == 1:
            return _NUMBER.pack(0) + rows[0][_NUMBER.size :]
        return _encoded(0, _sum(map(_decoded, rows))) if rows else b""


class VoteCounts(VoteCountsView):
    def count(self, ref: str, number: int, day: int, of_day: int, of_month: int) -> None:
        """Take the counts of a node, by its number, with a vote of that day."""
        stored = self._rows.get(ref, ())
        counted: Stored | None
        if isinstance(stored, bytes):
            counted = _with_newest(stored, number, day, of_day, of_month)
        else:
            counted = _one_with_newest(stored, number, day, of_day, of_month)
        if counted is not None:
            self._rows[ref] = counted
        else:
            self._take(ref, number, [(DAYS, day, of_day), (MONTHS, month_of_day(day), of_month)])

    def take_away(self, ref: str, number: int, days: Iterable[tuple[int, int, int]], of_all: int) -> None:
        """Take how many votes of some days, of their months, and of all time a node has removed."""
        counts = [(REMOVED, 0, of_all)]
        for day, of_day, of_month in days:
            counts += [(REMOVED_DAYS, day, of_day), (REMOVED_MONTHS, month_of_day(day), of_month)]
        self._take(ref, number, counts)

    def follow(self, ref: str, before_ms: int | None, after_ms: int | None) -> None:
        """Take that the like of a user is of another time; None stands for no like."""
        if before_ms is not None:
            day = clamped_day(before_ms)
            of_day, of_month = self.at(ref, OF_LIKES, day)
            counts = [(DAYS, day, of_day - 1), (MONTHS, month_of_day(day), of_month - 1)]
            self._take(ref, OF_LIKES, counts, is_exact=True)
        if after_ms is not None:
            day = clamped_day(after_ms)
            of_day, of_month = self.at(ref, OF_LIKES, day)
            self.count(ref, OF_LIKES, day, of_day + 1, of_month + 1)

    def recount_likes(self, ref: str) -> None:
        """Count all likes of a listing, after many of them have come at once."""
        days = Counter(clamped_day(last_ms) for _, _, last_ms in self._votes.votes(ref))
        months = Counter[int]()
        for day, count in days.items():
            months[month_of_day(day)] += count
        known = next((_decoded(row) for row in self.rows(ref) if row not in _of_nodes([row])), None)
        gone = [(at, key, 0) for at in (DAYS, MONTHS) for key in (known[at] if known is not None else ())]
        counted = [(DAYS, *each) for each in days.items()] + [(MONTHS, *each) for each in months.items()]
        self._take(ref, OF_LIKES, [*gone, *counted], is_exact=True)

    def merge(self, ref: str, number: int, told: NodeCounts) -> None:
        """Take all counts of a node, by its number here."""
        lists = (told.days, told.months, told.removed_days, told.removed_months, ((0, told.removed),))
        self._take(ref, number, [(at, key, count) for at, each in enumerate(lists) for key, count in each])

    def move(self, ref: str, other: int, own: int, moved: Iterable[tuple[int, int, int, int]]) -> None:
        """Move counts of one node to another: `moved` has (DAYS or MONTHS, key, what stays, what the other
        has then)."""
        moved = list(moved)
        if not self.rows(ref):
            return
        self._take(ref, other, [(at, key, kept) for at, key, kept, _ in moved], is_exact=True)
        self._take(ref, own, [(at, key, count) for at, key, _, count in moved])

    def remove(self, ref: str) -> None:
        self._rows.pop(ref, None)

    def load(self, rows: Iterable[tuple[str, Sequence[bytes]]]) -> None:
        """Take what `rows` returned, by ref."""
        self._rows.update((ref, each[0] if len(each) == 1 else tuple(each)) for ref, each in rows)

    def _take(
        self, ref: str, number: int, counts: Iterable[tuple[int, int, int]], *, is_exact: bool = False
    ) -> None:
        nodes = {_NUMBER.unpack_from(row)[0]: _decoded(row) for row in self.rows(ref)}
        series = nodes.setdefault(number, [{} for _ in KEPT])
        for at, key, count in counts:
            key, count = min(max(key, 0), MAX_KEY), min(count, MAX_COUNT)
            if count > 0 and (is_exact or count > series[at].get(key, 0)):
                series[at][key] = count
            elif is_exact and count <= 0:
                series[at].pop(key, None)
        for at, most in enumerate(KEPT):
            keys = {key for each in nodes.values() for key in each[at]}
            for key in sorted(keys)[: max(len(keys) - most, 0)]:
                for each in nodes.values():
                    each[at].pop(key, None)
        rows = tuple(_encoded(node, nodes[node]) for node in sorted(nodes) if any(nodes[node]))
        if rows:
            self._rows[ref] = rows[0] if len(rows) == 1 else rows
        else:
            self._rows.pop(ref, None)


def _in_month(rows: Iterable[bytes], month: int) -> int:
    found = 0
    for row in rows:
        _, _, _, newest, count, removed = _HEAD.unpack_from(row)
        if removed:
            return _left(rows, MONTHS, REMOVED_MONTHS).get(month, 0)
        if month < newest:
            found += _older(row, MONTHS).get(month, 0)
        else:
            found += count if month == newest else 0
    return found


def _left(rows: Iterable[bytes], counted: int, removed: int) -> Mapping[int, int]:
    """Return counts by their keys, in order, without votes that were removed."""
    series = _sum(map(_decoded, rows))
    left = ((key, count - series[removed].get(key, 0)) for key, count in sorted(series[counted].items()))
    return {key: count for key, count in left if count > 0}


def clamped_day(at_ms: int) -> int:
    """Return the day of a wall time, or the first or the last day that can be counted."""
    return min(max(day_of(at_ms), 0), MAX_KEY)


def _of_nodes(rows: Iterable[bytes]) -> list[bytes]:
    """Return the rows of nodes, without that of likes."""
    return [row for row in rows if _NUMBER.unpack_from(row)[0] != OF_LIKES]


def counts_at(label: str, day: int, of_day: int, of_month: int) -> NodeCounts:
    """Return the counts of a node for one day and its month."""
    return NodeCounts(label, ((day, of_day),), ((month_of_day(day), of_month),))


def _with_newest(row: bytes, number: int, day: int, of_day: int, of_month: int) -> bytes | None:
    """Return the row with these counts of its newest day and month; None if they are not of those, or of
    another node. The head alone changes, so this is the quick way of nearly all votes."""
    own, newest, known, month, in_month, removed = _HEAD.unpack_from(row)
    if own != number or newest != day or not known or not in_month or month != month_of_day(day):
        return None
    if of_day <= known and of_month <= in_month:
        return row
    of_day, of_month = min(max(of_day, known), MAX_COUNT), min(max(of_month, in_month), MAX_COUNT)
    return _HEAD.pack(own, newest, of_day, month, of_month, removed) + row[_HEAD.size :]


def _one_with_newest(
    rows: tuple[bytes, ...], number: int, day: int, of_day: int, of_month: int
) -> tuple[bytes, ...] | None:
    for at, row in enumerate(rows):
        counted = _with_newest(row, number, day, of_day, of_month)
        if counted is not None:
            return *rows[:at], counted, *rows[at + 1 :]
    return None


def _told(label: str, series: Series) -> NodeCounts:
    days, months, removed_days, removed_months = (tuple(sorted(each.items())) for each in series[:_LISTS])
    return NodeCounts(label, days, months, removed_days, removed_months, series[REMOVED].get(0, 0))


def _sum(nodes: Iterable[Series]) -> Series:
    summed: Series = [{} for _ in KEPT]
    for series in nodes:
        for into, each in zip(summed, series, strict=True):
            for key, count in each.items():
                into[key] = min(into.get(key, 0) + count, MAX_COUNT)
    return summed


def _encoded(number: int, series: Series) -> bytes:
    body = BitWriter()
    (day, of_day), (month, of_month) = (max(series[at].items(), default=(0, 0)) for at in (DAYS, MONTHS))
    for at, before in enumerate((day, month, MAX_KEY + 1, MAX_KEY + 1)):
        _put_list(body, {key: count for key, count in series[at].items() if key < before}, before)
    head = _HEAD.pack(number, day, of_day, month, of_month, series[REMOVED].get(0, 0))
    return head + body.content()


def _put_list(body: BitWriter, counts: Mapping[int, int], before: int) -> None:
    """Put counts, all of whose keys are below `before`."""
    keys = sorted(counts, reverse=True)
    body.put(len(keys), _LENGTH_BITS)
    body.put_rare([last - key - 1 for last, key in pairwise((before, *keys))])
    body.put_column([counts[key] for key in keys])


def _decoded(row: bytes) -> Series:
    _, day, of_day, month, of_month, removed = _HEAD.unpack_from(row)
    series: Series = [{} for _ in KEPT]
    body = BitReader(row[_HEAD.size :])
    for at, (newest, count) in enumerate(
        ((day, of_day), (month, of_month), (MAX_KEY + 1, 0), (MAX_KEY + 1, 0))
    ):
        if count:
            series[at][newest] = count
        series[at].update(_list_in(body, newest))
    if removed:
        series[REMOVED][0] = removed
    return series


def _older(row: bytes, at: int) -> Mapping[int, int]:
    """Return the older days or the older months of a row. Decode nothing else of the row."""
    _, day, _, month, _, _ = _HEAD.unpack_from(row)
    return _read_older(row[_HEAD.size :], at, month if at == MONTHS else day)


@lru_cache(16)  # a drain of the orders of lists asks before and after a vote, which changes the head alone
def _read_older(body: bytes, at: int, newest: int) -> Mapping[int, int]:
    reader = BitReader(body)
    if at == MONTHS:
        length = reader.take(_LENGTH_BITS)
        reader.skip_rare(length)
        reader.skip_column(length)
    return dict(_list_in(reader, newest))


def _list_in(body: BitReader, before: int) -> Iterator[tuple[int, int]]:
    """Yield what `_put_list` put."""
    length = body.take(_LENGTH_BITS)
    for gap, count in zip(body.take_rare(length), body.take_column(length), strict=True):
        before -= gap + 1
        yield before, count
