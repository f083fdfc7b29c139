"""The API part of the composition root: all endpoints, their callers, and the values they need. No logic."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from core.clock import Clock
from core.rows import Policy
from core.state import State
from core.version import VERSION
from gateway.delivery import Delivering
from gateway.described import deployment
from gateway.membership import Membership
from gateway.store import Secrets, Store
from guild_counts.counts import NoCounts, OperatorCounts
from handlers.concerns import Concern
from handlers.debug import Debug
from handlers.debug_disk import DebugDisk, DiskSources, Verification, verification
from handlers.debug_errors import DebugErrors
from handlers.debug_find import DebugFind
from handlers.debug_journal import DebugJournal
from handlers.debug_limiter import DebugLimiter
from handlers.debug_listing import DebugListings
from handlers.debug_overview import DebugOverview, OverviewSources
from handlers.debug_process import DebugProcess, ProcessSources
from handlers.debug_user import DebugUsers
from handlers.debug_webhooks import DebugWebhooks, WebhookSources
from handlers.failing_endpoints import FailingEndpoints
from handlers.journal_tail import JournalTail
from handlers.late import Late
from handlers.manage import ManageContext, Operator, bot_ref, server_ref
from handlers.manage_keys import ManageKeys
from handlers.manage_listings import Kind, ManageListings
from handlers.manage_owners import ManageOwners
from handlers.manage_review import ManageQueue, ManageReview
from handlers.manage_strikes import ManageStrikes
from handlers.manage_users import ManageUsers
from handlers.manage_votes import ManageVotes
from handlers.manage_webhooks import AttemptWatch, ManageWebhooks
from handlers.public import GuildCounts, PublicApi, PublicLimits
from handlers.recent_errors import RecentErrors
from handlers.refused import RefusedAddresses
from handlers.reply import Reply
from handlers.request import Request
from handlers.route import Endpoints
from handlers.scrape import Scrape
from handlers.service import Service
from handlers.user_views import UserViews
from handlers.vote_feed import VoteFeed
from journal.reading_on import JournalPages
from listings.keys import KeyDigester
from listings.ownership import Ownership
from listings.rules import EditsShown
from listings.webhooks import WebhookPolicy
from openapi.deployment import Deployment
from people.roles import Moderators
from people.user_sessions import Sessions, SessionTerms, Terms
from ratelimit.bucket import Buckets
from ratelimit.limiter import FailureGuard
from replication.facts.keyed_digests import KeyedDigests
from serving.application import RunningRequests
from serving.observers import Observers
from serving.timeline import Gauges, Timeline
from serving.traffic import Traffic
from serving.vitals import LoopLag
from settings.model import CountsSource, GuildCountsSettings, LimitsSettings, Settings, WebSettings
from votes.search import Searches
from votes.tally import VoteTally

if TYPE_CHECKING:
    from guild_counts.platform_counts import PlatformCounts


@dataclass(frozen=True)
class Callers:
    """The callers of the API: bots, the operator, and addresses that fail too often."""

    digester: KeyDigester
    operator: Operator
    failures: FailureGuard
    refused: RefusedAddresses


@dataclass(frozen=True)
class Life:
    """The life of the process: whether it stops, which requests run, what was answered, and how late the loop
    is."""

    stop: asyncio.Event
    running: RunningRequests
    traffic: Traffic
    lag: LoopLag


@dataclass(frozen=True)
class Watched:
    """Buffers of recent activity, for the operator."""

    failing: FailingEndpoints
    tail: JournalTail
    errors: RecentErrors
    timeline: Timeline


@dataclass(frozen=True)
class PeopleRules:
    """The rules on people that know settings. They hold without pages for people, too."""

    moderators: Moderators
    sessions: Sessions


@dataclass(frozen=True)
class EndpointPolicy:
    """The settings of the endpoints."""

    stats: Policy
    voters: Policy
    window_ms: int
    cooldown_ms: int
    max_difference: int
    max_body_bytes: int
    keys_per_listing: int
    attempt_seconds: float
    """The longest wait of a test or a redelivery for its result."""
    described: Deployment
    """The numbers that the API's description says."""
    has_site: bool
    """True if there are pages for people."""
    edits: EditsShown


@dataclass(frozen=True)
class Managed:
    """The values of the management endpoints alone."""

    people: PeopleRules
    webhooks: WebhookPolicy
    searches: Searches
    ownership: Ownership
    counts: GuildCounts
    fleet: Membership | None
    watch: AttemptWatch
    feed: VoteFeed
    tells_owners: bool


