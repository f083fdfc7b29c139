"""The packed form of a row: its bytes as a snapshot holds them, and as the tables keep them.

A start takes rows as they are. Making objects of all of them would take longer than the rest of the start,
and most are asked for much later, or never. Invariant: code unpacks every row that code of the same shape has
packed. `SHAPE` names the shape, and a snapshot says it before its rows.

A packed row is an array of the values of its fields, in their order, without their names: names were 40% of
the bytes. JSON and events have the names. The types of arrays are made of the types of rows (`_array_of`),
and msgspec converts between the two in C, in about 2 us. So a field is added at the end of its type, with a
default: then a start still reads the rows of older snapshots.
"""

import hashlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, convert
from msgspec.structs import FieldInfo, fields

from core.rows import (
    CoOwner,
    Eligibility,
    HandOver,
    Listing,
    MapRow,
    PendingChange,
    Review,
    Reviewed,
    Takeover,
    asked_users,
    joined_users,
)
from core.user_rows import UserRow
from kinds.kind import Kind, Profile
from kinds.registry import KINDS, kind_of

_ARRAYS: dict[str, type[Struct]] = {}
"""The types of arrays by the names of the rows that they are made of."""


@cache
def _array_of(kind: Any) -> Any:
    """Return a type with arrays in the place of all rows in it."""
    if isinstance(kind, type) and issubclass(kind, MapRow | Profile):
        hints = get_type_hints(kind)
        tag = kind.__struct_config__.tag if issubclass(kind, Profile) else None
        array = msgspec.defstruct(
            kind.__name__,
            [_field(each, _array_of(hints[each.name])) for each in fields(kind)],
            namespace={"kind": tag} if tag else {},
            frozen=True,
            gc=False,
            array_like=True,
            tag_field="kind" if tag else None,
            tag=tag,
        )
        _ARRAYS[kind.__name__] = array
        return array
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Union or origin is UnionType:
        return Union[tuple(map(_array_of, inner))]  # noqa: UP007 (the number of types is not known here)
    if origin is tuple:
        return tuple.__class_getitem__(tuple(each if each is Ellipsis else _array_of(each) for each in inner))
    return kind


def _field(each: FieldInfo, kind: Any) -> Any:
    return (each.name, kind) if each.default is NODEFAULT else (each.name, kind, each.default)


_Listing, _User = _array_of(Listing), _array_of(UserRow)
FIELDS: dict[str, tuple[str, ...]] = {name: each.__struct_fields__ for name, each in _ARRAYS.items()}
"""The fields of each row, in the order in which they are packed."""
_encode = msgspec.msgpack.Encoder().encode
_decode_listing, _decode_user = (
    msgspec.msgpack.Decoder(_Listing).decode,
    msgspec.msgpack.Decoder(_User).decode,
)


def pack(row: Listing) -> bytes:
    return _encode(convert(row, _Listing, from_attributes=True))


def unpack(content: bytes) -> Listing:
    """Return a packed listing. Raises msgspec.MsgspecError."""
    return convert(_decode_listing(content), Listing, from_attributes=True)


def pack_user(row: UserRow) -> bytes:
    return _encode(convert(row, _User, from_attributes=True))


def unpack_user(content: bytes) -> UserRow:
    """Return a packed user. Raises msgspec.MsgspecError."""
    return convert(_decode_user(content), UserRow, from_attributes=True)


def shape_of(*rows: type[Struct]) -> str:
    """Return a fingerprint of the types and fields of rows and of the rows inside them, without
    docstrings."""
    schemas, definitions = msgspec.json.schema_components(rows)
    for definition in definitions.values():
        definition.pop("description", None)  # the docstring: a field named so stands under "properties"
    encoded = msgspec.json.encode((schemas, definitions, FIELDS), order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


SHAPE = shape_of(Listing, UserRow)


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
    """A listing that nobody has asked for yet, or a user."""

    ref: str
    content: bytes

    @property
    def keys(self) -> int:
        """The number of the API keys of a listing."""
        return len(_keys(self.content).keys)

    @property
    def name(self) -> str:
        """The name of a listing."""
        name: str = _named(self.content).profile.name
        return name

    @property
    def brief(self) -> Brief:
        """The brief of a listing."""
        return brief_of(_brief(self.content), kind_of(self.ref))


_LISTED_BY = {
    name
    for kind in KINDS
    for name, shown in kind.shown.items()
    if shown.finds in {"category", "keyword", "language"} or shown.hides
}
"""The fields of profiles by which lists find listings, or leave them out."""


def _part_of(row: type[Struct], wanted: Mapping[str, Any], **options: Any) -> Any:
    """Return the type of a packed row of which only some fields are read, those with a type in `wanted`."""
    named = fields(row)
    end = max(at for at, each in enumerate(named, 1) if each.name in wanted)
    read = [(each.name, wanted.get(each.name, msgspec.Raw)) for each in named[:end]]
    return msgspec.defstruct(f"_Part{row.__name__}", read, array_like=True, frozen=True, gc=False, **options)


def _profile_part(kind: Kind, listed_by: AbstractSet[str]) -> Any:
    hints = get_type_hints(kind.profile)
    wanted = {name: hint for name, hint in hints.items() if name == "name" or name in listed_by}
    of_other_kinds = dict.fromkeys(listed_by - hints.keys(), ())
    tag = kind.profile.__struct_config__.tag
    return _part_of(kind.profile, wanted, tag_field="kind", tag=tag, namespace=of_other_kinds)


def _profiles(listed_by: AbstractSet[str]) -> Any:
    return Union[tuple(_profile_part(kind, listed_by) for kind in KINDS)]  # noqa: UP007 (as above)


_BriefReview = _part_of(Reviewed, {"state": Review, "decided_ms": int | None})
_BriefRow = _part_of(
    Listing,
    {
        "owner_id": str,
        "profile": _profiles(_LISTED_BY),
        "created_ms": int,
        "review": _BriefReview | None,
        "eligibility": _part_of(Eligibility, {"hidden_ms": int | None}) | None,
        "taken": Takeover | None,
        "co_owners": tuple[CoOwner, ...],
        "hand_over": HandOver | None,
        "change": _part_of(PendingChange, {"since_ms": int}) | None,
    },
)
"""The part of a packed listing that a search looks at, with the names of `Listing`."""


def brief_of(row: Any, kind: Kind) -> Brief:
    """Return the brief of a listing, or of the part of one that was read."""
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


_keys = msgspec.msgpack.Decoder(_part_of(Listing, {"keys": list[msgspec.Raw]})).decode
_brief = msgspec.msgpack.Decoder(_BriefRow).decode
_named = msgspec.msgpack.Decoder(_part_of(Listing, {"profile": _profiles(frozenset())})).decode
