"""The packed form of a listing: its bytes as a snapshot holds them.

A start takes rows as they are. Making objects of all of them would take longer than the rest of the start,
and most are asked for much later, or never. Invariant: code unpacks every row that code of the same shape has
packed. `SHAPE` names the shape, and a snapshot holds it beside its rows.
"""

import hashlib
from typing import Any, NamedTuple

import msgspec

from core.rows import CoOwner, HandOver, Listing, Review, asked_users, joined_users
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
    are asked to become owners. A bot has no keywords. `lost_by` is an actor, or empty: see `Takeover`. A
    change has waited since `changed_ms`; None if there is none."""

    name: str
    owners: tuple[str, ...]
    state: Review
    decided_ms: int | None
    created_ms: int
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    is_hidden: bool = False
    lost_by: str = ""
    asked: tuple[str, ...] = ()
    changed_ms: int | None = None

    @property
    def is_public(self) -> bool:
        """True for a listing that everybody may see and vote for."""
        return self.state == "approved" and not self.is_hidden


def brief_of(row: Listing) -> Brief:
    profile, kind = row.profile, kind_of(row.ref)
    return Brief(
        profile.name,
        (row.owner_id, *row.extra_owners),
        row.state,
        row.decided_ms,
        row.created_ms,
        kind.values(profile, "category"),
        kind.values(profile, "keyword"),
        row.is_hidden,
        row.taken.lost_by if row.taken is not None else "",
        row.asked,
        row.change.since_ms if row.change is not None else None,
    )


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
        return _brief(self.content).brief(kind_of(self.ref))


class _Keys(msgspec.Struct):
    keys: list[msgspec.Raw] = []


_LISTED_BY = {
    name for kind in KINDS for name, shown in kind.shown.items() if shown.finds in {"category", "keyword"}
}
"""The fields of profiles by which lists find listings."""
_BriefProfile: Any = msgspec.defstruct(
    "_BriefProfile", [("name", str), *((name, str | tuple[str, ...], ()) for name in sorted(_LISTED_BY))]
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
    state: Review = "approved"
    decided_ms: int | None = None


class _BriefRow(msgspec.Struct):
    owner_id: str
    profile: _BriefProfile
    created_ms: int
    review: _BriefReview = _BriefReview()
    eligibility: _BriefEligibility = _BriefEligibility()
    taken: _BriefTakeover = _BriefTakeover()
    co_owners: tuple[CoOwner, ...] = ()
    hand_over: HandOver | None = None
    change: _BriefChange | None = None

    def brief(self, kind: Kind) -> Brief:
        profile = self.profile
        return Brief(
            profile.name,
            (self.owner_id, *joined_users(self.owner_id, self.co_owners)),
            self.review.state,
            self.review.decided_ms,
            self.created_ms,
            kind.values(profile, "category"),
            kind.values(profile, "keyword"),
            self.eligibility.hidden_ms is not None,
            self.taken.lost_by,
            asked_users(self.owner_id, self.co_owners, self.hand_over),
            self.change.since_ms if self.change is not None else None,
        )


_keys = msgspec.msgpack.Decoder(_Keys).decode
_brief = msgspec.msgpack.Decoder(_BriefRow).decode
