"""The table of listings and its indexes. Invariant: rows, refs and key grants agree after every call.

A row is packed or unpacked. A start loads packed rows (`core/packing.py`), and the first look at a row
unpacks it. Nobody can tell the difference, except by the time that the first look takes. Two rules keep it
so: the grants of a packed row's keys come into being when it is unpacked, and no packed row has a failing or
suspended endpoint, an unfinished message, a flagged vote or an open report, so that all of these are found
among the unpacked rows.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from core.actors import Actor
from core.audit_log import actors_of
from core.packing import Brief, PackedRow, brief_of, pack, unpack
from core.rows import KeyGrant, Listing, OwnerMessage, Report, Review, VoteFlag
from kinds.registry import KINDS, kind_of

Reader = Callable[[Listing], None]
T = TypeVar("T")

SLICE = 64
"""Refs of one slice. A look at that many packed listings takes about 0.1 ms."""
Standing = Review | Literal["changed"]
STANDINGS: Sequence[Standing] = ("in_review", "approved", "denied", "changed")

KindAndStanding = tuple[str, Standing]
"""The standing is the review, or `changed` for an approved listing whose change waits for a decision."""


class ListingsView(Mapping[str, Listing]):
    """The listings by ref, as readers see them."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        self._packed_keys = 0
        self._rows = _Rows(self._unpack)
        self._refs: list[str] = []
        self._unlisted: list[str] = []
        self._keys = KeyIndex()
        self._reviews = ReviewCounts()
        self._untold: dict[str, OwnerMessage] = {}
        self._flagged: dict[str, tuple[VoteFlag, ...]] = {}
        self._reported: dict[str, tuple[Report, ...]] = {}
        self._readers: list[Reader] = []
        self.by_ref: Mapping[str, Listing] = self._rows
        """The same for `[ref]` alone, as quick as a dict. Its length and its refs leave out packed rows."""
        self.refs: Sequence[str] = self._refs
        """Sorted, for paging."""
        self.unlisted: Sequence[str] = self._unlisted
        """Refs that have votes and no row, sorted: votes of other nodes may come before their listing."""
        self.grants: Mapping[str, KeyGrant] = self._keys.grants
        """By the digest of a key's value. A packed row has none yet."""
        self.untold: Mapping[str, OwnerMessage] = self._untold
        """The messages to owners that are not finished, by ref: those of this node and of others."""
        self.flagged: Mapping[str, Sequence[VoteFlag]] = self._flagged
        """The flags of votes, by ref, for the listings that have some."""
        self.reported: Mapping[str, Sequence[Report]] = self._reported
        """The open reports, by ref, for the listings that have some."""

    @property
    def key_count(self) -> int:
        """The number of API keys of all rows, packed ones included."""
        return self._keys.count + self._packed_keys

    @property
    def by_review(self) -> Mapping[KindAndStanding, int] | None:
        """The number of rows by kind and standing; None until a walk over `briefs` is complete."""
        return self._reviews.known

    def briefs(self) -> Iterator[Sequence[tuple[str, Brief]]]:
        """Yield all refs with the briefs of their rows, in slices. Packed rows stay packed.

        Reading briefs takes most of the time of a walk, so the first walk also counts the rows.
        """
        for refs in ref_slices(self._refs):
            found = [(ref, self.brief(ref)) for ref in refs]
            self._reviews.count((ref, _brief_standing(brief)) for ref, brief in found)
            yield found
        self._reviews.counted()

    def count_reviews(self) -> Iterator[None]:
        """Count the rows that were loaded, in slices, unless a walk has done so."""
        if self.by_review is None:
            yield from (None for _ in self.briefs())

    def unpacked(self) -> Iterable[Listing]:
        """Return the rows that are unpacked; all with a failing or suspended endpoint are among them."""
        return self._rows.values()

    def for_each(self, read: Reader) -> None:
        """Call `read(row)` once for each row that is here: now, or when it is unpacked."""
        for row in self._rows.values():
            read(row)
        self._readers.append(read)

    def peek(self, ref: str) -> Listing:
        """Return the row unpacked, for one look: a packed one stays packed. Raises KeyError."""
        content = self._packed.get(ref)
        return self._rows[ref] if content is None else unpack(content)

    def content(self, ref: str) -> bytes:
        """Return the row packed; an unpacked one stays as it is. Raises KeyError."""
        content = self._packed.get(ref)
        return pack(self._rows[ref]) if content is None else content

    def name(self, ref: str) -> str:
        """Return the name of a listing; a packed row stays packed. Raises KeyError."""
        content = self._packed.get(ref)
        return self._rows[ref].profile.name if content is None else PackedRow(ref, content).name

    def brief(self, ref: str) -> Brief:
        """Return the part of a row that a search looks at; a packed row stays packed. Raises KeyError."""
        content = self._packed.get(ref)
        return brief_of(self._rows[ref], kind_of(ref)) if content is None else PackedRow(ref, content).brief

    def naming(self, refs: Iterable[str], actor: Actor) -> list[str]:
        """Return those of some refs whose rows name the actor; packed rows stay packed."""
        name, content_of, rows = actor.encode(), self._packed.get, self._rows
        found = []
        for ref in refs:
            content = content_of(ref)
            if content is not None:
                # A search through all packed rows makes an object of hardly any.
                if name in content and actor in actors_of(unpack(content)):
                    found.append(ref)
            elif ref in rows and actor in actors_of(rows[ref]):
                found.append(ref)
        return found

    def __getitem__(self, ref: str) -> Listing:
        return self._rows[ref]

    def __contains__(self, ref: object) -> bool:
        return ref in self._rows or ref in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter([*self._rows, *self._packed])  # a list, because the caller's next look may unpack

    def __len__(self) -> int:
        return len(self._rows) + len(self._packed)

    def _unpack(self, ref: str) -> Listing:
        row = unpack(self._packed.pop(ref))  # KeyError: there is no such row
        self._packed_keys -= len(row.keys)
        self._add(row)
        for read in self._readers:
            read(row)
        return row

    def _add(self, row: Listing) -> None:
        """Take a row whose ref is known, or gets its place later."""
        self._keys.add(row)
        self._set(row)

    def _set(self, row: Listing) -> None:
        self._rows[row.ref] = row
        is_untold = row.message is not None and row.message.next_attempt_ms is not None
        _note(self._untold, row.ref, row.message if is_untold else None)
        _note(self._flagged, row.ref, row.flags or None)
        _note(self._reported, row.ref, row.open_reports or None)


