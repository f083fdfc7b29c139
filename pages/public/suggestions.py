"""Suggestions while a visitor types a search: names of listings and of categories, as JSON.

    /bots/suggestions.json?q=mus

Only a script asks for them. The search works without them.
"""

from actions.views import KindName, Success, View
from core.clock import month_of
from core.failures import SearchUnavailable
from handlers.reply import Reply, encode_json
from pages.page import Page, PageCall
from pages.public.lists import CACHED, Wanted, path_of, typed
from ratelimit.address import address_key
from search.catalogue import folded
from web.pages import tagged

SUGGESTED = 8
SHORTEST = 2
"""The number of characters from which suggestions are made."""


class Suggestion(View):
    """A text to search for, and the page that it leads to."""

    text: str
    path: str


class Suggestions(Success):
    """The names that begin with the typed text: categories, then listings, the most votes first."""

    kind: KindName
    q: str
    suggestions: tuple[Suggestion, ...]


async def show(page: PageCall) -> Reply:
    """Show the suggestions. There are none if the search cannot answer."""
    kind, q = page.call.listing_kind, typed(page.visit.request.query, "q")
    found = list[Suggestion]()
    if len(q) >= SHORTEST:
        found += _categories(page, q)
        found += await _listings(page, q)
    shown = Suggestions(kind=kind.plural, q=q, suggestions=tuple(found[:SUGGESTED]))
    return tagged(page.visit.request, encode_json(shown), CACHED)


def _categories(page: PageCall, q: str) -> list[Suggestion]:
    kind, begin = page.call.listing_kind, folded(q)
    return [
        Suggestion(text=name, path=Wanted(kind, category=name).address())
        for name in kind.categories
        if folded(name).startswith(begin)
    ]


async def _listings(page: PageCall, q: str) -> list[Suggestion]:
    kind, site = page.call.listing_kind, page.site.public
    asker, listings = address_key(page.visit.request.address), page.call.state.listings
    try:
        refs = await site.index.names(q, kind.plural, SUGGESTED, month_of(page.call.now_ms), asker)
    except SearchUnavailable:
        return []
    page.shown.update(refs)
    rows = [listings.peek(ref) for ref in refs if ref in site.catalogue.entries]
    return [Suggestion(text=row.profile.name, path=path_of(page, row)) for row in rows]


SUGGESTIONS = Page[None](
    path="/{kind}/suggestions.json", visitors="anyone", show=show, has_json=False, kept=("q",)
)
