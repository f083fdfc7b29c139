"""The first page, for everybody.

Its JSON has, for each kind, the listings with the most votes of the month, the trending ones, and the new
ones. The page shows all of that for the kinds that the header names, and the first part for each other kind.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from core.clock import month_of
from handlers.reply import Reply
from kinds.kind import Kind
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Shown
from pages.public.lists import ABOUT, CACHED, PublicCard, Wanted, cards
from pages.public.rankings import month_name
from pages.public.structured_data import site_things
from search.catalogue import IndexKey
from search.list_orders import ListOrder, Sort
from web.pages import NO_INDEX, see_other

TITLE = Text("Made by chat communities, chosen by their users")
SHOWN: Mapping[Sort, int] = {"month": 9, "trending": 4, "newest": 8}
"""The listings of each part of the page."""
NAMES: Mapping[Sort, str] = {"month": "popular", "trending": "trending", "newest": "new"}
"""The beginnings of the fields of the JSON."""
TOP_CATEGORIES = 8
IN_HEADER = 2
"""The kinds that the header of each page names. The others are in its menu."""


class HomePart(NamedTuple):
    """A part of the page: the first listings of a kind in an order, and the list of all."""

    kind: Kind
    sort: Sort
    listings: Sequence[PublicCard]
    address: str


def home_orders(kinds: Sequence[Kind]) -> Iterator[tuple[Kind, ListOrder]]:
    """Yield the orders of the first page with their kinds."""
    for kind in kinds:
        sorts: tuple[Sort, ...] = ("month", "trending", "newest") if kind.has("tally") else ("newest",)
        yield from ((kind, ListOrder(IndexKey(kind.prefix), sort)) for sort in sorts)


async def show_home(page: PageCall) -> Shown[Mapping[str, Any]]:
    """Show the first page. Its JSON has a field for each kind and order, such as `popular_bots`."""
    parts = []
    for kind, order in home_orders(page.call.tools.kinds):
        found, _ = await page.site.public.keeper.page(order, None, SHOWN[order.sort])
        parts.append(HomePart(kind, order.sort, cards(page, found.rows), _address(page, kind, order.sort)))
    value = {"success": True, **{f"{NAMES[part.sort]}_{part.kind}": part.listings for part in parts}}

    async def html() -> Mapping[str, Any]:
        catalogue, kinds = page.site.public.catalogue, page.call.tools.kinds
        return {
            "about": ABOUT,
            "parts": [part for part in parts if part.listings and _is_shown(part, kinds)],
            "categories": _top_categories(page, kinds[0]),
            "counts": [(kind, len(catalogue.refs_of(IndexKey(kind.prefix)))) for kind in kinds],
            "is_complete": catalogue.is_complete,
            "things": site_things(page),
        }

    return Shown(value, page.site.brand.tagline or TITLE, html, cached=CACHED)


def _is_shown(part: HomePart, kinds: Sequence[Kind]) -> bool:
    first: Sort = "month" if part.kind.has("tally") else "newest"
    return part.kind in kinds[:IN_HEADER] or part.sort == first


def _address(page: PageCall, kind: Kind, sort: Sort) -> str:
    if sort == "month":
        return f"/{kind}/ranking/{month_name(month_of(page.call.now_ms))}"
    return Wanted(kind).address(sort=sort)


def _top_categories(page: PageCall, kind: Kind) -> list[tuple[str, Text, str]]:
    """Return the categories with the most listings: their names, also as texts, and their lists."""
    refs_of = page.site.public.catalogue.refs_of
    sizes = {name: len(refs_of(IndexKey(kind.prefix, category=name))) for name in kind.categories}
    best = sorted((name for name in sizes if sizes[name]), key=lambda name: -sizes[name])[:TOP_CATEGORIES]
    return [(name, kind.categories[name], Wanted(kind, category=name).address()) for name in best]


def show_choice(page: PageCall) -> Shown[None]:
    """Show what a visitor may add. A user who has the only listing that is allowed goes to it."""
    user, listings = page.visit.visitor, page.call.state.listings
    owned = [
        kind
        for kind in page.call.tools.kinds
        if user is not None and kind.is_of_user and kind.ref(user.id) in listings
    ]
    return Shown(None, Text("Add yours"), {"owned": owned})


def to_any(page: PageCall) -> Reply:
    """Redirect to a random listing of the kind, or to the list if there is none."""
    kind = page.call.listing_kind
    refs = page.site.public.catalogue.refs_of(IndexKey(kind.prefix))
    path = f"/{refs[secrets.randbelow(len(refs))]}" if refs else f"/{kind}"
    return see_other(path, {"cache-control": "no-store", **NO_INDEX})


HOME: tuple[AnyPage, ...] = (
    Page(path="/", template="home", visitors="anyone", show=show_home, kept=()),
    Page(path="/add", template="add", visitors="anyone", show=show_choice, has_json=False, kept=()),
    Page(path="/{kind}/random", visitors="anyone", show=to_any, has_json=False),
)
