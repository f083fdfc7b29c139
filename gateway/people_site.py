"""The pages for people, built of their parts. No logic. It is imported only where there are such pages."""

import asyncio
import gc
import secrets
from functools import partial

from chatplatform.listing_checks import ServerConditions
from chatplatform.listing_icons import ListingIcons
from chatplatform.platform_client import ChatPlatform
from core.clock import MS_PER_DAY
from core.ledger import Ledger
from core.rows import Policy
from gateway.api import Api
from gateway.delivery import USER_AGENT
from gateway.fleet import Fleet
from gateway.readers import PeopleReaders
from gateway.runtime import Runtime
from handlers.route import Endpoints, Resource
from handlers.routes import ROUTES
from handlers.slices import in_slices
from listings.owners import code_maker
from listings.review import PresetReason
from pages.public.lists import HOME_ORDERS
from pages.site_tools import (
    Accounts,
    Addresses,
    Descriptions,
    PublicSite,
    Reviewing,
    SiteTools,
    Submissions,
    Voting,
)
from pages.table import PEOPLE_PAGES, PeoplePages
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import GuardPolicy, VoteGuards
from pages.voting.voted_refs import VotedRefs
from people.reminders import unread_reminders
from replication.facts import KeyedDigests
from search.catalogue import Catalogue
from search.index import SearchIndex
from search.list_keeper import ListKeeper
from search.list_orders import ListOrders
from serving.observers import Observers
from votes.voted import VotedListings
from web.cookies import people_cookies
from web.json_answers import JsonAnswers
from web.markdown import Markdown
from web.notice_cookie import Notices
from web.page_policy import with_trusted_types
from web.people.applications import Applications
from web.people.language_choice import LanguageChoice
from web.people.listing_access import ListingAccess
from web.people.my_data import MyData
from web.people.my_pages import MyPages
from web.people.people_audience import people_audience
from web.people.people_in_state import PeopleInState
from web.people.server_checking import ServerChecking
from web.people.server_lists import ServerLists
from web.people.server_rechecks import ServerRechecks
from web.people.sign_in_pages import SignInPages, SignInPlace
from web.people.sign_in_states import SignInStates
from web.people.sweeping import Sweeping
from web.people.user_limit import UserLimit
from web.sign_in_cookie import SignInSeal
from web.site import Site
from web.templates import Templates
from webhook.messages import curl_command

PREVIEWS = Policy(20, 60)
"""The drafts that a user may look at."""
SIGN_INS = Policy(20, 300)
"""The sign-ins that an address may begin, and those that it may come back from."""


