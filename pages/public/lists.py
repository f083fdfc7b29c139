"""The list of each kind, for everybody. Invariant: a page shows its JSON.

    /bots, /servers    a list by category, keyword and language, in one of several orders; or a search in it,
                       best match first

The orders are those of search/list_orders.py. The pages of a search show at most `FOUND` listings.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Meta

from actions.query_forms import PageLimit
from actions.views import Count, KindName, ListingId, Moment, Success, View
from chatplatform.answers import avatar_url
from core.clock import month_of
from core.rows import Listing
from core.user_rows import user_ref
from forms.fields import Form
from forms.file_fields import FileRef, files_of
from forms.reading import read_query
from grammars.tags import tag_of
from kinds.kind import Kind, Profile
from kinds.registry import kind_of
from kinds.shared_fields import TEXT_LANGUAGES
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Shown
from pages.public.colours import colours_of
from pages.public.ways_in import invite_url, member_count
from ratelimit.address import address_key
from search.catalogue import IndexKey
from search.index import SearchResult
from search.kind_table import COUNTED
from search.list_orders import NO_CURSOR, SORTS, ListOrder, Sort
from votes.ratings import summary_of
from web.pages import NO_INDEX, NO_VARY

LISTED = 24
"""The listings of one page."""
FOUND = 240
"""The listings that the pages of a search show at most."""
LONGEST = 200
"""The characters of a search, or of a tag or keyword in a query, that count."""
ABOUT = Text("Owners list what they make for chat communities, and users show what they like best.")
SORT_NAMES: Mapping[Sort, Text] = {
    "month": Text("This month"),
    "votes": Text("All time"),
    "newest": Text("Newest"),
    "name": Text("Name"),
}
IN_QUERY = ("category", "keyword", "language", "sort", "q", "after")
"""The names in the query of a list."""
_OFFSET = re.compile("[0-9]{1,4}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
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
    language: Annotated[str, Meta(description="The language of the texts; empty if the owner does not say.")]
    votes: Annotated[Count, Meta(description="The votes of all time.")]
    votes_this_month: Annotated[Count, Meta(description="The votes since the first of the month, UTC.")]
    rating: Annotated[float | None, Meta(description="The mean of the reviews by users, if there are any.")]
    server_count: Annotated[Count | None, Meta(description="The servers of a bot, as it said last.")]
    member_count: Annotated[Count | None, Meta(description="The people on a server, approximately.")]
    invite_url: Annotated[
        str | None, Meta(description="Adds a bot to a server, joins a server, or makes one of a template.")
    ]
    listed_at: Moment
    icon_url: str | None
    path: Annotated[str, Meta(description="The path of its page.")]
    sound: Annotated[FileRef | None, Meta(description="The file of a sound.")]
    colours: Annotated[
        tuple[str, ...], Meta(description="The colours of a theme, or of the page of a profile.")
    ]


class PublicList(Success):
    """A part of a list. `total` counts the listings of the whole list; of a search, up to 1,000 matches.
    `read_as` is the text that was searched for, if no listing has a word of `q`."""

    kind: KindName
    category: str | None
    keyword: str | None
    language: str | None
    sort: str
    q: str | None
    read_as: str | None
    total: Count
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
    language: str = ""
    chosen: Sort | None = None
    q: str = ""
    after: str | None = None

    @property
    def sort(self) -> Sort:
        return self.chosen or sorts_of(self.kind)[0]

    @property
    def key(self) -> IndexKey:
        return IndexKey(self.kind.prefix, self.category, tag_of(self.keyword), self.language)

    @property
    def filters(self) -> Mapping[str, str]:
        """The conditions of the list by their names in its query."""
        own = {"category": self.category, "keyword": self.keyword, "language": self.language}
        return {name: value for name, value in own.items() if value}

    def address(self, **changed: str | None) -> str:
        """Return the path of this list, with other values in place of some. `after` is never kept."""
        own = {"q": self.q, **self.filters, "sort": self.sort, **changed}
        usual = ("sort", sorts_of(self.kind)[0])
        query = {name: value for name, value in own.items() if value and (name, value) != usual}
        return f"/{self.kind}?{urlencode(query)}" if query else f"/{self.kind}"


def sorts_of(kind: Kind) -> tuple[Sort, ...]:
    """Return the orders of the lists of a kind. A list has the first one, unless another is asked for."""
    return SORTS if kind.has("tally") else ("newest", "name")


class InLists(NamedTuple):
    """The part of a profile that a list shows."""

    text: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    language: str


def shown_in_lists(row: Listing) -> InLists:
    kind, profile = kind_of(row.ref), row.profile
    return InLists(
        kind.summary(profile),
        kind.values(profile, "category"),
        kind.values(profile, "keyword"),
        next(iter(kind.values(profile, "language")), ""),
    )


def listed_ms(row: Listing) -> int:
    """Return the time since which everybody sees the listing."""
    return row.created_ms if row.decided_ms is None else row.decided_ms


async def show(page: PageCall) -> Shown[PublicList]:
    """Show a list. A program may ask for a limit."""
    wanted = wanted_in(page)
    limit = read_query(LimitQuery, page.visit.request.query).limit if page.is_json else None
    shown = await _list(page, wanted, limit or LISTED)
    first = Wanted(wanted.kind, wanted.category, wanted.keyword)

    async def html() -> Mapping[str, Any]:
        site = page.site.public
        return {
            "wanted": wanted,
            "categories": _categories(page, wanted),
            "languages": _languages(page, wanted),
            "sorts": [
                (wanted.address(sort=each), SORT_NAMES[each], each == wanted.sort)
                for each in sorts_of(wanted.kind)
            ],
            "next": wanted.address(after=shown.next) if shown.next is not None else None,
            "others": [Wanted(kind, q=wanted.q) for kind in page.call.tools.kinds if kind is not wanted.kind],
            "is_more": bool(wanted.q) and shown.total >= COUNTED,
            "own_names": TEXT_LANGUAGES,
            "canonical": first.address(),
            "feed": f"/{wanted.kind}.rss",
            "about": ABOUT,
            "is_complete": site.catalogue.is_complete and (not wanted.q or site.index.is_complete),
        }

    # A list in another order, its further pages and a search are the same listings once more.
    return Shown(shown, _title(wanted), html, headers={} if wanted == first else NO_INDEX, cached=CACHED)


def wanted_in(page: PageCall) -> Wanted:
    """Read the query of a list. Raises Invalid."""
    kind, query = page.call.listing_kind, page.visit.request.query
    sorts = sorts_of(kind)
    category = _one_of(query, "category", kind.categories)
    language = _one_of(query, "language", TEXT_LANGUAGES if kind.finds_by("language") else ())
    sort = _one_of(query, "sort", sorts)
    return Wanted(
        kind,
        category,
        typed(query, "keyword") if kind.finds_by("keyword") else "",
        language,
        next((each for each in sorts[1:] if each == sort), None),
        typed(query, "q"),
        query.get("after") or None,
    )


def typed(query: Mapping[str, str], name: str) -> str:
    """Return a text that somebody searches for, up to the characters that count. Pages repeat it often.

    Control characters become spaces: HTML allows none of them.
    """
    return _CONTROL.sub(" ", query.get(name, "")[:LONGEST]).strip()


def _one_of(query: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Return the value of a query, which is empty or one of the choices. Raises Invalid."""
    value = query.get(name, "")
    if value and value not in choices:
        raise Invalid({name: Fault("not_one_of", {"choices": ", ".join(filter(None, choices))})})
    return value


