"""The tools of pages, in groups by subject. A page finds everything here, and keeps nothing itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actions.tools import Tools
from chatplatform.listing_icons import ListingIcons
from chatplatform.platform_client import ChatPlatform
from core.rows import Delivery, Listing, Webhook
from handlers.request import Request
from listings.owners import CodeOf
from listings.review import PresetReason
from pages.account.sign_in_guards import SignInGuards
from pages.platform_facts import Applications, ServerChecking, ServerLists
from pages.visitors import People, Person, VisitorLimit
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import VoteGuards
from pages.voting.voted_refs import VotedRefs
from search.catalogue import Catalogue
from search.index import SearchIndex
from search.list_keeper import ListKeeper
from web.cookies import PeopleCookies
from web.markdown import Markdown
from web.sign_in_cookie import SignInSeal


@dataclass(frozen=True)
class Addresses:
    """Where things are: this gateway, the sign-in of the chat platform, and its pictures."""

    public_url: str
    authorize_url: str
    cdn_url: str


@dataclass(frozen=True)
class Voting:
    """The guards of the vote button, and what people have voted for.

    Args:
        asks_proof: true to ask for a proof of work before a suspicious vote; it is flagged in any case.
        content_policy: the policy of a page with a challenge.
    """

    guards: VoteGuards
    voted: VotedRefs
    challenges: VoteChallenges
    asks_proof: bool
    content_policy: str


@dataclass(frozen=True)
class Submissions:
    """What the chat platform says of bots and servers that people submit, prove to be theirs, or check again.

    Args:
        server_lists: the servers that each person manages, as the sign-in read them.
        grace_ms: the time for which a server may fail the conditions.
        approves_servers: true if the gateway itself approves a server that meets every condition.
        code_of: returns the code that proves who owns a bot.
    """

    applications: Applications
    server_lists: ServerLists
    checking: ServerChecking
    grace_ms: int
    approves_servers: bool
    code_of: CodeOf


@dataclass(frozen=True)
class Descriptions:
    """How descriptions are drawn, and how often a user may look at a draft."""

    markdown: Markdown
    previews: VisitorLimit


@dataclass(frozen=True)
class Accounts:
    """Who has signed in, what their browsers keep, and how often they may download their data."""

    people: People
    cookies: PeopleCookies
    downloads: VisitorLimit

    def sender(self, request: Request) -> Person | None:
        """Return who sends a request, if the session is still valid."""
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
    seal: SignInSeal
    guards: SignInGuards


@dataclass(frozen=True)
class PublicSite:
    """The lists of public listings, in their orders and by words."""

    catalogue: Catalogue
    keeper: ListKeeper
    index: SearchIndex


@dataclass(frozen=True)
class SiteTools:
    """The tools of pages: one object of a gateway.

    Args:
        actions: the tools of actions.
        curl: returns the request of a delivery as a command, without secrets.
        reasons: the reasons that moderators choose from to deny a listing.
    """

    actions: Tools
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
