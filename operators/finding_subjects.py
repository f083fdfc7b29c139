"""Finding a listing by its id or its name, and a user by the id, for the operator."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from actions.views import Snowflake, Success, View
from core.refusals import Invalid
from core.rows import Review
from core.state import State
from grammars.snowflake import is_snowflake
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from languages.said import Fault
from listings.finding import Hit, ListingSearch

FOUND = 50
MAX_TEXT = 100

KindName = Annotated[Literal["bots", "servers"], Meta(description="The kind of listing.")]


class FindQuery(Struct, frozen=True):
    """The query of a search. A parameter that is None was left out."""

    q: Annotated[
        Annotated[str, Meta(max_length=MAX_TEXT)] | None,
        Meta(description="An id, or a part of a name in any case. Nothing is found without it."),
    ] = None


class ListingHit(View):
    """A listing that was found."""

    kind: KindName
    id: Snowflake
    name: str
    state: Review


class FoundListings(Success):
    """Listings that were found."""

    listings: Annotated[
        tuple[ListingHit, ...],
        Meta(description=f"At most {FOUND}: that of this id, those named so, those whose name holds it."),
    ]
    more: Annotated[bool, Meta(description="True if there are more.")]
    user: Annotated[
        Snowflake | None,
        Meta(
            description="The text, if it is an id: `/debug/users/{id}.json` tells what is known of the user."
        ),
    ]


class DebugFind:
    def __init__(self, state: State) -> None:
        self._state = state

    async def find(self, request: Request) -> Reply:
        return success(await self.view(find_query(request.query).q or ""))

    async def view(self, text: str) -> FoundListings:
        text = text.strip()
        if not text:
            return FoundListings(listings=(), more=False, user=None)
        search = ListingSearch(self._state, text, FOUND)
        await in_slices(search.slices())
        listings = tuple(map(hit_view, search.found))
        return FoundListings(listings=listings, more=search.more, user=text if is_snowflake(text) else None)


def find_query(query: Mapping[str, str]) -> FindQuery:
    """Read the query. Raises Invalid."""
    text = query.get("q")
    if text is not None and len(text) > MAX_TEXT:
        raise Invalid({"q": Fault("query_too_long", {"most": MAX_TEXT})})
    return FindQuery(text)


def hit_view(hit: Hit) -> ListingHit:
    kind, _, listing_id = hit.ref.partition("/")
    return ListingHit(
        kind="bots" if kind == "bots" else "servers",
        id=listing_id,
        name=hit.brief.name,
        state=hit.brief.review,
    )