def endpoint_policy(settings: Settings) -> EndpointPolicy:
    limits = settings.limits
    return EndpointPolicy(
        stats=Policy(limits.stats.requests, limits.stats.window_seconds),
        voters=Policy(limits.voters.requests, limits.voters.window_seconds),
        window_ms=round(settings.votes.window_seconds * 1_000),
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        max_difference=settings.stats.max_difference,
        max_body_bytes=settings.server.max_body_bytes,
        keys_per_listing=settings.keys.per_listing,
        attempt_seconds=settings.webhooks.timeout_seconds + 1,
        described=deployment(settings),
        has_site=settings.web.public_url is not None,
        edits=settings.review.edits,
    )


def known_callers(limits: LimitsSettings, secrets: Secrets, clock: Clock, observers: Observers) -> Callers:
    refused = RefusedAddresses(clock)
    began = observers.calling("refused_addresses", refused.began)
    failures = FailureGuard(limits.failures, limits.addresses_kept, began)
    operator = Operator(secrets.operator_tokens, failures, clock)
    return Callers(KeyDigester(secrets.digest.encode()), operator, failures, refused)


def people_rules(web: WebSettings, state: State) -> PeopleRules:
    moderators = Moderators(state, frozenset(web.moderators))
    terms = Terms(
        users=_session_terms(web.session_idle_seconds, web.session_seconds),
        moderators=_session_terms(web.moderator_session_idle_seconds, web.moderator_session_seconds),
    )
    return PeopleRules(moderators, Sessions(state, moderators, terms))


def _session_terms(idle_seconds: float, longest_seconds: float) -> SessionTerms:
    return SessionTerms(round(idle_seconds * 1_000), round(longest_seconds * 1_000))


class Counting(NamedTuple):
    """Where actual server counts come from. `platform` is the source again if it asks the chat platform."""

    source: GuildCounts
    platform: "PlatformCounts | None" = None


@asynccontextmanager
async def open_guild_counts(
    source: CountsSource, counts: GuildCountsSettings, state: State, clock: Clock
) -> AsyncIterator[Counting]:
    if source == "none":
        yield Counting(NoCounts())
    elif source == "operator":
        yield Counting(OperatorCounts(state))
    elif source == "platform":
        from guild_counts.platform_counts import PlatformCounts

        asking = PlatformCounts(state, clock, counts.cache_seconds, counts.kept_seconds)
        yield Counting(asking, asking)
    else:
        from guild_counts.counts import open_http_counts

        authorization = counts.authorization.get_secret_value() if counts.authorization else None
        looking_up = open_http_counts(
            counts.url or "", authorization, counts.timeout_seconds, counts.cache_seconds, clock
        )
        async with looking_up as opened:
            yield Counting(opened)


def public_api(
    policy: EndpointPolicy, store: Store, clock: Clock, callers: Callers, counts: GuildCounts, voters: Buckets
) -> PublicApi:
    return PublicApi(
        store.ledger,
        clock,
        callers.digester,
        PublicLimits(callers.failures, policy.stats, policy.voters, voters=voters),
        counts,
        window_ms=policy.window_ms,
        max_difference=policy.max_difference,
        max_body_bytes=policy.max_body_bytes,
    )


def vote_feed(store: Store, pages: JournalPages, most_streams: int) -> VoteFeed:
    ledger = store.ledger
    return VoteFeed(ledger.state, pages, lambda: ledger.durable(ledger.head), most_streams)


def all_endpoints(
    policy: EndpointPolicy,
    store: Store,
    clock: Clock,
    callers: Callers,
    public: PublicApi,
    managed: Managed,
    debug: Debug,
    scrape: Scrape,
    readiness: Callable[[], str | None],
    is_signed_in: Callable[[Request], bool],
) -> Endpoints:
    """Return every endpoint, bound to the values it needs."""
    fleet = managed.fleet
    context = ManageContext(
        store.ledger,
        clock,
        callers.digester,
        new_id=lambda: secrets.token_hex(12),
        random=secrets.token_bytes,
        window_ms=policy.window_ms,
        cooldown_ms=policy.cooldown_ms,
        keys_per_listing=policy.keys_per_listing,
        webhooks=managed.webhooks,
        searches=managed.searches,
        problems=public.problems,
        missing_count=managed.counts.missing,
        moderators=managed.people.moderators,
        sessions=managed.people.sessions,
        claims=fleet.claims if fleet is not None else None,
        mark=fleet.digest_of if fleet is not None else lambda _: "",
        tells_owners=managed.tells_owners,
        edits=policy.edits,
        vote_mark=KeyedDigests(callers.digester.secret).vote,
    )
    refs: Mapping[Kind, Callable[[Request], str]] = {"bots": bot_ref, "servers": server_ref}
    return Endpoints(
        public,
        Service(
            Late(lambda: _description(policy)),
            Late(lambda: _description_page(policy)),
            readiness,
        ),
        callers.operator,
        listings={kind: ManageListings(context, kind, ref) for kind, ref in refs.items()},
        keys=ManageKeys(context),
        webhooks={
            kind: ManageWebhooks(context, ref, managed.watch, policy.attempt_seconds)
            for kind, ref in refs.items()
        },
        votes={kind: ManageVotes(context, ref) for kind, ref in refs.items()},
        strikes={kind: ManageStrikes(context, ref) for kind, ref in refs.items()},
        feed=managed.feed,
        users=ManageUsers(context, managed.ownership),
        queue=ManageQueue(store.ledger.state, managed.ownership),
        review={kind: ManageReview(context, ref) for kind, ref in refs.items()},
        owners={kind: ManageOwners(context, ref) for kind, ref in refs.items()},
        debug=debug,
        is_signed_in=is_signed_in,
        scrape=scrape,
    )


