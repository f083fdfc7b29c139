"""The pages for people, built of their parts. No logic. It is imported only where there are such pages."""

import asyncio
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial

from actions.tools import Tools
from chatplatform.listing_checks import ServerConditions
from chatplatform.listing_icons import ListingIcons
from chatplatform.platform_client import ChatPlatform
from core.clock import MS_PER_DAY, Clock
from core.rows import Policy
from core.state import State
from gateway.api import Api
from gateway.branding import PageDrawing
from gateway.delivery import USER_AGENT, Egress
from gateway.fleet import Fleet
from gateway.garbage import freeze_grown, growing, in_growing_slices
from gateway.store import Runtime, Store
from handlers.route import Resource, of_kinds
from handlers.slices import in_slices
from handlers.visitor_limit import VisitorLimit
from journal.segments import JournalReader
from listings.notice_counts import NoticeCounts
from listings.owners import CodeOf, code_maker
from listings.review import PresetReason
from outbound.redirects import whole_body
from pages.account.mails import unsubscribe_seal
from pages.account.my_data import DOWNLOADS
from pages.account.sign_in_guards import SignInGuards, sign_in_seal
from pages.description_images import DescriptionImages, ImageLimits
from pages.platform_facts import Applications, ServerChecking, ServerLists
from pages.public.add_emojis import ADDED
from pages.public.home import home_orders
from pages.public.report import REPORTS
from pages.rounds import SWEEP_EVERY_SECONDS, ServerRechecks, in_rounds, sweep
from pages.site_tools import (
    Accounts,
    Descriptions,
    OwnerTexts,
    PublicSite,
    SigningIn,
    SiteTools,
    Submissions,
    Voting,
)
from pages.table import PEOPLE_PAGES
from pages.visitors import Addresses, People, people_audience
from pages.voting.vote_challenges import VoteChallenges
from pages.voting.vote_guards import GuardPolicy, VoteGuards
from search.catalogue import Catalogue
from search.index import Keeping, SearchIndex
from search.index_file import IndexFile
from search.list_keeper import ListKeeper
from search.list_orders import ListOrders
from search.similar import SimilarListings
from serving.observers import Observers
from settings.model import ReviewSettings, Settings, SiteSettings, VotesSettings
from settings.site_values import MOST_TEXT_BYTES
from votes.voted import VotedListings
from web.cookies import Notices, PeopleCookies, people_cookies
from web.localization import in_every_language
from web.markdown import Markdown
from web.other_sites import with_trusted_types
from web.site import Site
from webhook.messages import curl_command

AWAITED_SECONDS = 10.0
"""The time for which a start puts off what can wait."""
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
    notices: NoticeCounts


