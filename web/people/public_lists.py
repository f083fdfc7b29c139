"""The first page, and the lists of bots and servers, for everybody. Invariant: a page shows its JSON.

Lists are those of the catalogue (`listings/list_orders.py`); a search has its own order, the best first.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, get_args
from urllib.parse import urlencode

from actions.query_forms import PageLimit
from core.refusals import Invalid
from forms.fields import Form
from forms.reading import read_query
from handlers.reply import Reply, encode_json
from kinds.bots import BOTS
from kinds.kind import Kind
from kinds.registry import KINDS
from kinds.servers import SERVERS
from languages.said import Fault
from languages.texts import Text
from listings.catalogue import Catalogue, Shelf, folded
from listings.list_orders import SORTS, ListOrder, Sort
from ratelimit.address import address_key
from web.etags import NO_VARY, tagged
from web.pages import Page, Shown
from web.people.list_keeper import ListKeeper
from web.people.listing_forms import CATEGORIES
from web.people.people_audience import PersonVisit
from web.people.public_views import PublicHome, PublicList, PublicViews


class Search(Protocol):
    """The search. While it is not complete, it may miss listings."""

    @property
    def is_complete(self) -> bool: ...

    async def find(self, text: str, kind: str, most: int, asker: str) -> Sequence[str]:
        """Return refs of public listings, the best first. Raises SearchUnavailable, also if the asker has
        asked for too much at once."""


LISTED = 24
"""The listings of one page."""
ON_FIRST = 8
"""The listings of each part of the first page."""
FOUND = 48
"""The most that a search shows."""
LONGEST = 200
"""The characters of a search that count."""
LOOKED_THROUGH = 250
"""The results that are looked through for those of a category or with a keyword."""
HOME_ORDERS = tuple(ListOrder(Shelf(kind.prefix), sort) for kind in KINDS for sort in ("month", "newest"))
"""The orders of the first page. They are made at a start."""
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
FOR_PROGRAMS = {"cache-control": "public, max-age=10", **NO_VARY}
"""For the JSON of what everybody sees alike."""
NO_INDEX = {"x-robots-tag": "noindex"}


class LimitQuery(Form, frozen=True):
    """The parameter of a list for programs that says how many listings they want."""

    limit: PageLimit | None = None


class Wanted(NamedTuple):
    """The query of a list. `q` is a search."""

    kind: Kind
    category: str
    keyword: str
    sort: Sort
    q: str
    after: str | None

    @classmethod
    def of(cls, kind: Kind, *, category: str = "", keyword: str = "") -> "Wanted":
        """Return the first page of a list."""
        return cls(kind, category, keyword, SORTS[0], "", None)

    def address(self, **changed: str | None) -> str:
        """Return the path of this list, with other values in place of some. `after` is never kept."""
        own = {"q": self.q, "category": self.category, "keyword": self.keyword, "sort": self.sort, **changed}
        query = {name: value for name, value in own.items() if value and (name, value) != ("sort", "month")}
        return f"/{self.kind}?{urlencode(query)}" if query else f"/{self.kind}"


class PublicLists:
    """The pages.

    Args:
        search: None where there is none.
    """

    def __init__(
        self, catalogue: Catalogue, keeper: ListKeeper, views: PublicViews, search: Search | None = None
    ) -> None:
        self._catalogue = catalogue
        self._keeper = keeper
        self._views = views
        self._search = search

    async def home(self, _: PersonVisit) -> Shown:
        shown = await self._home()
        values = {"about": ABOUT, "shown": shown, "can_search": self._search is not None, **self._whole()}
        return Page("people/home.html", HOME_TITLE, values)

    async def home_twin(self, visit: PersonVisit) -> Reply:
        return tagged(visit.request, encode_json(await self._home()), FOR_PROGRAMS)

    async def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        wanted = self._wanted(visit, kind)
        shown = await self._list(visit, wanted)
        first = wanted._replace(q="", after=None, sort="month")
        is_first = wanted == first
        values = {
            "wanted": wanted,
            "shown": shown,
            "categories": self._categories(wanted),
            "sorts": [(wanted.address(sort=each, q=None), SORT_NAMES[each], each) for each in SORTS],
            "next": self._next(wanted, shown.next),
            "other": Wanted.of(_next_kind(kind))._replace(q=wanted.q),
            "canonical": first.address(),
            "about": ABOUT,
            "can_search": self._search is not None,
            **self._whole(),
        }
        if wanted.q and self._search is not None and not self._search.is_complete:
            values["is_complete"] = False
        # A list in another order, its further pages and a search are the same listings once more.
        return Page("people/public_list.html", _title(wanted), values, headers={} if is_first else NO_INDEX)

    async def twin(self, visit: PersonVisit, kind: Kind) -> Reply:
        wanted, query = self._wanted(visit, kind), visit.request.query
        shown = await self._list(visit, wanted, read_query(LimitQuery, query).limit)
        return tagged(visit.request, encode_json(shown), FOR_PROGRAMS)

    async def _home(self) -> PublicHome:
        return PublicHome(
            popular_bots=await self._first(BOTS, "month"),
            new_bots=await self._first(BOTS, "newest"),
            popular_servers=await self._first(SERVERS, "month"),
            new_servers=await self._first(SERVERS, "newest"),
        )

    async def _first(self, kind: Kind, sort: Sort) -> Any:
        found = await self._keeper.page(ListOrder(Shelf(kind.prefix), sort), None, ON_FIRST)
        return self._views.cards(found.refs)

    async def _list(self, visit: PersonVisit, wanted: Wanted, most: int | None = None) -> PublicList:
        shelf = Shelf(wanted.kind.prefix, category=wanted.category, keyword=folded(wanted.keyword))
        refs: Sequence[str] = ()
        following: str | None = None
        total: int | None = None
        if wanted.q and self._search is not None:
            asker = address_key(visit.request.address)
            refs = await self._found(self._search, wanted, shelf, min(most or FOUND, FOUND), asker)
        elif not self._catalogue.on_shelf(shelf):
            total = 0  # anybody may ask for any keyword: no order is made and kept for it
        else:
            page = await self._keeper.page(ListOrder(shelf, wanted.sort), wanted.after, most or LISTED)
            refs, following, total = page
        return PublicList(
            kind=wanted.kind.plural,
            category=wanted.category or None,
            keyword=wanted.keyword or None,
            sort=wanted.sort,
            q=wanted.q or None,
            total=total,
            listings=self._views.cards(refs),
            next=following,
        )

    async def _found(self, search: Search, wanted: Wanted, shelf: Shelf, most: int, asker: str) -> list[str]:
        is_part = bool(shelf.category or shelf.keyword)
        found = await search.find(wanted.q, wanted.kind.plural, LOOKED_THROUGH if is_part else most, asker)
        entries = self._catalogue.entries  # as they are now, if the search is behind
        return [ref for ref in found if ref in entries and shelf in entries[ref].shelves][:most]

    def _wanted(self, visit: PersonVisit, kind: Kind) -> Wanted:
        """Read the query of a list. Raises Invalid."""
        query = visit.request.query
        category, sort = query.get("category", ""), query.get("sort", "") or SORTS[0]
        categories = kind.categories
        if category and category not in categories:
            raise Invalid({"category": Fault("not_one_of", {"choices": ", ".join(categories)})})
        if sort not in SORTS:
            raise Invalid({"sort": Fault("not_one_of", {"choices": ", ".join(get_args(Sort))})})
        keyword = query.get("keyword", "") if kind.finds_by("keyword") and not category else ""
        q = query.get("q", "")[:LONGEST].strip() if self._search is not None else ""
        return Wanted(kind, category, keyword, sort, q, query.get("after") or None)

    def _categories(self, wanted: Wanted) -> list[tuple[str, Text, int, bool]]:
        """Return the address, the name, the number of listings and whether it is the present one."""
        prefix, found = wanted.kind.prefix, []
        for name, words in wanted.kind.categories.items():
            count = self._total(ListOrder(Shelf(prefix, category=name), wanted.sort))
            is_here = name == wanted.category
            if count or is_here:
                address = wanted.address(category=None if is_here else name, keyword=None)
                found.append((address, words, count, is_here))
        return found

    def _total(self, order: ListOrder) -> int:
        """Return the total that the first page of a list would show."""
        known = self._keeper.total(order)
        return known if known is not None else len(self._catalogue.on_shelf(order.shelf))

    def _next(self, wanted: Wanted, cursor: str | None) -> str | None:
        return wanted.address(after=cursor) if cursor is not None else None

    def _whole(self) -> Mapping[str, Any]:
        return {"is_complete": self._catalogue.is_complete, "category_name": CATEGORIES.get}


def _next_kind(kind: Kind) -> Kind:
    """Return another kind, whose list a list leads to."""
    return KINDS[(KINDS.index(kind) + 1) % len(KINDS)]


def _title(wanted: Wanted) -> Text:
    if wanted.category:
        words = wanted.kind.categories[wanted.category]
        return Text("{kind}: {about}", kind=wanted.kind.nouns.many, about=words)
    if wanted.keyword:
        return Text("{kind}: {about}", kind=wanted.kind.nouns.many, about=wanted.keyword)
    return wanted.kind.nouns.many