async def _list(page: PageCall, wanted: Wanted, limit: int) -> PublicList:
    site = page.site.public
    refs: Sequence[str] = ()
    following: str | None = None
    total, read_as = 0, None
    if wanted.q:
        found = await _found(page, wanted)
        first = _offset(wanted.after)
        refs, total, read_as = found.refs[first : first + limit], found.total, found.read_as
        following = str(first + limit) if len(found.refs) > first + limit else None
    elif site.catalogue.may_have(wanted.key):  # anybody may ask for any keyword: it gets no order
        order = ListOrder(wanted.key, wanted.sort)
        (refs, following), total = await site.keeper.page(order, wanted.after, limit)
    return PublicList(
        kind=wanted.kind.plural,
        category=wanted.category or None,
        keyword=wanted.keyword or None,
        language=wanted.language or None,
        sort=wanted.sort,
        q=wanted.q or None,
        read_as=read_as,
        total=total,
        listings=cards(page, refs),
        next=following,
    )


def _offset(after: str | None) -> int:
    """Return the place in the results at which a page of a search begins. Raises Invalid."""
    if after is None:
        return 0
    if not _OFFSET.fullmatch(after):
        raise Invalid(NO_CURSOR)
    return int(after)


async def _found(page: PageCall, wanted: Wanted) -> SearchResult:
    """Return what a search finds, the best first. Raises SearchUnavailable."""
    site, asker = page.site.public, address_key(page.visit.request.address)
    found = await site.index.find(wanted.q, wanted.key, FOUND, month_of(page.call.now_ms), asker)
    entries, parts = site.catalogue.entries, wanted.key.parts  # as they are now, if the search is behind
    refs = [ref for ref in found.refs if ref in entries and entries[ref].is_under(parts)]
    return found._replace(refs=refs, total=max(found.total - len(found.refs) + len(refs), 0))


