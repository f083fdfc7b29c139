"""Queries of lists, as types. Invariant: a query that its type does not allow is refused, never corrected.

A field is one of three: the cursor of a page, the number of entries on it, or a choice. Each may be left out.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from actions.views import DeliveryCursor, Snowflake
from core.refusals import Invalid
from core.rows import DeliveryState, Review, WebhookEvent
from languages.said import Fault

PAGE = 50
MAX_PAGE = 500
Q = TypeVar("Q", bound=Struct)

After = Meta(description="The `next` of the page before.")
_STATE = Meta(description="Only those in this state.")
PageLimit = Annotated[int, Meta(ge=1, le=MAX_PAGE, description="How many there are on a page at most.")]


class ListingsQuery(Struct, frozen=True):
    """The query of a list of listings. A parameter that is None was left out."""

    after: Annotated[Snowflake | None, After] = None
    limit: PageLimit = PAGE
    state: Annotated[Review | None, _STATE] = None


class UsersQuery(Struct, frozen=True):
    """The query of a list of users. A parameter that is None was left out."""

    after: Annotated[Snowflake | None, After] = None
    limit: PageLimit = PAGE


class DeliveriesQuery(Struct, frozen=True):
    """The query of a list of deliveries. A parameter that is None was left out."""

    after: Annotated[DeliveryCursor | None, After] = None
    limit: PageLimit = PAGE
    state: Annotated[DeliveryState | None, _STATE] = None
    type: Annotated[WebhookEvent | None, Meta(description="Only those of this event.")] = None


def read_query(form: type[Q], query: Mapping[str, str]) -> Q:
    """Return a query as its type has it. Raises Invalid with the first wrong parameter, choices first."""
    return form(
        **{each.name: _value(each, query[each.name]) for each in _parameters(form) if each.name in query}
    )


def limit_in(query: Mapping[str, str]) -> int:
    """Return how many a query asks for at most. Raises Invalid."""
    limit = query.get("limit", str(PAGE))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3 and 1 <= int(limit) <= MAX_PAGE):
        raise Invalid({"limit": Fault("page_out_of_range", {"most": MAX_PAGE})})
    return int(limit)


class _Parameter(NamedTuple):
    """A parameter of a query: one of `choices`, a text of `pattern`, or else the number on a page."""

    name: str
    choices: tuple[str, ...]
    pattern: str | None


@cache
def _parameters(form: type[Struct]) -> tuple[_Parameter, ...]:
    """Return the parameters of a query, those with choices first."""
    hints = get_type_hints(form, include_extras=True)
    found = [_parameter(name, hint) for name, hint in hints.items()]
    return tuple(sorted(found, key=lambda parameter: not parameter.choices))


def _parameter(name: str, hint: Any) -> _Parameter:
    pattern = None
    while get_args(hint) and get_origin(hint) is not Literal:
        if get_origin(hint) is Annotated:
            notes = [note for note in hint.__metadata__ if isinstance(note, Meta)]
            pattern = next((note.pattern for note in notes if note.pattern), pattern)
        hint = get_args(hint)[0]
    return _Parameter(name, get_args(hint), pattern)


def _value(parameter: _Parameter, text: str) -> Any:
    name, choices, pattern = parameter
    if choices and text not in choices:
        raise Invalid({name: Fault("not_one_of", {"choices": ", ".join(choices)})})
    if pattern is not None and not re.fullmatch(pattern, text, re.ASCII):
        raise Invalid({name: Fault("not_a_cursor")})
    return text if choices or pattern is not None else limit_in({name: text})