class PeopleSite:
    """The pages of people who sign in through the chat platform."""

    def __init__(
        self,
        runtime: Runtime,
        store: Store,
        fleet: Fleet,
        api: Api,
        egress: Egress,
        drawing: PageDrawing,
    ) -> None:
        platform = egress.platform
        if platform is None:
            raise TypeError("people sign in at the chat platform")
        settings, clock, digester = runtime.settings, runtime.clock, api.callers.digester
        web, places, state = settings.web, settings.chat_platform, store.ledger.state
        self.readers = _readers(store, api.managed, clock)
        addresses = _addresses(settings)
        people = People(api.managed, self.readers.notices, places.cdn_url)
        cookies = people_cookies(round(web.session_seconds), are_secure=not web.insecure_cookies)
        audience = people_audience(
            cookies,
            Notices(cookies.notice, digester.secret, clock, secrets.token_bytes),
            people.known,
            VisitorLimit(Policy(web.acts_per_minute, 60), clock),
            *(addresses, drawing.brand, settings.files.upload_bytes),
        )
        offered = {**audience.values, "site_kinds": api.managed.kinds}
        self.is_surveyed = asyncio.Event()  # set once all listings are surveyed, and counted
        self._site = Site(drawing.templates, replace(audience, values=offered), clock)
        orders = _orders(self.readers.catalogue, state)
        self._tools = SiteTools(
            actions=api.managed,
            brand=drawing.brand,
            texts=_owner_texts(settings.site),
            addresses=addresses,
            platform=platform,
            icons=ListingIcons(platform, clock, places.cdn_url),
            voting=Voting(
                VoteGuards(_guard_policy(settings.votes), clock),
                self.readers.voted,
                VoteChallenges(digester.secret, clock),
                settings.votes.challenge,
                with_trusted_types(audience.headers["content-security-policy"], "votegate-worker"),
            ),
            curl=partial(curl_command, user_agent=USER_AGENT),
            submissions=_submissions(runtime, platform, code_maker(digester.digest)),
            reasons=_preset_reasons(settings.review),
            descriptions=Descriptions(
                drawing.markdown, VisitorLimit(PREVIEWS, clock), _images(runtime, api, egress)
            ),
            accounts=_accounts(people, cookies, clock, digester.secret),
            sign_in=_signing_in(runtime, digester.secret, fleet),
            blobs=store.blobs,
            public=_public(self.readers, ListKeeper(orders, clock, in_growing_slices), clock),
        )
        submissions = self._tools.submissions
        self._rechecks = ServerRechecks(
            *(store.ledger, clock, submissions.checking),
            *(api.managed.templates, submissions.grace_ms, fleet.asks),
        )

    def resources(self) -> list[Resource]:
        """Return every path of the pages."""
        tools = self._tools.actions
        return self._site.resources(of_kinds(PEOPLE_PAGES, tools.kinds, tools.without), self._tools)

    async def run(self, stop: asyncio.Event, observers: Observers) -> None:
        """Read or survey the catalogue, and survey the owners. Then end expired sessions and check
        servers again until `stop` is set. Loops beside it make orders of lists, answer searches and ask for
        icons. No visitor waits for the survey of the owners, so it comes last."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(observers.run("list_orders", self._tools.public.keeper.run))
            tasks.create_task(observers.run("listing_icons", self._tools.icons.run))
            tasks.create_task(observers.run("search_index", self.readers.index.run))
            await _at_most(self.readers.index.has_looked.wait())
            with growing():
                await in_slices(self.readers.catalogue.survey())
                freeze_grown()
                await self.readers.index.keep(0)
                await _at_most(tasks.create_task(self._prepare(observers)))
                await _at_most(self.readers.index.is_filled.wait())
                await in_slices(self._tools.actions.ownership.survey())
                self.is_surveyed.set()
                freeze_grown()
            tasks.create_task(self._rechecks.run(stop))
            await in_rounds(partial(sweep, self._tools.actions), SWEEP_EVERY_SECONDS, stop)

    async def _prepare(self, observers: Observers) -> None:
        """Make the orders of the first page. Nothing else waits for them."""
        orders = [order for _, order in home_orders(self._tools.actions.kinds)]
        await observers.once("list_orders", partial(self._tools.public.keeper.prepare, orders))
        freeze_grown()


async def _at_most(work: Awaitable[object]) -> None:
    """Wait for work, but not for long. It goes on afterwards, and nothing depends on it."""
    await asyncio.wait([asyncio.ensure_future(work)], timeout=AWAITED_SECONDS)


def _signing_in(runtime: Runtime, secret: bytes, fleet: Fleet) -> SigningIn:
    settings, first_use = runtime.settings, fleet.claims.first_use if fleet.claims is not None else None
    return SigningIn(
        settings.chat_platform.client_id or "",
        settings.web.redirect_uri or "",
        sign_in_seal(secret, secrets.token_bytes),
        SignInGuards(SIGN_INS, runtime.clock, first_use),
    )


def _images(runtime: Runtime, api: Api, egress: Egress) -> DescriptionImages | None:
    settings, client = runtime.settings.images, egress.images
    if client is None:
        return None
    limits = ImageLimits(
        settings.per_description,
        settings.bytes,
        settings.cache_bytes,
        settings.at_once,
        settings.kept_seconds,
        settings.retry_seconds,
    )
    fetch = partial(whole_body, client, timeout_seconds=settings.timeout_seconds)
    return DescriptionImages(fetch, api.managed.decode, runtime.clock, limits)


def _addresses(settings: Settings) -> Addresses:
    web, places = settings.web, settings.chat_platform
    return Addresses(
        web.public_url or "",
        places.authorize_url,
        places.cdn_url,
        places.invite_url,
        places.template_url,
    )


def _preset_reasons(review: ReviewSettings) -> list[PresetReason]:
    return [PresetReason(each.key, each.title, each.text, each.kind) for each in review.reasons]


def _owner_texts(site: SiteSettings) -> OwnerTexts:
    terms, privacy = (text.markdown if text is not None else None for text in (site.terms, site.privacy))
    return OwnerTexts(Markdown(most_characters=MOST_TEXT_BYTES), terms, privacy)


def _orders(catalogue: Catalogue, state: State) -> ListOrders:
    orders = ListOrders(catalogue, state.vote_counts, secrets.randbits(40))
    catalogue.watchers.append(orders.moved)
    state.before_change.append(orders.changing)
    return orders


def _readers(store: Store, tools: Tools, clock: Clock) -> PeopleReaders:
    ledger, journal, folder = store.ledger, store.journal, store.folder
    state = ledger.state
    counts = NoticeCounts(state, tools.ownership, has_ratings="ratings" not in tools.without)
    catalogue, file = Catalogue(state, tools.kinds), IndexFile(folder, tools.kinds)
    records = JournalReader(folder).records
    keeping = Keeping(file, catalogue, clock, lambda: ledger.head, journal.synced, records)
    index = SearchIndex(state, in_every_language, keeping=keeping)
    store.snapshotter.beside.append(index.keep)
    return PeopleReaders(VotedListings(state), catalogue, index, counts)


def _accounts(people: People, cookies: PeopleCookies, clock: Clock, secret: bytes) -> Accounts:
    unsubscribing = unsubscribe_seal(secret, secrets.token_bytes)
    limits = (VisitorLimit(DOWNLOADS, clock), VisitorLimit(REPORTS, clock))
    return Accounts(people, cookies, *limits, unsubscribing)


def _public(readers: PeopleReaders, keeper: ListKeeper, clock: Clock) -> PublicSite:
    similar = SimilarListings(readers.index, readers.catalogue, clock)
    return PublicSite(readers.catalogue, keeper, readers.index, similar, VisitorLimit(ADDED, clock))


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
