"""The first page, and the list of each kind, for everybody. Invariant: a page shows its JSON.

    /                  the first listings of each kind: popular this month, and new
    /bots, /servers    a list by category or keyword, in one of several orders; or a search, best match first

The orders are those of search/list_orders.py. A search finds at most `FOUND` listings, and has no further
pages.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Meta

from actions.query_forms import PageLimit
from actions.views import Count, KindName, ListingId, Moment, Success, View
from core.clock import month_of
from core.rows import Listing
from forms.fields import Form
from forms.reading import read_query
from grammars.tags import tag_of
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Shown
from pages.public.structured_data import site_things
from ratelimit.address import address_key
from search.catalogue import IndexKey
from search.list_orders import SORTS, ListOrder, Sort
from web.pages import NO_INDEX, NO_VARY

LISTED = 24
"""The listings of one page."""
ON_FIRST = 8
"""The listings of each part of the first page."""
FOUND = 48
"""The listings that a search shows at most."""
LONGEST = 200
"""The characters of a search that count."""
LOOKED_THROUGH = 250
"""The matches in which a search within a category or a keyword looks for its listings."""
ABOUT = Text(
    "Owners list their bots and servers here, users vote for them, and every vote reaches its owner."
)
HOME_TITLE = Text("Bots and servers, voted for by their users")
SORT_NAMES: Mapping[Sort, Text] = {
    "month": Text("Votes this month"),
    "votes": Text("Votes in all"),
    "newest": Text("Newest"),
    "name": Text("Name"),
}
CACHED = {"cache-control": "public, max-age=10", **NO_VARY}
"""The headers of a JSON that is the same for everybody."""


class PublicCard(View):
    """A listing in a list. A server's text is its description."""

    kind: KindName
    id: ListingId
    name: str
    text: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    votes: Annotated[Count, Meta(description="The votes of all time.")]
    votes_this_month: Annotated[Count, Meta(description="The votes since the first of the month, UTC.")]
    listed_at: Moment
    icon_url: str | None


class PublicList(Success):
    """A part of a list. `total` counts the listings of the whole list; null for a search."""

    kind: KindName
    category: str | None
    keyword: str | None
    sort: str
    q: str | None
    total: Count | None
    listings: tuple[PublicCard, ...]
    next: str | None


class LimitQuery(Form, frozen=True):
    """The parameter of a list's JSON: the number of listings."""

    limit: PageLimit | None = None


class Wanted(NamedTuple):
    """The query of a list. `q` is a search; `chosen` is an order other than the first of the kind."""

    kind: Kind
    category: str = ""
    keyword: str = ""
    chosen: Sort | None = None
    q: str = ""
    after: str | None = None

    @property
    def sort(self) -> Sort:
        return self.chosen or sorts_of(self.kind)[0]

    @property
    def key(self) -> IndexKey:
        return IndexKey(self.kind.prefix, category=self.category, keyword=tag_of(self.keyword))

    def address(self, **changed: str | None) -> str:
        """Return the path of this list, with other values in place of some. `after` is never kept."""
        own = {"q": self.q, "category": self.category, "keyword": self.keyword, "sort": self.sort, **changed}
        usual = ("sort", sorts_of(self.kind)[0])
        query = {name: value for name, value in own.items() if value and (name, value) != usual}
        return f"/{self.kind}?{urlencode(query)}" if query else f"/{self.kind}"


def sorts_of(kind: Kind) -> tuple[Sort, ...]:
    """Return the orders of the lists of a kind. A list has the first one, unless another is asked for."""
    return SORTS if kind.has("votes") else ("newest", "name")


class InLists(NamedTuple):
    """The part of a profile that a list shows."""

    text: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]


def shown_in_lists(row: Listing) -> InLists:
    kind, profile = kind_of(row.ref), row.profile
    return InLists(kind.summary(profile), kind.values(profile, "category"), kind.values(profile, "keyword"))


def listed_ms(row: Listing) -> int:
    """Return the time since which everybody sees the listing."""
    return row.created_ms if row.decided_ms is None else row.decided_ms


def _home_orders(kind: Kind) -> Iterator[tuple[str, Text, ListOrder]]:
    """Yield the parts of the first page: the field of its JSON, the heading and the order."""
    if kind.has("votes"):
        yield f"popular_{kind}", kind.nouns.popular, ListOrder(IndexKey(kind.prefix), "month")
    yield f"new_{kind}", kind.nouns.newest, ListOrder(IndexKey(kind.prefix), "newest")


HOME_ORDERS = tuple(order for kind in KINDS for _, _, order in _home_orders(kind))
"""The orders of the first page. They are made at a start."""


async def show_home(page: PageCall) -> Shown[Mapping[str, Any]]:
    """Show the first page. Its JSON has a field for each kind and order, such as `popular_bots`."""
    value: dict[str, Any] = {"success": True}
    for kind in KINDS:
        for name, _, order in _home_orders(kind):
            found, _ = await page.site.public.keeper.page(order, None, ON_FIRST)
            value[name] = cards(page, found.rows)

    async def html() -> Mapping[str, Any]:
        parts = [
            (heading, value[name], Wanted(kind).address(sort=order.sort))
            for kind in KINDS
            for name, heading, order in _home_orders(kind)
        ]
        return {
            "about": ABOUT,
            "parts": parts,
            "is_complete": page.site.public.catalogue.is_complete,
            "things": site_things(page),
        }

    return Shown(value, HOME_TITLE, html, cached=CACHED)