class PeopleSite:
    """The pages of people who sign in through the chat platform."""

    def __init__(
        self,
        runtime: Runtime,
        ledger: Ledger,
        fleet: Fleet,
        api: Api,
        platform: ChatPlatform,
        templates: Templates,
        markdown: Markdown,
    ) -> None:
        settings, clock, rules, digester = runtime.settings, runtime.clock, api.people, api.callers.digester
        web, sessions, state = settings.web, rules.sessions, ledger.state
        self.readers = PeopleReaders(VotedListings(state), Catalogue(state), SearchIndex(state))
        new_value = partial(secrets.token_urlsafe, 32)
        cdn_url = settings.chat_platform.cdn_url
        cooldown_ms = settings.votes.cooldown_ms
        reminders = partial(unread_reminders, state, cooldown_ms)
        people = PeopleInState(ledger, clock, sessions, digester.digest, new_value, cdn_url, reminders)
        self._sweeping = Sweeping(ledger, clock, sessions)
        cookies = people_cookies(round(web.session_seconds), are_secure=not web.insecure_cookies)
        self._accounts = Accounts(people, cookies)
        authorize_url = settings.chat_platform.authorize_url
        acts = UserLimit(Policy(web.acts_per_minute, 60), clock)
        notices = Notices(cookies.notice, digester.secret, clock, secrets.token_bytes)
        audience = people_audience(
            *(cookies, notices, people.known, acts),
            *(web.public_url or "", authorize_url, cdn_url),
        )
        votes = settings.votes
        guarded = GuardPolicy(
            votes.min_account_days,
            Policy(votes.per_minute_of_user, 60),
            Policy(votes.per_minute_of_address, 60),
            votes.accounts_per_address,
            Policy(votes.burst_per_minute, 60),
        )
        self._voting = Voting(
            VoteGuards(guarded, clock),
            VotedRefs(self.readers.voted),
            VoteChallenges(digester.secret, clock),
            votes.challenge,
            with_trusted_types(audience.headers["content-security-policy"], "votegate-worker"),
        )
        self._addresses = Addresses(web.public_url or "", authorize_url, cdn_url)
        self._site = Site(templates, audience, clock)
        place = SignInPlace(
            platform, authorize_url, settings.chat_platform.client_id or "", web.redirect_uri or ""
        )
        seal = SignInSeal(digester.secret)
        lists = ServerLists(clock)
        servers = settings.servers
        conditions = ServerConditions(
            *(servers.min_members, servers.min_age_days, servers.icon, servers.two_factor),
            *(servers.community, servers.nsfw),
        )
        self._submissions = Submissions(
            Applications(platform, clock, cdn_url),
            lists,
            ServerChecking(*(platform, conditions, lists, clock, authorize_url, place.client_id)),
            round(servers.grace_days * MS_PER_DAY),
            servers.approve_eligible,
            code_maker(digester.digest),
        )
        checking, grace_ms = self._submissions.checking, self._submissions.grace_ms
        self._rechecks = ServerRechecks(ledger, clock, checking, grace_ms, fleet.asks)
        self._sign_in = SignInPages(
            *(people, place, cookies, seal, SIGN_INS, clock, secrets.token_bytes),
            *(lists, SignInStates(clock, fleet.claims.first_use if fleet.claims is not None else None)),
        )
        self._mine = MyPages(ledger, clock, people, sessions, api.ownership, cooldown_ms)
        self._cooldown_ms = cooldown_ms
        self._access = ListingAccess(state, clock)
        self._vote_mark = KeyedDigests(digester.secret).vote
        self._descriptions = Descriptions(markdown, UserLimit(PREVIEWS, clock))
        self._ownership = api.ownership
        orders = ListOrders(self.readers.catalogue, state.vote_counts, secrets.randbits(40))
        self.readers.catalogue.watchers.append(orders.moved)
        self._icons = ListingIcons(platform, clock, cdn_url)
        keeper = ListKeeper(orders, clock, in_slices)
        self._public = PublicSite(self.readers.catalogue, keeper, self.readers.index)
        self._ledger = ledger
        self._clock = clock
        self._reviewing = Reviewing(
            platform,
            [PresetReason(each.key, each.title, each.text, each.kind) for each in settings.review.reasons],
        )

    def _tools(self, endpoints: Endpoints) -> SiteTools:
        return SiteTools(
            endpoints.tools,
            self._site.visitor,
            self._access,
            self._addresses,
            self._ownership,
            self._icons,
            self._voting,
            partial(curl_command, user_agent=USER_AGENT),
            self._submissions,
            self._reviewing,
            self._descriptions,
            self._accounts,
            self._public,
        )

    def resources(self, endpoints: Endpoints) -> list[Resource]:
        """Return every path of the pages. What they do, the endpoints do."""
        answers = JsonAnswers((ROUTES, endpoints))
        site = self._tools(endpoints)
        ledger, clock, lists = self._ledger, self._clock, site.submissions.server_lists
        state, cookies = ledger.state, site.accounts.cookies
        pages = PeoplePages(
            site=site,
            sign_in=self._sign_in,
            language=LanguageChoice(cookies.language),
            mine=self._mine,
            data=MyData(
                *(state, clock, self._vote_mark, self._ownership, answers),
                *(cookies.session, lists, self._cooldown_ms),
            ),
        )
        return self._site.resources(PEOPLE_PAGES, pages)

    async def run(self, stop: asyncio.Event, observers: Observers) -> None:
        """Survey the catalogue and the owners of listings. Then end expired sessions and check servers again
        until `stop` is set. Loops beside it make orders of lists, answer searches and ask for icons."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(observers.run("list_orders", self._public.keeper.run))
            tasks.create_task(observers.run("listing_icons", self._icons.run))
            tasks.create_task(observers.run("search_index", self.readers.index.run))
            await in_slices(self.readers.catalogue.survey())
            tasks.create_task(self._prepare(observers))
            await in_slices(self._ownership.survey())
            tasks.create_task(self._rechecks.run(stop))
            await self._sweeping.run(stop)

    async def _prepare(self, observers: Observers) -> None:
        """Make the orders of the first page. Nothing else waits for them."""
        await observers.once("list_orders", partial(self._public.keeper.prepare, HOME_ORDERS))
        if gc.get_freeze_count():  # the state is spared collections, and so is what was learned from it
            gc.freeze()