class ListingTable(ListingsView):
    def stored(self, ref: str) -> Listing | PackedRow | None:
        """Return the row as it is stored; a packed one stays packed."""
        content = self._packed.get(ref)
        return self.get(ref) if content is None else PackedRow(ref, content)

    def put(self, row: Listing) -> None:
        """Take the row, in place of the one of its ref."""
        before = self.get(row.ref)
        if before is None:
            insort(self._refs, row.ref)
            _discard(self._unlisted, row.ref)
            self._keys.add(row)
        elif before.keys is not row.keys or before.state != row.state:
            self._keys.remove(before)
            self._keys.add(row)
        self._set(row)
        self._reviews.changed(row.ref, _row_standing(before), _row_standing(row))

    def remove(self, ref: str) -> None:
        """Forget the row of a ref, and that the ref has votes without a row."""
        row = self.get(ref)
        if row is not None:
            del self._rows[ref]
            self._keys.remove(row)
            self._untold.pop(ref, None)
            self._flagged.pop(ref, None)
            self._reported.pop(ref, None)
            _discard(self._refs, ref)
            self._reviews.changed(ref, _row_standing(row), None)
        _discard(self._unlisted, ref)

    def voted_for(self, ref: str) -> None:
        """Note that the ref has votes."""
        if ref not in self:
            at = bisect_left(self._unlisted, ref)
            if self._unlisted[at : at + 1] != [ref]:
                self._unlisted.insert(at, ref)

    def not_voted_for(self, ref: str) -> None:
        """Note that the ref has no votes any more."""
        _discard(self._unlisted, ref)

    def load(self, row: Listing) -> None:
        """Take a row of a new ref. `loaded` must follow the last one."""
        self._add(row)

    def load_packed(self, refs: Sequence[str], rows: Sequence[bytes], keys: int) -> None:
        """Take packed rows of this version's shape. `keys` is the number of their API keys."""
        self._packed.update(zip(refs, rows, strict=True))
        self._packed_keys += keys

    def unload(self, ref: str) -> None:
        """Forget a row but for its place among the refs, which `loaded` takes away."""
        content = self._packed.pop(ref, None)
        if content is not None:
            self._packed_keys -= PackedRow(ref, content).keys
        elif ref in self._rows:
            self._keys.remove(self._rows.pop(ref))
            for index in (self._untold, self._flagged, self._reported):
                index.pop(ref, None)

    def loaded(self) -> None:
        self._refs[:] = sorted(self)


