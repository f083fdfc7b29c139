"""Views: the bodies of answers, as types. Invariant: no secret is in a view, whole or in part.

A view is a frozen struct whose JSON is the body, or a part of one. Its fields have the order, the names and
the nulls that clients see, and the OpenAPI document reads its schema off them. Every field is in every
answer, except one that may be UNSET. Times are Unix milliseconds; what never happened is null.

The views of a subject are beside its actions, such as in `actions/keys.py`.

The OpenAPI document shows an example of each view, made of those of its fields. `example(...)` and
`described(...)` note one where the type alone has none.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, dataclass_transform

from msgspec import NODEFAULT, Meta, Struct, StructMeta, defstruct
from msgspec.structs import FieldInfo, fields

from forms.schema import type_schema
from grammars.patterns import MAX_SNOWFLAKE, SNOWFLAKE
from kinds.kind import Kind
from kinds.registry import KINDS


def example(value: object) -> Meta:
    """Return a note on a field: its example in the OpenAPI document."""
    return Meta(examples=[value])


def described(text: str, *examples: object) -> Meta:
    """Return a note on a field: its description in the OpenAPI document, and its example, if it needs one."""
    return Meta(description=text, examples=[*examples] or None)


NULL = example(None)
ID_PATTERN = r"^[0-9a-f]{24}$"

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
Moment = Annotated[int, Meta(ge=0, description="Unix time in milliseconds.", examples=[1_750_000_000_000])]
Day = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-01-31"])]
"""A day of UTC."""
Month = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}$", examples=["2026-01"])]
"""A month of UTC."""
Snowflake = Annotated[
    str,
    Meta(
        title="Snowflake",  # a schema with a title is a component of the document
        pattern=SNOWFLAKE,
        description=f"A number of 17 to 20 digits, up to {MAX_SNOWFLAKE}.",
        examples=["123456789012345678"],
    ),
]
if TYPE_CHECKING:
    ListingId = str
else:
    ListingId = (
        Snowflake
        if all(kind.has_snowflakes for kind in KINDS)
        else Annotated[str, Meta(examples=[KINDS[0].id.sample])]
    )
"""The id of a listing of any kind."""
UserId = Annotated[Snowflake, example("323456789012345678")]
ListingName = Annotated[str, example("Example bot")]
OurId = Annotated[str, Meta(pattern=ID_PATTERN, examples=["0f4c81b2a95d3e6f7a8b9c0d"])]
"""The id of a key or a delivery."""
if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[tuple(kind.plural for kind in KINDS)]
"""A kind of listing, by its name in paths."""
DELIVERY_CURSOR_PATTERN = r"^[0-9]{1,15}-[0-9a-f]{24}$"
DELIVERY_CURSOR_EXAMPLE = "1750000000000-5ac0de95b1f04c7c8e2d3a41"
DeliveryCursor = Annotated[str, Meta(pattern=DELIVERY_CURSOR_PATTERN), example(DELIVERY_CURSOR_EXAMPLE)]
"""The place of a delivery in the list of those of a listing."""
ActorName = Annotated[
    str,
    described(
        "`operator`; `gateway` for an action of the gateway itself; `users/` and an id; or "
        "`erased` for a user who was erased later.",
        "users/223456789012345678",
    ),
]
NEXT = "Send it as `after` to get the next page; null on the last page."
NoMore = Annotated[None, described("Always null: the list is complete.")]

Hint = Annotated[
    str,
    described(
        "The reason why the bot's first push of `server_count` would be answered 500, and the fix. "
        "Left out if nothing is missing."
    ),
]

V = TypeVar("V", bound=Struct)


def id_view(kind: Kind) -> Any:
    """Return the type of the ids of a kind, as views have it."""
    if kind.has_snowflakes:
        return Snowflake
    schema = type_schema(kind.id.type)
    return Annotated[str, Meta(extra_json_schema=schema, examples=[kind.id.sample])]


class _ViewType(StructMeta):
    """Make views frozen, and their fields known by name: a default may stand before a field without one."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        config = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, **config}
        return super().__new__(cls, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class View(Struct, frozen=True, metaclass=_ViewType):
    """The base of all views."""


class Success(View):
    """The body of a call that succeeded."""

    success: Annotated[bool, Meta(extra_json_schema={"const": True})] = True


def including(source: type[Struct], after: str | None = "success") -> Callable[[type[V]], type[V]]:
    """Put the fields of `source` into a view, by name and in order, behind its field `after`; None means
    before its own.

    msgspec lets no struct have two bases with fields, and appends the fields of a subclass. Type checkers see
    the view's own fields alone: fill the others in from `asdict`.
    """

    def included(view: type[V]) -> type[V]:
        own = fields(view)
        place = [field.name for field in own].index(after) + 1 if after is not None else 0
        return cast(type[V], _made(view, (*own[:place], *fields(source), *own[place:])))

    return included


def view_of(name: str, about: str, *sources: type[Struct], **own: Any) -> type[Any]:
    """Return a view that has the fields of others, in order, and then its own by their types."""
    named = defstruct(name, own.items(), namespace={"__doc__": about}, module=__name__)
    made: type[Any] = _made(named, [field for each in (*sources, named) for field in fields(each)])
    return made


def _made(view: type[Struct], every: Sequence[FieldInfo]) -> Any:
    """Return a view with the name and the docstring of another type, and these fields."""
    body = {
        **{name: getattr(view, name) for name in ("__doc__", "__module__", "__qualname__")},
        **{field.name: field.default for field in every if field.default is not NODEFAULT},
        "__annotations__": {field.name: field.type for field in every},
    }
    return _ViewType(view.__name__, (View,), body)
