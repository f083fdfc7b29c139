"""The page of a listing, its JSON and its badge, for everybody. Law: one that is not approved, or is
hidden, is, for all but its owners and moderators, as if it were not there.
"""

from core.refusals import Refusal
from core.rows import Listing
from core.state import State
from handlers.reply import Reply, encode_json
from kinds.kind import Kind
from kinds.registry import kind_of
from languages.texts import Text
from people.permissions import rights
from web.etags import NO_VARY, tagged
from web.markdown import Markdown
from web.pages import Page, Shown
from web.people.listing_forms import CATEGORIES
from web.people.people_audience import PersonVisit
from web.people.public_lists import FOR_PROGRAMS, NO_INDEX, Wanted
from web.people.public_views import PublicViews, shown_in_lists
from web.vote_badges import vote_badge

OF_BADGES = {
    "cache-control": "public, max-age=60",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",  # it is made to stand in pages of others
    **NO_VARY,
}
PRIVATE = {"cache-control": "no-store"}


class PublicListing:
    def __init__(self, state: State, views: PublicViews, markdown: Markdown, public_url: str) -> None:
        self._public_url = public_url
        self._listings = state.listings
        self._views = views
        self._markdown = markdown

    async def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        row = self._row(visit, kind)
        profile, listed, its_kind = row.profile, shown_in_lists(row), kind_of(row.ref)
        address = f"{self._public_url}/{row.ref}"
        values = {
            "shown": self._views.listing(row),
            "kind": kind,
            "tagline": "" if listed.text == its_kind.prose(profile) else listed.text,
            "links": its_kind.links(profile),
            "is_public": row.is_public,
            "is_hidden": row.state == "approved" and row.is_hidden,
            "html": await self._markdown.html(its_kind.prose(profile)) if its_kind.is_markdown else None,
            "about": listed.text or Text("Vote for {listing}.", listing=profile.name),
            "here": f"/{row.ref}",
            "categories": [
                (each, CATEGORIES[each], Wanted.of(kind, category=each).address())
                for each in listed.categories
            ],
            "keywords": [(each, Wanted.of(kind, keyword=each).address()) for each in listed.keywords],
            "may_manage": self._may_see(visit, row),
            "badge": f"[![Votes]({address}/badge.svg)]({address})",
        }
        return Page(
            "people/public_listing.html", profile.name, values, headers={} if row.is_public else NO_INDEX
        )

    def twin(self, visit: PersonVisit, kind: Kind) -> Reply:
        row = self._row(visit, kind)
        body = encode_json(self._views.listing(row))
        return tagged(visit.request, body, FOR_PROGRAMS if row.is_public else PRIVATE)

    def badge(self, visit: PersonVisit, kind: Kind) -> Reply:
        """Return the picture. It is for everybody, so one that is not approved has none for anybody."""
        row = self._listed(visit, kind)
        if not row.is_public:
            raise Refusal("no_such_listing")
        picture = vote_badge(row.profile.name, self._views.votes(row))
        return tagged(visit.request, picture, OF_BADGES, "image/svg+xml")

    def _row(self, visit: PersonVisit, kind: Kind) -> Listing:
        """Return the listing if the visitor may see it. Raises Refusal."""
        row = self._listed(visit, kind)
        if not row.is_public and not self._may_see(visit, row):
            raise Refusal("no_such_listing")
        return row

    def _listed(self, visit: PersonVisit, kind: Kind) -> Listing:
        """Return the listing of the page's first parameter; a packed one stays packed. Raises Refusal."""
        ref = f"{kind}/{visit.request.params[0]}"
        if ref not in self._listings:
            raise Refusal("no_such_listing")
        return self._listings.peek(ref)

    def _may_see(self, visit: PersonVisit, row: Listing) -> bool:
        person = visit.visitor
        return person is not None and "see" in rights(person.id, row, is_moderator=person.is_moderator)