def _description(policy: EndpointPolicy) -> Reply:
    from openapi.document import openapi_reply  # the import and the document take a third of a start

    return openapi_reply(policy.described)


def _description_page(policy: EndpointPolicy) -> Reply:
    from openapi.page import docs_reply

    return docs_reply(policy.described, has_site=policy.has_site)


def readiness(store: Store, life: Life, fleet: Membership | None) -> Callable[[], str | None]:
    """Return the call that tells why the gateway is not ready; None if it is."""

    def reason() -> str | None:
        if life.stop.is_set():
            return "stopping"
        if store.journal.why_not_writable is not None:
            return f"the journal does not take writes: {store.journal.why_not_writable}"
        return fleet.node.why_not_ready() if fleet is not None else None

    return reason


def debug_endpoints(
    policy: EndpointPolicy,
    store: Store,
    clock: Clock,
    public: PublicApi,
    people: PeopleRules,
    delivering: Delivering,
    process: ProcessSources,
    life: Life,
    watched: Watched,
) -> Debug:
    async def verify() -> Verification:
        return await verification(store.ledger, store.snapshotter.lock, store.fold)

    ledger, state, outbox = store.ledger, store.ledger.state, delivering.outbox
    users = UserViews(state, people.moderators, people.sessions)
    webhooks = WebhookSources(
        in_flight=lambda: outbox.in_flight,
        suspended=lambda: len(outbox.suspended),
        proxy_down=lambda: outbox.stopped,
        standing=lambda ref: outbox.standing(ref, clock.steady_ms()),
    )
    timeline, snapshotter = watched.timeline, store.snapshotter
    overview = OverviewSources(
        head_age_seconds=lambda: timeline.head.age_seconds(clock.monotonic_ns()),
        durable_age_seconds=lambda: timeline.durable.age_seconds(clock.monotonic_ns()),
        snapshot_age_seconds=lambda: _age_seconds(snapshotter.created_ms, clock.now_ms()),
        lag_samples_ms=lambda: life.lag.samples_ms,
        endpoints=timeline.last_minute,
        points=lambda: timeline.points,
    )
    shown = DebugProcess(ledger, clock, public.limits, process, VERSION)
    return Debug(
        process=shown,
        overview=DebugOverview(shown, overview),
        disk=DebugDisk(DiskSources(store.snapshotter.take, store.snapshotter.backup, verify)),
        find=DebugFind(state),
        listings=DebugListings(state, clock, public),
        users=DebugUsers(state, clock, policy.window_ms, users),
        webhooks=DebugWebhooks(state, watched.failing, webhooks),
        limiter=DebugLimiter(state, clock, public.limits),
        errors=DebugErrors(watched.errors),
        journal=DebugJournal(watched.tail),
    )


def gauges(store: Store, votes: VoteTally, memory: Callable[[], int | None]) -> Gauges:
    """Return the numbers that the timeline records."""
    return Gauges(
        votes=lambda: votes.here + votes.elsewhere,
        head=lambda: store.ledger.head,
        durable=lambda: store.journal.durable_position,
        resident_bytes=memory,
    )


def _age_seconds(at_ms: int, now_ms: int) -> float | None:
    return max(now_ms - at_ms, 0) / 1_000 if at_ms else None


def process_sources(
    store: Store,
    delivering: Delivering,
    life: Life,
    fleet: Membership | None,
    connections: Callable[[], dict[str, int]],
    memory: Callable[[], int | None],
    concerns: Callable[[], tuple[Concern, ...]],
) -> ProcessSources:
    outbox, lag = delivering.outbox, life.lag
    return ProcessSources(
        durable_position=lambda: store.journal.durable_position,
        snapshot_position=lambda: store.snapshotter.position,
        webhooks_in_flight=lambda: outbox.in_flight,
        endpoints_suspended=lambda: len(outbox.suspended),
        proxy_down=lambda: outbox.stopped,
        readiness=readiness(store, life, fleet),
        replication=fleet.node.view if fleet is not None else lambda: None,
        fleet=fleet.node.standing if fleet is not None else lambda: None,
        connections=connections,
        resident_bytes=memory,
        loop_lag_ms=lambda: {"last": lag.last_ms, "max": lag.max_ms},
        concerns=concerns,
    )
