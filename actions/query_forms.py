"""Queries of lists, as forms. A query is read by the same reader as a body (`forms/reading.py`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

from msgspec import defstruct

from actions.views import DELIVERY_CURSOR_EXAMPLE, DELIVERY_CURSOR_PATTERN
from core.rows import DeliveryState, Review, WebhookEvent
from forms.fields import Form, Snowflake
from forms.rules import About, Between, Says, matching, one_of
from kinds.kind import Kind
from kinds.registry import KINDS
from languages.said import Fault

PAGE = 50
MAX_PAGE = 500

AFTER = "The `next` of the previous page."
IS_CURSOR = Says(Fault("not_a_cursor"))
_STATE = About("Return only entries in this state.")
PageLimit = Annotated[
    int,
    Between(1, MAX_PAGE),
    Says(Fault("page_out_of_range", {"most": MAX_PAGE})),
    About("The most entries on a page."),
]


class ListingsQuery(Form, frozen=True):
    """The query of a list of listings. A parameter that is None was left out."""

    if TYPE_CHECKING:
        after: str | None
        limit: int
        state: Review | None


def _query_of(kind: Kind) -> type[ListingsQuery]:
    """Return the query of the listings of a kind: its cursor is an id of that kind."""
    made = defstruct(
        "ListingsQuery",
        [
            ("after", Annotated[kind.id.type | None, IS_CURSOR, About(AFTER, kind.id.sample)], None),
            ("limit", PageLimit, PAGE),
            ("state", Annotated[Review | None, one_of(Review), _STATE], None),
        ],
        bases=(ListingsQuery,),
        module=__name__,
        frozen=True,
        kw_only=True,
    )
    return cast(type[ListingsQuery], made)


LISTINGS_QUERIES: Mapping[str, type[ListingsQuery]] = {kind.plural: _query_of(kind) for kind in KINDS}


class UsersQuery(Form, frozen=True):
    """The query of a list of users. A parameter that is None was left out."""

    after: Annotated[Snowflake | None, IS_CURSOR, About(AFTER)] = None
    limit: PageLimit = PAGE


class DeliveriesQuery(Form, frozen=True):
    """The query of a list of deliveries. A parameter that is None was left out."""

    after: Annotated[
        Annotated[str, matching(DELIVERY_CURSOR_PATTERN)] | None,
        IS_CURSOR,
        About(AFTER, DELIVERY_CURSOR_EXAMPLE),
    ] = None
    limit: PageLimit = PAGE
    state: Annotated[DeliveryState | None, one_of(DeliveryState), _STATE] = None
    type: Annotated[
        WebhookEvent | None, one_of(WebhookEvent), About("Return only deliveries of this event.")
    ] = None
