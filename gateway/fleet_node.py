"""The node of a fleet, built of its parts. No logic.

Only a gateway that joins a fleet imports it: see `fleet.py`.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from core.clock import Clock
from core.events import NodeNamed
from core.rows import Policy
from core.state import State
from gateway.fleet import Fleet, FleetReaders
from gateway.store import Runtime, Store
from kinds.registry import KINDS
from ratelimit.bucket import SharedBuckets
from replication.applying import Applying
from replication.blob_exchange import BlobExchange
from replication.capture import Capture
from replication.claims import ClaimPolicy, Claims
from replication.copies import Donor, Fetcher, Forgetting
from replication.epochs import Identity, node_id_at_start
from replication.facts import KeyedDigests
from replication.follower import Follower, Gaps
from replication.members import Registry
from replication.merge import Merge
from replication.node import Node, NodeParts, Pace
from replication.publisher import Outgoing, Publisher
from replication.readiness import Fence, Isolation, Joining
from replication.redis_link import Envelopes, Link, connection
from replication.succession import LeaderLease, Succession
from replication.usage import Usage
from replication.warnings import Differences, Eviction, Lag, Warnings
from settings.model import RedisSettings, Settings, VotersLimitSettings
from votes.queries import Searches

READY_SECONDS = 10.0


@dataclass(frozen=True)
class _Shared:
    """The objects that several parts of the node use."""

    runtime: Runtime
    store: Store
    link: Link
    digests: KeyedDigests
    registry: Registry
    warnings: Warnings
    gaps: Gaps
    applying: Applying
    readers: FleetReaders


@asynccontextmanager
async def open_node(runtime: Runtime, name: str, store: Store, searches: Searches) -> AsyncIterator[Fleet]:
    """Open the node under its `name`. The other nodes are told what this gateway does from now on."""
    ledger, clock, redis = store.ledger, runtime.clock, runtime.settings.redis
    state, fleet = ledger.state, ledger.state.fleet
    node_id = node_id_at_start(fleet, name, clock.now_ms())
    if node_id is not None:
        ledger.commit([NodeNamed(node_id)])
    digests, envelopes = KeyedDigests(store.secrets.digest.encode()), Envelopes(store.folder.keys)
    link, claims_link = (Link(redis_connection(redis), redis.prefix, envelopes) for _ in range(2))
    registry = Registry(link, name, digests.fleet, fleet, clock, redis.beat_seconds, alike(runtime.settings))
    offered = runtime.settings.kinds.offered
    registry.kinds = tuple(map(str, offered)) if offered != KINDS else ()
    applying = Applying(ledger, Merge(state, digests.user), searches.of)
    outgoing = Outgoing(ledger, store.journal, store.folder, Capture(state, digests.user))
    identity = Identity(name, ledger, clock)
    publisher = Publisher(
        link,
        name,
        ledger,
        outgoing,
        identity,
        registry.known_elsewhere,
    )
    worker = runtime.worker
    siblings = worker.reading(fleet, clock) if worker is not None else None
    forgetting = Forgetting(ledger, applying, digests.user)
    readers = FleetReaders(forgetting, outgoing, identity, publisher, siblings)
    gaps = Gaps(registry, fleet, clock, redis.lease_seconds)
    shared = _Shared(runtime, store, link, digests, registry, Warnings(), gaps, applying, readers)
    voters = worker.buckets() if worker is not None else SharedBuckets()
    parts = _parts(shared, claims_link, voters)
    pace = Pace(redis.pace_seconds, redis.usage_seconds, READY_SECONDS, redis.stream_bytes)
    try:
        node = Node(link, ledger, parts, pace, clock)
        yield Fleet(node, parts.claims, parts.isolation, digests.user, readers, voters, offered)
    finally:
        await claims_link.redis.aclose()
        await link.redis.aclose()


def _parts(shared: _Shared, claims_link: Link, voters: SharedBuckets) -> NodeParts:
    settings, clock, redis = shared.runtime.settings, shared.runtime.clock, shared.runtime.settings.redis
    ledger, state, link = shared.store.ledger, shared.store.ledger.state, shared.link
    registry, warnings, gaps = shared.registry, shared.warnings, shared.gaps
    applying, readers, lease_seconds = shared.applying, shared.readers, redis.lease_seconds
    exchange = BlobExchange(link, state.fleet, shared.store.blobs.here)
    shared.store.blobs.elsewhere = exchange.fetch
    worker = shared.runtime.worker
    siblings = worker.node_names if worker is not None else []
    usage = Usage(
        link, state.fleet, voters.told, _hear(voters, settings.limits.voters, state, clock), siblings
    )
    joining = Joining(
        registry,
        state.fleet,
        clock,
        has_listings=bool(state.listings.refs),
        patience_seconds=READY_SECONDS,
        lost_seconds=lease_seconds,
    )
    longest_seconds = max(redis.claim_timeout_seconds, redis.claim_longest_seconds)
    policy = ClaimPolicy(settings.votes.cooldown_ms, redis.claim_timeout_seconds, longest_seconds)
    spawn, round_trips_ns = shared.runtime.spawn, registry.round_trips_ns
    succession = Succession(link, registry, ledger, clock, lease_seconds, gaps.has_read)
    has_sender = settings.chat_platform.bot_token is not None or settings.mail.host is not None
    sends_reminders = settings.web.public_url is not None and has_sender
    cut_off_seconds = redis.cut_off_seconds if redis.cut_off == "refuse" else None
    return NodeParts(
        registry=registry,
        publisher=readers.publisher,
        follower=Follower(link, registry, gaps, applying, usage, clock),
        gaps=gaps,
        usage=usage,
        donor=Donor(link, registry, ledger, Capture(state, shared.digests.user), clock),
        fetcher=Fetcher(link, registry, ledger, applying, readers.forgetting),
        claims=Claims(claims_link, shared.digests, state, clock, spawn, policy, round_trips_ns),
        succession=succession,
        leader_lease=LeaderLease(link, state.fleet, clock, lease_seconds, succession.has_read_gone)
        if sends_reminders
        else None,
        fence=Fence(clock, lease_seconds, READY_SECONDS),
        isolation=Isolation(registry, clock, warnings, cut_off_seconds, READY_SECONDS),
        joining=joining,
        warnings=warnings,
        differences=Differences(registry, clock, warnings),
        eviction=Eviction(link, warnings),
        lag=Lag(registry.name, ledger, readers.publisher, gaps, clock, warnings),
        blobs=exchange,
    )


def _hear(
    voters: SharedBuckets, limit: VotersLimitSettings, state: State, clock: Clock
) -> Callable[[str, int], None]:
    """Return a function that counts requests for a bot that the limiter of another node has allowed."""
    default = Policy(limit.requests, limit.window_seconds)

    def hear(ref: str, used: int) -> None:
        bot = state.listings.get(ref)
        if bot is not None:
            own = bot.limits.voters if bot.limits is not None else None
            voters.heard(ref, own or default, clock.monotonic_ns(), used)

    return hear


def alike(settings: Settings) -> Mapping[str, str]:
    """Return the settings that decide what a fleet does, whichever node is asked, as text by their names."""
    votes, limits = settings.votes, settings.limits
    return {
        "votes.cooldown_seconds": f"{votes.cooldown_seconds:g}",
        "votes.window_seconds": f"{votes.window_seconds:g}",
        "stats.max_difference": f"{settings.stats.max_difference}",
        "limits.stats": f"{limits.stats.requests} in {limits.stats.window_seconds:g} s",
        "limits.voters": f"{limits.voters.requests} in {limits.voters.window_seconds:g} s",
        "review.edits": settings.review.edits,
        "redis.lease_seconds": f"{settings.redis.lease_seconds:g}",
        "chat_platform.bot_token": "set" if settings.chat_platform.bot_token is not None else "not set",
        "mail.host": "set" if settings.mail.host is not None else "not set",
    }


def redis_connection(redis: RedisSettings) -> Redis:
    options: dict[str, Any] = {}
    if redis.password is not None:
        options["password"] = redis.password.get_secret_value()
    if redis.ca is not None:
        options["ssl_ca_certs"] = str(redis.ca)
    return connection(redis.url.get_secret_value() if redis.url is not None else "", options)