async def show(page: PageCall) -> Shown[PublicList]:
    """Show a list. A program may ask for a limit."""
    wanted = _wanted(page)
    limit = read_query(LimitQuery, page.visit.request.query).limit if page.is_json else None
    shown = await _list(page, wanted, limit)
    first = Wanted(wanted.kind, wanted.category, wanted.keyword)

    async def html() -> Mapping[str, Any]:
        sorts = [
            (wanted.address(sort=each, q=None), SORT_NAMES[each], each) for each in sorts_of(wanted.kind)
        ]
        site = page.site.public
        return {
            "wanted": wanted,
            "categories": _categories(page, wanted),
            "sorts": sorts,
            "next": wanted.address(after=shown.next) if shown.next is not None else None,
            "others": [Wanted(kind, q=wanted.q) for kind in KINDS if kind is not wanted.kind],
            "canonical": first.address(),
            "about": ABOUT,
            "is_complete": site.catalogue.is_complete and (not wanted.q or site.index.is_complete),
        }

    # A list in another order, its further pages and a search are the same listings once more.
    return Shown(shown, _title(wanted), html, headers={} if wanted == first else NO_INDEX, cached=CACHED)


def _wanted(page: PageCall) -> Wanted:
    """Read the query of a list. Raises Invalid."""
    kind, query = page.call.listing_kind, page.visit.request.query
    category, sort, sorts = query.get("category", ""), query.get("sort", ""), sorts_of(kind)
    if category and category not in kind.categories:
        raise Invalid({"category": Fault("not_one_of", {"choices": ", ".join(kind.categories)})})
    if sort and sort not in sorts:
        raise Invalid({"sort": Fault("not_one_of", {"choices": ", ".join(sorts)})})
    chosen = next((each for each in sorts[1:] if each == sort), None)
    keyword = query.get("keyword", "") if kind.finds_by("keyword") and not category else ""
    return Wanted(
        kind, category, keyword, chosen, query.get("q", "")[:LONGEST].strip(), query.get("after") or None
    )


async def _list(page: PageCall, wanted: Wanted, limit: int | None) -> PublicList:
    site = page.site.public
    refs: Sequence[str] = ()
    following: str | None = None
    total: int | None = None
    if wanted.q:
        refs = await _found(page, wanted, min(limit or FOUND, FOUND))
    elif not site.catalogue.refs_of(wanted.key):
        total = 0  # anybody may ask for any keyword: no order is made and kept for it
    else:
        order = ListOrder(wanted.key, wanted.sort)
        (refs, following), total = await site.keeper.page(order, wanted.after, limit or LISTED)
    return PublicList(
        kind=wanted.kind.plural,
        category=wanted.category or None,
        keyword=wanted.keyword or None,
        sort=wanted.sort,
        q=wanted.q or None,
        total=total,
        listings=cards(page, refs),
        next=following,
    )


async def _found(page: PageCall, wanted: Wanted, limit: int) -> list[str]:
    """Return the refs that a search finds, the best first. Raises SearchUnavailable."""
    site, key, asker = page.site.public, wanted.key, address_key(page.visit.request.address)
    most = LOOKED_THROUGH if key.category or key.keyword else limit
    found = await site.index.find(wanted.q, wanted.kind.plural, most, asker)
    entries = site.catalogue.entries  # as they are now, if the search is behind
    return [ref for ref in found if ref in entries and key in entries[ref].keys][:limit]


def _categories(page: PageCall, wanted: Wanted) -> list[tuple[str, Text, int, bool]]:
    """Return each category: address, name, number of listings, and true for the present one."""
    found = []
    for name, words in wanted.kind.categories.items():
        count = _total(page, ListOrder(IndexKey(wanted.kind.prefix, category=name), wanted.sort))
        is_here = name == wanted.category
        if count or is_here:
            address = wanted.address(category=None if is_here else name, keyword=None)
            found.append((address, words, count, is_here))
    return found


def _total(page: PageCall, order: ListOrder) -> int:
    """Return the total that the first page of a list would show."""
    known = page.site.public.keeper.total(order)
    return known if known is not None else len(page.site.public.catalogue.refs_of(order.key))


def _title(wanted: Wanted) -> Text:
    about = wanted.kind.categories[wanted.category] if wanted.category else wanted.keyword
    kind = wanted.kind.nouns.many
    return Text("{kind}: {about}", kind=kind, about=about) if about else kind


def cards(page: PageCall, refs: Iterable[str]) -> tuple[PublicCard, ...]:
    """Return the listings that are there; packed ones stay packed."""
    listings, month = page.call.state.listings, month_of(page.call.now_ms)
    return tuple(_card(page, listings.peek(ref), month) for ref in refs if ref in listings)


def _card(page: PageCall, row: Listing, month: int) -> PublicCard:
    votes, listed = page.call.state.vote_counts, shown_in_lists(row)
    return PublicCard(
        kind=kind_of(row.ref).plural,
        id=row.id,
        name=row.profile.name,
        text=listed.text,
        categories=listed.categories,
        keywords=listed.keywords,
        votes=votes.total(row.ref),
        votes_this_month=votes.in_month(row.ref, month),
        listed_at=listed_ms(row),
        icon_url=page.site.icons.url(row.ref),
    )


PUBLIC_LISTS: tuple[AnyPage, ...] = (
    Page(path="/", template="home", visitors="anyone", show=show_home),
    Page(path="/{kind}", template="public_list", visitors="anyone", show=show),
)
