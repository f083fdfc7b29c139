"""The page of a listing with its tabs, its JSON and its badge, for everybody.

A tab is there if it has something to show: the commands of a bot, the votes of the last 30 days.

Invariant: a listing that is not approved, or is hidden, is answered like one that does not exist, except to
its owners and moderators.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from actions.views import Count, KindName, ListingId, Success
from actions.votes import DayVotes
from core.clock import date_of, day_of, month_of
from core.rows import Listing
from forms.rules import Display
from grammars.social_links import platform_on
from handlers.reply import Reply
from kinds.kind import Kind, Profile
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.texts import Text, Words
from listings.invites import check_of
from listings.owners import is_proven
from pages.charts import chart_of
from pages.page import AnyPage, Html, Page, PageCall, Shown
from pages.public.authors import author_of, listings_of
from pages.public.colours import colours_of
from pages.public.lists import (
    CACHED,
    Wanted,
    icon_of,
    is_listed,
    listed_ms,
    path_of,
    pictures_of,
    shown_in_lists,
)
from pages.public.rating_views import ON_THE_LISTING, offers_ratings, rating_facts, ratings_shown
from pages.public.similar import similar_to
from pages.public.structured_data import listing_things
from pages.public.template_tree import tree_of
from pages.public.ways_in import invite_url
from people.permissions import rights
from search.catalogue import IndexKey
from search.list_orders import ListOrder
from web.pages import NO_INDEX, NO_VARY, see_other, tagged
from web.vote_badges import vote_badge

if TYPE_CHECKING:
    from markupsafe import Markup

OF_BADGES = {
    "cache-control": "public, max-age=60",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",  # it is made for pages of other sites
    **NO_VARY,
}
PRIVATE = {"cache-control": "no-store"}
DAYS = 30
"""The number of days with votes on the page."""
SPARK_WIDTH, SPARK_HEIGHT = 100, 28
"""The width and height of the line chart, in its own units."""
Tab = Literal["about", "commands", "votes", "reviews"]


class ShownLink(NamedTuple):
    """A link of a listing. `label` is that of its field, or the name of its platform, or its host."""

    icon: str
    label: Words
    host: str
    url: str


class PublicVotes(Success):
    """The votes of a listing: of all time, of this month (UTC), and of each of the last 30 days."""

    kind: KindName
    id: ListingId
    votes: Count
    votes_this_month: Count
    days: tuple[DayVotes, ...]


async def show(page: PageCall) -> Shown[Mapping[str, Any]] | Reply:
    """Show the listing, if the visitor may see it. Raises Refusal.

    If it has a name of its own, its id leads to the address with the name.
    """
    kind, asked = page.call.listing_kind, page.call.ids[0]
    if kind.slug is not None:
        await page.call.tools.in_slices(page.call.tools.unique.survey())
        page = _with_id(page)
        here = path_of(page, seen_listing(page))
        if here != f"/{kind}/{asked}":
            return see_other(f"{here}.json" if page.is_json else here, NO_VARY)
    row = seen_listing(page)
    value = listing_view(page, row)
    return shown_listing(row, value, lambda: listing_html(page, row, value, "about"))


def show_commands(page: PageCall) -> Shown[None]:
    """Show the commands. Raises Refusal for a listing that names none."""
    row = seen_listing(page)
    if not kind_of(row.ref).pairs(row.profile):
        raise Refusal("no_such_path")
    value = listing_view(page, row)
    return shown_listing(row, None, lambda: listing_html(page, row, value, "commands"))


def show_votes(page: PageCall) -> Shown[PublicVotes]:
    """Show the votes of the last days, if the visitor may see the listing. Raises Refusal."""
    row = seen_listing(page)
    votes = page.call.state.vote_counts
    shown = PublicVotes(
        kind=kind_of(row.ref).plural,
        id=row.id,
        votes=votes.total(row.ref),
        votes_this_month=votes.in_month(row.ref, month_of(page.call.now_ms)),
        days=tuple(DayVotes(day=date_of(day), votes=count) for day, count in _days(page, row)),
    )
    value = listing_view(page, row)
    return shown_listing(row, shown, lambda: listing_html(page, row, value, "votes"))


V = TypeVar("V")


def shown_listing(row: Listing, value: V, html: Callable[[], Awaitable[Html]]) -> Shown[V]:
    headers = {} if is_listed(row) else NO_INDEX
    return Shown(
        value,
        row.profile.name,
        html,
        headers=headers,
        cached={**(CACHED if row.is_public else PRIVATE), **headers},
        missing="no_such_path",
    )


def _with_id(page: PageCall) -> PageCall:
    """Return the call with the id of the listing whose name is in the path. Raises Refusal."""
    kind, asked = page.call.listing_kind, page.call.ids[0]
    holder = page.call.tools.unique.ref_of(kind.plural, (kind.slug or "",), (asked,))
    if page.call.ref in page.call.state.listings or holder is None:
        return page
    its_id = holder.removeprefix(kind.prefix)
    if (kind.slug_of(page.call.state.listings.peek(holder).profile) or "").casefold() != asked.casefold():
        raise Refusal("no_such_listing")
    return replace(page, call=replace(page.call, ids=(its_id,)))


def seen_listing(page: PageCall) -> Listing:
    """Return the listing of the path, if the visitor may see it. Raises Refusal."""
    row = _listing(page)
    if not row.is_public and not _may_see(page, row):
        raise Refusal("no_such_listing")
    return row


def badge(page: PageCall) -> Reply:
    """Return the picture, if everybody may see the listing. Raises Refusal, also for its owners."""
    row = _listing(page)
    if not row.is_public:
        raise Refusal("no_such_listing")
    picture = vote_badge(row.profile.name, page.call.state.vote_counts.total(row.ref), page.site.brand.fill)
    return tagged(page.visit.request, picture, OF_BADGES, "image/svg+xml")


def _listing(page: PageCall) -> Listing:
    """Return the listing of the path; a packed one stays packed. Raises Refusal."""
    ref, listings = page.call.ref, page.call.state.listings
    page.shown.add(ref)
    if ref not in listings:
        raise Refusal("no_such_listing")
    return listings.peek(ref)


def _may_see(page: PageCall, row: Listing) -> bool:
    person = page.visit.visitor
    return person is not None and "see" in rights(person.id, row, is_moderator=person.is_moderator)


def listing_view(page: PageCall, row: Listing) -> Mapping[str, Any]:
    """Return a listing as its JSON: profile, counts, votes, times and addresses."""
    kind, profile, counts, votes = kind_of(row.ref), row.profile, row.counts, page.call.state.vote_counts
    written = {kind.shown[name].public or name: getattr(profile, name) for name in kind.in_order}
    links = {shown.public or name for name, shown in kind.shown.items() if shown.widget == "url"}
    apart = {*links, *(["invite_url"] if kind.has("invites") else [])}
    pushed: dict[str, int | None] = {}
    if kind.stats is not None:
        pushed = {name: getattr(counts, name, None) for name in kind.stats.most}
        pushed["counts_updated_at"] = counts.at_ms if counts is not None else None
    return {
        "success": True,
        "kind": kind.plural,
        "id": row.id,
        **{name: value for name, value in written.items() if name not in apart},
        **pushed,
        "votes": votes.total(row.ref),
        "votes_this_month": votes.in_month(row.ref, month_of(page.call.now_ms)),
        "rank_this_month": _rank(page, row)[0],
        **rating_facts(page, row),
        "listed_at": listed_ms(row),
        "updated_at": row.updated_ms,
        "icon_url": icon_of(page, row),
        "author": author_of(page, row.owner_id),
        **({"invite_url": invite_url(page, row)} if kind.known_as in {"application", "template"} else {}),
        **({"download_count": row.download_count} if kind.has("downloads") else {}),
        **(_template(row) if kind.known_as == "template" else {}),
        **(_joining(page, row) if kind.has("invites") else {}),
        **{name: value for name, value in written.items() if name in links},
        "state": row.state,
    }


def _shown_link(field: Display, url: str) -> ShownLink:
    host = urlsplit(url).hostname or ""
    if field.widget == "url":
        return ShownLink(field.icon, field.label, host, url)
    platform = platform_on(host)
    if platform is None:
        return ShownLink("globe", host, "", url)
    return ShownLink(platform.icon, platform.name, host, url)


def _joining(page: PageCall, row: Listing) -> Mapping[str, Any]:
    """Return the link that joins a server, if its invite is valid, and the number of members."""
    known = check_of(row)
    return {
        "invite_url": invite_url(page, row),
        "approximate_member_count": known.members if known is not None else None,
        "approximate_presence_count": known.online if known is not None else None,
        "counts_updated_at": known.at_ms if known is not None else None,
    }


def _template(row: Listing) -> Mapping[str, Any]:
    """Return the numbers of a template, as the platform said them last."""
    known = row.template
    return {
        "use_count": known.uses if known is not None else None,
        "channel_count": known.channels if known is not None and known.tree is not None else None,
        "role_count": known.roles if known is not None and known.tree is not None else None,
        "counts_updated_at": known.at_ms if known is not None else None,
    }


def _rank(page: PageCall, row: Listing) -> tuple[int | None, int]:
    """Return the place of a listing by its votes of this month, and the number of listings of its kind. None
    for a listing without such votes, or one that is not public."""
    votes = page.call.state.vote_counts.in_month(row.ref, month_of(page.call.now_ms))
    if not votes or not is_listed(row):
        return None, 0
    order = ListOrder(IndexKey(kind_of(row.ref).prefix), "month")
    return page.site.public.keeper.rank(order, votes) or (None, 0)


def _days(page: PageCall, row: Listing) -> Sequence[tuple[int, int]]:
    """Return each of the last days (see `day_of`) with its votes."""
    votes, today = page.call.state.vote_counts.days(row.ref), day_of(page.call.now_ms)
    return [(day, votes.get(day, 0)) for day in range(today - DAYS + 1, today + 1)]


def spark_line(counts: Sequence[int]) -> str:
    """Return the points of a line through counts; empty if all of them are 0."""
    most, step = max(counts), SPARK_WIDTH / (len(counts) - 1)
    if not most:
        return ""
    room = SPARK_HEIGHT - 4  # so that the stroke is not cut at the edges
    points = ((number * step, SPARK_HEIGHT - 2 - room * count / most) for number, count in enumerate(counts))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


async def listing_html(page: PageCall, row: Listing, value: Mapping[str, Any], tab: Tab) -> Html:
    kind, profile, listed = kind_of(row.ref), row.profile, shown_in_lists(row)
    path = path_of(page, row)
    prose, address = kind.prose(profile), f"{page.site.addresses.public_url}{path}"
    days = _days(page, row) if kind.has("tally") else []
    return {
        "listing": value,
        "tab": tab,
        "tree": await tree_of(page, row),
        "similar": await similar_to(page, row) if tab == "about" else (),
        "tabs": _tabs(page, row),
        "pairs": kind.pairs(profile),
        "total": _rank(page, row)[1],
        "spark": spark_line([votes for _, votes in days]) if days else "",
        "chart": chart_of((date_of(day), votes) for day, votes in days) if tab == "votes" else None,
        "tagline": "" if listed.text == prose else listed.text,
        "links": [_shown_link(shown, url) for shown, url in kind.links(profile)],
        "crown": kind.crown(profile),
        "slug": kind.slug_of(profile),
        "lines": kind.lines(profile),
        "own_listings": listings_of(page, row.owner_id) if kind.is_of_user else (),
        "is_proven": is_proven(row),
        "address": address,
        "prose": prose,
        "is_public": row.is_public,
        "is_hidden": row.state == "approved" and row.is_hidden,
        "html": await _drawn(page, row, prose) if kind.is_markdown else None,
        "about": listed.text or _call_to(kind, profile.name),
        "here": f"/{row.ref}",
        "path_of_page": path,
        "things": listing_things(page, row, listed.text) if is_listed(row) else (),
        "categories": [
            (each, kind.categories[each], Wanted(kind, category=each).address()) for each in listed.categories
        ],
        "keywords": [(each, Wanted(kind, keyword=each).address()) for each in listed.keywords],
        "colours": colours_of(row),
        **files_shown(kind, profile),
        "pictures": pictures_of(row),
        "is_liked": _is_liked(page, row),
        "adds_emojis": kind.has("as_emojis") and row.is_public and page.site.platform.has_bot,
        "ratings": ratings_shown(page, row, ON_THE_LISTING) if tab == "about" else None,
        "may_manage": _may_see(page, row),
        "badge": f"[![Votes]({address}/badge.svg)]({address})",
    }


async def _drawn(page: PageCall, row: Listing, prose: str) -> "Markup":
    """Return the HTML of a description. The images of one that is not public are links."""
    descriptions = page.site.descriptions
    if row.is_public:
        return await descriptions.public_html(row.ref, prose)
    return await descriptions.markdown.html(prose)


def files_shown(kind: Kind, profile: Profile) -> Mapping[str, Any]:
    """Return the files of a profile for the page that shows it."""
    return {
        "sound": kind.sound(profile),
        "banner": kind.banner(profile),
        "screenshots": kind.screenshots(profile),
    }


def _call_to(kind: Kind, name: str) -> Text:
    """Return the text beside a link to a listing without a text of its own."""
    if kind.tally == "votes":
        return Text("Vote for {listing}.", listing=name)
    return Text("Look at {listing}.", listing=name)


def _is_liked(page: PageCall, row: Listing) -> bool:
    """Return true if the visitor likes the listing, or has voted for it."""
    visitor = page.visit.visitor
    return visitor is not None and page.call.state.votes.get(row.ref, int(visitor.id)) is not None


def _tabs(page: PageCall, row: Listing) -> Sequence[tuple[Tab, str]]:
    """Return the tabs with content and their addresses; none if there is only one."""
    here, found = f"/{row.ref}", list[tuple[Tab, str]]()
    if kind_of(row.ref).pairs(row.profile):
        found.append(("commands", f"{here}/commands"))
    if offers_ratings(page, row) and row.is_public:
        found.append(("reviews", f"{here}/reviews"))
    kind = kind_of(row.ref)
    if kind.tally is not None and page.call.state.vote_counts.total(row.ref):
        found.append(("votes", f"{here}/{kind.tally}"))
    return [("about", here), *found] if found else []


PUBLIC_LISTING: tuple[AnyPage, ...] = (
    Page(path="/{kind}/{id}/badge.svg", of="votes", visitors="anyone", show=badge, has_json=False, kept=()),
    Page(
        path="/{kind}/{id}/commands",
        of="commands",
        template="public_listing",
        visitors="anyone",
        show=show_commands,
        has_json=False,
        kept=(),
    ),
    Page(
        path="/{kind}/{id}/votes",
        of="votes",
        template="public_listing",
        visitors="anyone",
        show=show_votes,
        kept=(),
    ),
    Page(
        path="/{kind}/{id}/likes",
        of="likes",
        template="public_listing",
        visitors="anyone",
        show=show_votes,
        kept=(),
    ),
    Page(path="/{kind}/{id}", template="public_listing", visitors="anyone", show=show, kept=()),
)
"""The page of a listing comes after every page of a fixed address, such as `/bots/new`."""
