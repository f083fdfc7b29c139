"""The pages for people, built of their parts. No logic. It is imported only where there are such pages."""

import asyncio
import gc
import secrets
from dataclasses import dataclass
from functools import partial

from chatplatform.listing_checks import ServerConditions
from chatplatform.listing_icons import ListingIcons
from chatplatform.platform_client import ChatPlatform
from core.clock import MS_PER_DAY, Clock
from core.ledger import Ledger
from core.rows import Policy
from core.state import State
from gateway.api import Api
from gateway.delivery import USER_AGENT
from gateway.fleet import Fleet
from gateway.store import Runtime
from handlers.route import Resource
from handlers.slices import in_slices
from listings.owners import CodeOf, code_maker
from listings.review import PresetReason
from pages.account.my_data import DOWNLOADS
from pages.account.sign_in_guards import SignInGuards
from pages.public.lists import HOME_ORDERS
from pages.site_tools import (
    Accounts,
    Addresses,
    Descriptions,
    PublicSite,
    Reviewing,
    SigningIn,
    SiteTools,
    Submissions,
    Voting,
)
from pages.table import PEOPLE_PAGES
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import GuardPolicy, VoteGuards
from pages.voting.voted_refs import VotedRefs
from search.catalogue import Catalogue
from search.index import SearchIndex
from search.list_keeper import ListKeeper
from search.list_orders import ListOrders
from serving.observers import Observers
from settings.model import VotesSettings
from votes.voted import VotedListings
from web.cookies import people_cookies
from web.markdown import Markdown
from web.notice_cookie import Notices
from web.page_policy import with_trusted_types
from web.people.applications import Applications
from web.people.listing_access import ListingAccess
from web.people.people_audience import people_audience
from web.people.rounds import in_rounds
from web.people.server_checking import ServerChecking
from web.people.server_lists import ServerLists
from web.people.server_rechecks import ServerRechecks
from web.people.sweeping import EVERY_SECONDS, sweep
from web.people.user_limit import UserLimit
from web.people.visitors import People, Person
from web.sign_in_cookie import SignInSeal
from web.site import Site
from web.templates import Templates
from webhook.messages import curl_command

PREVIEWS = Policy(20, 60)
"""The drafts that a user may look at."""
SIGN_INS = Policy(20, 300)
"""The sign-ins that an address may begin, and those that it may come back from."""


@dataclass(frozen=True)
class PeopleReaders:
    """The readers of the log that a gateway has with pages for people."""

    voted: VotedListings
    catalogue: Catalogue
    index: SearchIndex


