"""The tools of pages, in groups by subject. A page finds everything here, and keeps nothing itself."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actions.tools import Tools
from blobs.blob_store import Blobs
from chatplatform.listing_icons import ListingIcons
from chatplatform.platform_client import ChatPlatform
from core.rows import Delivery, Listing, Webhook
from handlers.request import Request
from handlers.slices import in_slices
from handlers.visitor_limit import VisitorLimit
from listings.owners import CodeOf
from listings.review import PresetReason
from pages.account.sign_in_guards import SignInGuards, SignInUnderWay
from pages.day_visitors import DayVisitors
from pages.description_images import DescriptionImages
from pages.platform_facts import Applications, ServerChecking, ServerLists
from pages.visitors import Addresses, People, Person
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import VoteGuards
from search.catalogue import Catalogue
from search.index import SearchIndex
from search.list_keeper import ListKeeper
from search.similar import SimilarListings
from votes.voted import VotedListings
from web.brand import Brand
from web.cookies import PeopleCookies, ValueSeal
from web.link_preview import LinkPreviews
from web.made_once import MadeOnce
from web.markdown import Markdown

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class OwnerTexts:
    """The owner's texts in Markdown, for our pages. None for a text that is elsewhere or missing."""

    markdown: Markdown
    terms: str | None = None
    privacy: str | None = None


@dataclass(frozen=True)
class Voting:
    """The guards of the vote button, and the listings that people have voted for.

    Args:
        asks_proof: true to ask for a proof of work before a suspicious vote; it is flagged in any case.
        content_policy: the policy of a page with a challenge.
    """

    guards: VoteGuards
    voted: VotedListings
    challenges: VoteChallenges
    asks_proof: bool
    content_policy: str
    searching: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def refs_voted_for(self, user_id: str) -> set[str]:
        """Return the listings that a user may have voted for, from memory or by a full search.

        Invariant: only one full search runs at a time.
        """
        known = self.voted.known(user_id)
        if known is not None:
            return known
        async with self.searching:
            known = self.voted.known(user_id)  # another request of this user may have searched meanwhile
            if known is not None:
                return known
            with self.voted.search(user_id) as search:
                await in_slices(search.slices())
            return search.refs


@dataclass(frozen=True)
class Submissions:
    """The facts of the chat platform about bots and servers that people submit, prove to own, or check again.

    Args:
        server_lists: the servers that each person manages, from the last sign-in.
        grace_ms: the time for which a server may fail the conditions.
        approves_servers: true if the gateway itself approves a server that meets every condition.
        code_of: returns the code that proves the ownership of a bot.
    """

    applications: Applications
    server_lists: ServerLists
    checking: ServerChecking
    grace_ms: int
    approves_servers: bool
    code_of: CodeOf


@dataclass(frozen=True)
class Descriptions:
    """The drawing of descriptions, the limit of a user's previews, and the images of public descriptions.

    Without `images`, links are in their place.
    """

    markdown: Markdown
    previews: VisitorLimit
    images: DescriptionImages | None = None

    async def public_html(self, listing: str, text: str) -> "Markup":
        """Return the HTML of a public listing's description. `listing` is its ref."""
        if self.images is None:
            return await self.markdown.html(text)
        return await self.images.html(self.markdown, listing, text)


@dataclass(frozen=True)
class Accounts:
    """People and their sessions, the cookies of their browsers, the limits of a person's downloads and
    reports, and the seal of links that turn mails off."""

    people: People
    cookies: PeopleCookies
    downloads: VisitorLimit
    reports: VisitorLimit
    unsubscribing: ValueSeal[str]

    def sender(self, request: Request) -> Person | None:
        """Return the sender of a request, if the session is still valid."""
        return self.people.known(self.cookies.session.value(request.headers))


@dataclass(frozen=True)
class SigningIn:
    """The sign-in at the chat platform.

    Args:
        client_id: the name of this deployment at the platform.
        redirect_uri: the address of the callback, as it is registered at the platform letter by letter.
        seal: keeps a sign-in under way in a cookie.
    """

    client_id: str
    redirect_uri: str
    seal: ValueSeal[SignInUnderWay]
    guards: SignInGuards


@dataclass(frozen=True)
class PublicSite:
    """The lists of public listings, the limit of emojis that a user adds to servers, and the names of those
    that were added, by the user and the form that was sent."""

    catalogue: Catalogue
    keeper: ListKeeper
    index: SearchIndex
    similar: SimilarListings
    emojis: VisitorLimit
    previews: LinkPreviews = field(default_factory=LinkPreviews)
    downloads: DayVisitors = field(default_factory=DayVisitors)
    added_emojis: MadeOnce[tuple[str, str], Sequence[str]] = field(
        default_factory=lambda: MadeOnce(1_000, lambda *_: 1, at_once=50)
    )


@dataclass(frozen=True)
class SiteTools:
    """The tools of pages: one object of a gateway.

    Args:
        actions: the tools of actions.
        curl: returns the request of a delivery as a command, without secrets.
        reasons: the reasons that moderators choose from to deny a listing.
    """

    actions: Tools
    brand: Brand
    texts: OwnerTexts
    addresses: Addresses
    platform: ChatPlatform
    icons: ListingIcons
    voting: Voting
    curl: Callable[[Delivery, Listing, Webhook], str]
    submissions: Submissions
    reasons: Sequence[PresetReason]
    descriptions: Descriptions
    accounts: Accounts
    sign_in: SigningIn
    public: PublicSite
    blobs: Blobs
