"""The packed form of a listing: its bytes as a snapshot holds them.

A start takes rows as they are. Making objects of all of them would take longer than the rest of the start,
and most are asked for much later, or never. Invariant: code unpacks every row that code of the same shape has
packed. `SHAPE` names the shape, and a snapshot holds it beside its rows.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from core.rows import CoOwner, Delivery, HandOver, Listing, Review, asked_users, joined_users
from core.user_rows import UserRow
from forms.file_fields import FileRef
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Listing).decode


def shape_of(row: type[msgspec.Struct]) -> str:
    """Return a fingerprint of the types and fields of a row and of the rows inside it, without docstrings."""
    schema = msgspec.json.schema(row)
    for definition in schema["$defs"].values():
        definition.pop("description", None)  # the docstring: a field named so stands under "properties"
    return hashlib.blake2b(msgspec.json.encode(schema, order="deterministic"), digest_size=16).hexdigest()


SHAPE = shape_of(Listing)


class Brief(NamedTuple):
    """The part of a listing that a search looks at. `owners` begins with its owner; `asked` are the users who
    are asked to become owners. `lost_by` is an actor, or empty: see `Takeover`. A
    change has waited since `changed_ms`; None if there is none."""

    name: str
    owners: tuple[str, ...]
    state: Review
    decided_ms: int | None
    created_ms: int
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    languages: tuple[str, ...] = ()
    is_hidden: bool = False
    lost_by: str = ""
    asked: tuple[str, ...] = ()
    changed_ms: int | None = None
    is_unlisted: bool = False

    @property
    def is_listed(self) -> bool:
        """True for a listing that lists and search engines may show."""
        return self.is_public and not self.is_unlisted

    @property
    def is_public(self) -> bool:
        """True for a listing that everybody may see and vote for."""
        return self.state == "approved" and not self.is_hidden


class PackedRow(NamedTuple):
    """A listing that nobody has asked for yet."""

    ref: str
    content: bytes

    @property
    def keys(self) -> int:
        """The number of its API keys."""
        return len(_keys(self.content).keys)

    @property
    def brief(self) -> Brief:
        return brief_of(_brief(self.content), kind_of(self.ref))


class _Keys(msgspec.Struct):
    keys: list[msgspec.Raw] = []


_LISTED_BY = {
    name
    for kind in KINDS
    for name, shown in kind.shown.items()
    if shown.finds in {"category", "keyword", "language"} or shown.hides
}
"""The fields of profiles by which lists find listings, or leave them out."""
_OF_FILES = {name for kind in KINDS for name in kind.file_rules}
_WRITTEN: Any = str | bool | tuple[str, ...]
_BriefProfile: Any = msgspec.defstruct(
    "_BriefProfile",
    [
        ("name", str),
        *((name, tuple[FileRef, ...] if name in _OF_FILES else _WRITTEN, ()) for name in sorted(_LISTED_BY)),
    ],
)
"""The part of a profile of any kind that a search looks at."""


class _BriefEligibility(msgspec.Struct, frozen=True):
    hidden_ms: int | None = None


class _BriefTakeover(msgspec.Struct, frozen=True, array_like=True):
    stamp: msgspec.Raw = msgspec.Raw()
    at_ms: int = 0
    lost_by: str = ""


class _BriefChange(msgspec.Struct, frozen=True):
    since_ms: int


class _BriefReview(msgspec.Struct, frozen=True):
    state: Review
    decided_ms: int | None = None


class _BriefRow(msgspec.Struct):
    """The part of a row that a search looks at, with the names of `Listing`."""

    owner_id: str
    profile: _BriefProfile
    created_ms: int
    review: _BriefReview | None = None
    eligibility: _BriefEligibility | None = None
    taken: _BriefTakeover | None = None
    co_owners: tuple[CoOwner, ...] = ()
    hand_over: HandOver | None = None
    change: _BriefChange | None = None


def brief_of(row: Listing | _BriefRow, kind: Kind) -> Brief:
    profile, review, eligibility = row.profile, row.review, row.eligibility
    return Brief(
        profile.name,
        (row.owner_id, *joined_users(row.owner_id, row.co_owners)),
        review.state if review is not None else "approved",
        review.decided_ms if review is not None else None,
        row.created_ms,
        kind.values(profile, "category"),
        kind.values(profile, "keyword"),
        tuple(filter(None, kind.values(profile, "language"))),
        eligibility is not None and eligibility.hidden_ms is not None,
        row.taken.lost_by if row.taken is not None else "",
        asked_users(row.owner_id, row.co_owners, row.hand_over),
        row.change.since_ms if row.change is not None else None,
        kind.is_unlisted(profile),
    )


_keys = msgspec.msgpack.Decoder(_Keys).decode
_brief = msgspec.msgpack.Decoder(_BriefRow).decode


SLICE = 64  # listings or users
SLICE_DELIVERIES = 2_048  # a single listing may have more


class Rows(NamedTuple):
    """The row of a listing with its deliveries and its votes by day and month (`core/vote_counts.py`), or the
    row of a user. The row is None for a ref that is gone."""

    row: Listing | PackedRow | UserRow | None
    deliveries: Sequence[Delivery] = ()
    counts: Sequence[bytes] = ()


class RowCopy:
    """A copy of rows that change meanwhile. Invariant: it is of one moment, however long it takes.

    It is copy on write: the copy goes through the listings in the order of their refs, a few at a time, and
    then through the users. One that changes before its turn is set aside first, as it is; one that is added
    after the copy began is left out.
    """

    def __init__(self, refs: Sequence[Sequence[str]], rows_of: Callable[[str], Rows]) -> None:
        """`refs` has the sorted refs of each table. Those of one table come behind those of the table before.
        They stay sorted while rows change."""
        self._refs = refs
        self._rows_of = rows_of
        self._after = ""
        """The last ref that is copied."""
        self._before: dict[str, Rows] = {}
        """Rows set aside, by ref."""

    def changing(self, ref: str) -> None:
        """Set the rows of the ref aside. Comes before every change of one of them."""
        if ref > self._after and ref not in self._before:
            self._before[ref] = self._rows_of(ref)

    def slices(self) -> Iterator[list[Rows]]:
        while refs := self._next_refs():
            taken: list[Rows] = []
            size = 0
            for ref in refs:
                taken.append(self._take(ref))
                self._after = ref
                size += len(taken[-1].deliveries)
                if size >= SLICE_DELIVERIES:
                    break
            yield [rows for rows in taken if rows.row is not None]
        removed = [rows for rows in self._before.values() if rows.row is not None]
        for start in range(0, len(removed), SLICE):
            yield removed[start : start + SLICE]

    def _next_refs(self) -> Sequence[str]:
        for refs in self._refs:
            start = bisect_right(refs, self._after)
            if start < len(refs):
                return refs[start : start + SLICE]
        return ()

    def _take(self, ref: str) -> Rows:
        return self._before.pop(ref) if ref in self._before else self._rows_of(ref)
