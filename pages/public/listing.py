"""The page of a listing, its JSON and its badge, for everybody.

Invariant: a listing that is not approved, or is hidden, is answered like one that does not exist, except to
its owners and moderators.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from core.clock import month_of
from core.rows import Listing
from handlers.reply import Reply
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.texts import Text
from pages.page import AnyPage, Html, Page, PageCall, Shown
from pages.public.lists import CACHED, Wanted, listed_ms, shown_in_lists
from pages.public.structured_data import listing_things
from people.permissions import rights
from web.pages import NO_INDEX, NO_VARY, tagged
from web.vote_badges import vote_badge

INVITE_SCOPE = "bot applications.commands"
OF_BADGES = {
    "cache-control": "public, max-age=60",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",  # it is made for pages of other sites
    **NO_VARY,
}
PRIVATE = {"cache-control": "no-store"}


def show(page: PageCall) -> Shown[Mapping[str, Any]]:
    """Show the listing, if the visitor may see it. Raises Refusal."""
    row = _listing(page)
    if not row.is_public and not _may_see(page, row):
        raise Refusal("no_such_listing")
    return Shown(
        listing_view(page, row),
        row.profile.name,
        partial(_html, page, row),
        headers={} if row.is_public else NO_INDEX,
        cached=CACHED if row.is_public else PRIVATE,
    )


def badge(page: PageCall) -> Reply:
    """Return the picture, if everybody may see the listing. Raises Refusal, also for its owners."""
    row = _listing(page)
    if not row.is_public:
        raise Refusal("no_such_listing")
    picture = vote_badge(row.profile.name, page.call.state.vote_counts.total(row.ref))
    return tagged(page.visit.request, picture, OF_BADGES, "image/svg+xml")


def _listing(page: PageCall) -> Listing:
    """Return the listing of the path; a packed one stays packed. Raises Refusal."""
    ref, listings = page.call.ref, page.call.state.listings
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
    pushed: dict[str, int | None] = {}
    if kind.stats is not None:
        pushed = {name: getattr(counts, name, None) for name in kind.stats.most}
        pushed["counts_updated_at"] = counts.at_ms if counts is not None else None
    return {
        "success": True,
        "kind": kind.plural,
        "id": row.id,
        **{name: value for name, value in written.items() if name not in links},
        **pushed,
        "votes": votes.total(row.ref),
        "votes_this_month": votes.in_month(row.ref, month_of(page.call.now_ms)),
        "listed_at": listed_ms(row),
        "updated_at": row.updated_ms,
        "icon_url": page.site.icons.url(row.ref),
        **({"invite_url": _invite_url(page, row.id)} if kind.known_as == "application" else {}),
        **{name: value for name, value in written.items() if name in links},
        "state": row.state,
    }


def _invite_url(page: PageCall, bot_id: str) -> str:
    """Return the chat platform's page that adds the bot to a server."""
    query = urlencode({"client_id": bot_id, "scope": INVITE_SCOPE})
    return f"{page.site.addresses.authorize_url}?{query}"


async def _html(page: PageCall, row: Listing) -> Html:
    kind, profile, listed = kind_of(row.ref), row.profile, shown_in_lists(row)
    prose, address = kind.prose(profile), f"{page.site.addresses.public_url}/{row.ref}"
    return {
        "tagline": "" if listed.text == prose else listed.text,
        "links": kind.links(profile),
        "prose": prose,
        "is_public": row.is_public,
        "is_hidden": row.state == "approved" and row.is_hidden,
        "html": await page.site.descriptions.markdown.html(prose) if kind.is_markdown else None,
        "about": listed.text or Text("Vote for {listing}.", listing=profile.name),
        "here": f"/{row.ref}",
        "things": listing_things(page, row, listed.text) if row.is_public else (),
        "categories": [
            (kind.categories[each], Wanted(kind, category=each).address()) for each in listed.categories
        ],
        "keywords": [(each, Wanted(kind, keyword=each).address()) for each in listed.keywords],
        "may_manage": _may_see(page, row),
        "badge": f"[![Votes]({address}/badge.svg)]({address})",
    }


PUBLIC_LISTING: tuple[AnyPage, ...] = (
    Page(path="/{kind}/{id}/badge.svg", of="votes", visitors="anyone", show=badge, has_json=False),
    Page(path="/{kind}/{id}", template="public_listing", visitors="anyone", show=show),
)
"""The page of a listing comes after every page of a fixed address, such as `/bots/new`."""