class _Rows(dict[str, Listing]):
    """The unpacked rows. `[ref]` unpacks a packed one."""

    def __init__(self, unpack_row: Callable[[str], Listing]) -> None:
        super().__init__()
        self._unpack_row = unpack_row

    def __missing__(self, ref: str) -> Listing:
        return self._unpack_row(ref)


def _discard(refs: list[str], ref: str) -> None:
    """Take the ref out of a sorted list, if it is there."""
    at = bisect_left(refs, ref)
    if refs[at : at + 1] == [ref]:
        del refs[at]


def _note(index: dict[str, T], ref: str, value: T | None) -> None:
    """Set the value of a ref; None takes it out of the index."""
    if value is not None:
        index[ref] = value
    elif index:
        index.pop(ref, None)


def _row_standing(row: Listing | None) -> Standing | None:
    return standing_of(row.state, is_changed=row.change is not None) if row is not None else None


def _brief_standing(brief: Brief) -> Standing:
    return standing_of(brief.state, is_changed=brief.changed_ms is not None)


def standing_of(review: Review, *, is_changed: bool) -> Standing:
    return "changed" if review == "approved" and is_changed else review


def ref_slices(refs: Sequence[str], after: str = "", most: int = SLICE) -> Iterator[Sequence[str]]:
    """Yield sorted refs, `most` at once, from the first that comes after another.

    Refs may come and go between two slices, and no other one is missed.
    """
    while found := refs[(start := bisect_right(refs, after)) : start + most]:
        yield found
        after = found[-1]


def survey(refs: Sequence[str], look: Callable[[str], None]) -> Iterator[None]:
    """Look at each of some sorted refs, in slices."""
    for some in ref_slices(refs):
        for ref in some:
            look(ref)
        yield


class KeyIndex:
    """The grants of API keys. Invariant: they come from rows of approved listings, and from nothing else.

    So the keys of a bot are refused while its approval is withdrawn, and accepted again once it is approved.
    """

    def __init__(self) -> None:
        self._grants: dict[str, KeyGrant] = {}
        self.grants: Mapping[str, KeyGrant] = self._grants
        """By the digest of the key's value."""
        self.count = 0
        """The number of keys, whatever the number of their values."""

    def add(self, row: Listing) -> None:
        self.count += len(row.keys)
        for key in row.keys if row.state == "approved" else ():
            self._grants[key.digest] = KeyGrant(row.ref, key.id, None)
            if key.old_digest is not None:
                self._grants[key.old_digest] = KeyGrant(row.ref, key.id, key.old_until_ms)

    def remove(self, row: Listing) -> None:
        self.count -= len(row.keys)
        for key in row.keys:
            self._grants.pop(key.digest, None)
            if key.old_digest is not None:
                self._grants.pop(key.old_digest, None)


class ReviewCounts:
    """Numbers of listings by kind and standing. Once all rows are counted, no walk counts them again.

    Rows that a start has loaded are counted afterwards, by a walk in slices and in the order of their refs: a
    start has no time for them. Meanwhile a change of a row that is counted already changes the numbers, and
    any other row is counted as it is when its turn comes.
    """

    def __init__(self) -> None:
        self._counts: dict[KindAndStanding, int] = {
            (kind.plural, each): 0 for kind in KINDS for each in STANDINGS
        }
        self._counted_to = ""  # refs up to this one are counted
        self._is_complete = False

    @property
    def known(self) -> Mapping[KindAndStanding, int] | None:
        """The numbers; None while rows of the start are still to be counted."""
        return self._counts if self._is_complete else None

    def changed(self, ref: str, before: Standing | None, after: Standing | None) -> None:
        """Take in that a row has come (`before` is None), has changed, or has gone (`after` is None)."""
        if before == after or not (self._is_complete or ref <= self._counted_to):
            return
        if before is not None:
            self._add(ref, before, -1)
        if after is not None:
            self._add(ref, after, 1)

    def count(self, rows: Iterable[tuple[str, Standing]]) -> None:
        """Count the next rows of a walk. Another walk may have counted them."""
        for ref, standing in rows if not self._is_complete else ():
            if ref > self._counted_to:
                self._add(ref, standing, 1)
                self._counted_to = ref

    def counted(self) -> None:
        """Note that a walk is complete."""
        self._is_complete = True

    def _add(self, ref: str, standing: Standing, number: int) -> None:
        place = (ref.partition("/")[0], standing)
        self._counts[place] = self._counts.get(place, 0) + number
