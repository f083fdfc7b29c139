"""The page of an author: the owner of listings, with all that are public.

Invariants: a user without a public listing gets the same answer as one who does not exist. Nobody reads who
co-owns a listing. The name and the picture are those of the last sign-in.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from actions.views import Success, UserId, View
from chatplatform.answers import avatar_url
from core.user_rows import user_ref
from grammars.patterns import is_snowflake
from handlers.reply import Reply
from kinds.kind import Tally
from kinds.registry import BY_PLURAL, KINDS, kind_of
from languages.refusals import Refusal
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Shown
from pages.public.lists import CACHED, PublicCard, cards, path_of
from web.pages import see_other

MOST_LISTED = 200
"""The number of listings on the page, in the order of their votes of this month."""


class Author(View):
    """The owner of a listing, as everybody sees them after their first sign-in."""

    id: UserId
    name: str
    avatar_url: str


class PublicAuthor(Success):
    """An author with all public listings."""

    id: UserId
    name: str
    avatar_url: str
    path: Annotated[
        str | None, Meta(description="The path of the page that the author has made of themselves, if any.")
    ]
    listings: tuple[PublicCard, ...]


def author_of(page: PageCall, user_id: str) -> Author | None:
    """Return the author; None for a user who has never signed in."""
    page.shown.add(user_ref(user_id))
    row = page.call.state.users.get(user_ref(user_id))
    if row is None or row.profile is None:
        return None
    picture = avatar_url(page.site.addresses.cdn_url, user_id, row.profile.avatar)
    return Author(id=user_id, name=row.profile.shown_name, avatar_url=picture)


def own_page(page: PageCall, user_id: str) -> str | None:
    """Return the path of the page that a user has made of themselves, if lists show it."""
    refs = [kind.ref(user_id) for kind in KINDS if kind.is_of_user]
    page.shown.update(refs)
    entries, listings = page.site.public.catalogue.entries, page.call.state.listings
    return next((path_of(page, listings.peek(ref)) for ref in refs if ref in entries), None)


def listings_of(page: PageCall, user_id: str) -> Sequence[PublicCard]:
    """Return the listings of a user that lists show, but for the one of the user's own id. The one with the
    most votes of the month is first."""
    entries, listings = page.site.public.catalogue.entries, page.call.state.listings
    found = [ref for ref in page.call.tools.ownership.refs_of(user_id) if ref in entries]
    page.shown.update(found)
    refs = [ref for ref in found if listings.peek(ref).owner_id == user_id and not kind_of(ref).is_of_user]
    return sorted(cards(page, refs), key=lambda each: (-each.votes_this_month, each.name))[:MOST_LISTED]


def show(page: PageCall) -> Shown[PublicAuthor] | Reply:
    """Show an author, or the page that they have made of themselves. Raises Refusal for a user without public
    listings."""
    user_id = page.call.ids[0]
    author = author_of(page, user_id) if is_snowflake(user_id) else None
    own = own_page(page, user_id)
    if own is not None and not page.is_json:
        return see_other(own, CACHED)
    found = listings_of(page, user_id)
    if author is None or not (found or own):
        raise Refusal("no_such_user")
    value = PublicAuthor(
        id=author.id, name=author.name, avatar_url=author.avatar_url, path=own, listings=tuple(found)
    )
    html: Mapping[str, Any] = {
        "about": Text("The listings of {name}.", name=author.name),
        "counts": _counts(found),
    }
    return Shown(value, author.name, html, cached=CACHED)


def _counts(found: Sequence[PublicCard]) -> Mapping[Tally, int]:
    """Return the votes and the likes of listings; without those that none of them can have."""
    counts = Counter[Tally]()
    for each in found:
        tally = BY_PLURAL[each.kind].tally
        if tally is not None:
            counts[tally] += each.votes
    return counts


AUTHOR: AnyPage = Page(path="/users/{id}", template="public_author", visitors="anyone", show=show, kept=())