class Choice(NamedTuple):
    """A filter of a list: its name, its number of listings, and the address of the list with the filter; or
    without it, if it is on."""

    name: Text
    size: int
    address: str
    is_here: bool


def _categories(page: PageCall, wanted: Wanted) -> list[Choice]:
    found = []
    for name, words in wanted.kind.categories.items():
        count = _total(page, ListOrder(IndexKey(wanted.kind.prefix, category=name), wanted.sort))
        is_here = name == wanted.category
        if count or is_here:
            address = wanted.address(category=None if is_here else name)
            found.append(Choice(words, count, address, is_here))
    return sorted(found, key=lambda each: -each.size)


def _languages(page: PageCall, wanted: Wanted) -> list[Choice]:
    found = []
    for tag, words in TEXT_LANGUAGES.items() if wanted.kind.finds_by("language") else ():
        count = len(page.site.public.catalogue.refs_of(IndexKey(wanted.kind.prefix, language=tag)))
        is_here = bool(tag) and tag == wanted.language
        if tag and (count or is_here):
            address = wanted.address(language=None if is_here else tag)
            found.append(Choice(words, count, address, is_here))
    return sorted(found, key=lambda each: -each.size)


def _total(page: PageCall, order: ListOrder) -> int:
    """Return the total that the first page of a list would show."""
    known = page.site.public.keeper.total(order)
    return known if known is not None else len(page.site.public.catalogue.refs_of(order.key))


def _title(wanted: Wanted) -> Text:
    about = wanted.kind.categories[wanted.category] if wanted.category else wanted.keyword
    kind = wanted.kind.nouns.many
    return Text("{kind}: {about}", kind=kind, about=about) if about else kind


def is_listed(row: Listing) -> bool:
    """Return true for a listing that lists and search engines may show."""
    return row.is_public and not kind_of(row.ref).is_unlisted(row.profile)


def icon_of(page: PageCall, row: Listing, profile: Profile | None = None) -> str | None:
    """Return the address of a listing's picture, by default the public one: of its own, of its colours, of
    its user, or the platform's icon."""
    pictures = pictures_of(row, profile)
    if pictures:
        return pictures[0].path
    colours = colours_of(row, profile)
    if colours is not None:
        return colours.picture
    if not kind_of(row.ref).is_of_user:
        return page.site.icons.url(row.ref)
    page.shown.add(user_ref(row.id))
    user = page.call.state.users.get(user_ref(row.id))
    if user is None or user.profile is None:
        return None
    return avatar_url(page.site.addresses.cdn_url, row.id, user.profile.avatar)


def path_of(page: PageCall, row: Listing) -> str:
    """Return the path of the page of a listing: with its own name, if its kind has such names and no other
    listing has this one."""
    kind = kind_of(row.ref)
    slug = kind.slug_of(row.profile)
    is_its = (
        slug is not None
        and page.call.tools.unique.ref_of(kind.plural, (kind.slug or "",), (slug,)) == row.ref
    )
    return f"/{kind}/{slug}" if is_its else f"/{row.ref}"


def pictures_of(row: Listing, profile: Profile | None = None) -> tuple[FileRef, ...]:
    """Return the pictures that a listing stands for, by default the public ones; none for other kinds."""
    field = kind_of(row.ref).pictures
    return files_of(getattr(profile or row.profile, field)) if field is not None else ()


def cards(page: PageCall, refs: Iterable[str]) -> tuple[PublicCard, ...]:
    """Return the listings that are there; packed ones stay packed."""
    listings, month = page.call.state.listings, month_of(page.call.now_ms)
    refs = [*refs]
    page.shown.update(refs)
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
        language=listed.language,
        votes=votes.total(row.ref),
        votes_this_month=votes.in_month(row.ref, month),
        rating=_mean(page, row),
        server_count=row.counts.server_count if row.counts is not None else None,
        member_count=member_count(row),
        invite_url=invite_url(page, row),
        listed_at=listed_ms(row),
        icon_url=icon_of(page, row),
        path=path_of(page, row),
        sound=kind_of(row.ref).sound(row.profile),
        colours=tuple(kind_of(row.ref).crown(row.profile)),
    )


def _mean(page: PageCall, row: Listing) -> float | None:
    """Return the mean of the reviews of a listing; None if there is none, or if they are not offered."""
    if not page.call.tools.offers(kind_of(row.ref), "ratings"):
        return None
    summary = summary_of(page.call.state, row)
    return summary.mean if summary.count else None


PUBLIC_LISTS: tuple[AnyPage, ...] = (
    Page(path="/{kind}", template="public_list", visitors="anyone", show=show, kept=IN_QUERY),
)