@dataclass(frozen=True)
class PeopleSite:
    """The pages of people who sign in through the chat platform."""

    site: Site[Person]
    tools: SiteTools
    readers: PeopleReaders
    rechecks: ServerRechecks

    def resources(self) -> list[Resource]:
        """Return every path of the pages."""
        return self.site.resources(PEOPLE_PAGES, self.tools)

    async def run(self, stop: asyncio.Event, observers: Observers) -> None:
        """Survey the catalogue and the owners of listings. Then end expired sessions and check servers again
        until `stop` is set. Loops beside it make orders of lists, answer searches and ask for icons."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(observers.run("list_orders", self.tools.public.keeper.run))
            tasks.create_task(observers.run("listing_icons", self.tools.icons.run))
            tasks.create_task(observers.run("search_index", self.readers.index.run))
            await in_slices(self.readers.catalogue.survey())
            tasks.create_task(self._prepare(observers))
            await in_slices(self.tools.ownership.survey())
            tasks.create_task(self.rechecks.run(stop))
            await in_rounds(partial(sweep, self.tools.actions), EVERY_SECONDS, stop)

    async def _prepare(self, observers: Observers) -> None:
        """Make the orders of the first page. Nothing else waits for them."""
        await observers.once("list_orders", partial(self.tools.public.keeper.prepare, HOME_ORDERS))
        if gc.get_freeze_count():  # the state is spared collections, and so is what was learned from it
            gc.freeze()


def people_site(
    runtime: Runtime,
    ledger: Ledger,
    fleet: Fleet,
    api: Api,
    platform: ChatPlatform,
    templates: Templates,
    markdown: Markdown,
) -> PeopleSite:
    settings, clock, digester, state = runtime.settings, runtime.clock, api.callers.digester, ledger.state
    web, places = settings.web, settings.chat_platform
    readers = PeopleReaders(VotedListings(state), Catalogue(state), SearchIndex(state))
    people = People(api.managed, places.cdn_url)
    cookies = people_cookies(round(web.session_seconds), are_secure=not web.insecure_cookies)
    addresses = Addresses(web.public_url or "", places.authorize_url, places.cdn_url)
    audience = people_audience(
        cookies,
        Notices(cookies.notice, digester.secret, clock, secrets.token_bytes),
        people.known,
        UserLimit(Policy(web.acts_per_minute, 60), clock),
        *(addresses.public_url, addresses.authorize_url, addresses.cdn_url),
    )
    site = Site(templates, audience, clock)
    submissions = _submissions(runtime, platform, code_maker(digester.digest))
    tools = SiteTools(
        api.managed,
        site.visitor,
        ListingAccess(state, clock),
        addresses,
        api.managed.ownership,
        ListingIcons(platform, clock, places.cdn_url),
        Voting(
            VoteGuards(_guard_policy(settings.votes), clock),
            VotedRefs(readers.voted),
            VoteChallenges(digester.secret, clock),
            settings.votes.challenge,
            with_trusted_types(audience.headers["content-security-policy"], "votegate-worker"),
        ),
        partial(curl_command, user_agent=USER_AGENT),
        submissions,
        Reviewing(
            platform,
            [PresetReason(each.key, each.title, each.text, each.kind) for each in settings.review.reasons],
        ),
        Descriptions(markdown, UserLimit(PREVIEWS, clock)),
        Accounts(people, cookies, UserLimit(DOWNLOADS, clock)),
        _sign_in(runtime, fleet, platform, digester.secret),
        _public(readers, state, clock),
    )
    rechecks = ServerRechecks(ledger, clock, submissions.checking, submissions.grace_ms, fleet.asks)
    return PeopleSite(site, tools, readers, rechecks)


def _sign_in(runtime: Runtime, fleet: Fleet, platform: ChatPlatform, secret: bytes) -> SigningIn:
    first_use = fleet.claims.first_use if fleet.claims is not None else None
    return SigningIn(
        platform,
        runtime.settings.chat_platform.client_id or "",
        runtime.settings.web.redirect_uri or "",
        SignInSeal(secret),
        SignInGuards(SIGN_INS, runtime.clock, first_use),
    )


def _public(readers: PeopleReaders, state: State, clock: Clock) -> PublicSite:
    orders = ListOrders(readers.catalogue, state.vote_counts, secrets.randbits(40))
    readers.catalogue.watchers.append(orders.moved)
    return PublicSite(readers.catalogue, ListKeeper(orders, clock, in_slices), readers.index)


def _guard_policy(votes: VotesSettings) -> GuardPolicy:
    return GuardPolicy(
        votes.min_account_days,
        Policy(votes.per_minute_of_user, 60),
        Policy(votes.per_minute_of_address, 60),
        votes.accounts_per_address,
        Policy(votes.burst_per_minute, 60),
    )


def _submissions(runtime: Runtime, platform: ChatPlatform, code_of: CodeOf) -> Submissions:
    servers, places, clock = runtime.settings.servers, runtime.settings.chat_platform, runtime.clock
    lists = ServerLists(clock)
    conditions = ServerConditions(
        servers.min_members,
        servers.min_age_days,
        servers.icon,
        servers.two_factor,
        servers.community,
        servers.nsfw,
    )
    checking = ServerChecking(
        platform, conditions, lists, clock, places.authorize_url, places.client_id or ""
    )
    return Submissions(
        Applications(platform, clock, places.cdn_url),
        lists,
        checking,
        round(servers.grace_days * MS_PER_DAY),
        servers.approve_eligible,
        code_of,
    )
