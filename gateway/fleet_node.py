"""The node of a fleet, built of its parts. No logic.

Only a gateway that joins a fleet imports it: see `fleet.py`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.events import NodeNamed
from core.rows import Policy
from core.state import State
from gateway.fleet import Fleet, FleetReaders
from gateway.store import Runtime, Store
from ratelimit.bucket import SharedBuckets
from replication.applying import Applying
from replication.capture import Capture
from replication.claims import ClaimPolicy, Claims
from replication.copies import Donor, Fetcher, Forgetting
from replication.epochs import Identity, ProvisionalVotes, node_id_at_start
from replication.facts import KeyedDigests
from replication.follower import Follower, ReadStreams
from replication.gaps import Gaps, ReadPositions
from replication.loops import Pacing
from replication.members import Registry
from replication.merge import Merge
from replication.node import Copies, Members, Node, Pace, Streams
from replication.publisher import JournalRecords, Outgoing, OwnStream, Publisher, Queue
from replication.readiness import Fence, Isolation, Joining
from replication.redis_link import Envelopes, Link, RedisPlace, SealedLink
from replication.succession import LeaderLease, Succession
from replication.usage import Usage
from replication.warnings import Differences, Distance, Eviction, Lag, Silence, Warnings
from settings.model import RedisSettings, Settings
from votes.queries import Searches

READY_SECONDS = 10.0


@dataclass(frozen=True)
class VotersAllowances:
    """The limiter of vote checks, as the fleet sees it."""

    buckets: SharedBuckets
    default: Policy
    state: State
    clock: Clock

    def drain(self) -> Mapping[str, int]:
        return self.buckets.told()

    def add(self, ref: str, used: int) -> None:
        bot = self.state.listings.get(ref)
        if bot is not None:
            own = bot.limits.voters if bot.limits is not None else None
            self.buckets.heard(ref, own or self.default, self.clock.monotonic_ns(), used)


@dataclass(frozen=True)
class _Shared:
    """The objects that several parts of the node use."""

    runtime: Runtime
    store: Store
    name: str
    sealed_link: SealedLink
    claims_link: Link
    digests: KeyedDigests
    warnings: Warnings
    registry: Registry
    positions: ReadPositions
    applying: Applying

    @property
    def redis(self) -> RedisSettings:
        return self.runtime.settings.redis


@asynccontextmanager
async def open_node(runtime: Runtime, name: str, store: Store, searches: Searches) -> AsyncIterator[Fleet]:
    """Open the node under its `name`. The other nodes are told what this gateway does from now on."""
    ledger, clock, redis, fleet = (
        store.ledger,
        runtime.clock,
        runtime.settings.redis,
        store.ledger.state.fleet,
    )
    node_id = node_id_at_start(fleet, name, clock.now_ms())
    if node_id is not None:
        ledger.commit([NodeNamed(node_id)])
    place, digests = redis_place(redis), KeyedDigests(store.secrets.digest.encode())
    sealed_link = SealedLink(Link(place), Envelopes(store.folder.keys))
    terms = alike(runtime.settings)
    shared = _Shared(
        runtime,
        store,
        name,
        sealed_link,
        Link(place),
        digests,
        Warnings(),
        Registry(sealed_link, name, digests.fleet, fleet, clock, redis.beat_seconds, terms),
        ReadPositions(fleet),
        Applying(ledger, Merge(ledger.state, digests.user), searches),
    )
    members, provisional = _members(shared), ProvisionalVotes(ledger)
    queue, voters = Queue(Capture(ledger.state, digests.user), ledger.head), SharedBuckets()
    publisher = _publisher(shared, queue, provisional)
    streams = _streams(shared, publisher, voters)
    forgetting = Forgetting(ledger, shared.applying, digests.user)
    pace = Pace(redis.beat_seconds, redis.usage_seconds, READY_SECONDS, redis.stream_bytes)
    node = Node(sealed_link.link, ledger, members, streams, _copies(shared, forgetting), pace, clock)
    try:
        readers = FleetReaders(forgetting, queue, provisional, publisher)
        yield Fleet(node, members.claims, members.isolation, digests.user, readers, voters)
    finally:
        await shared.claims_link.close()
        await sealed_link.link.close()


def _members(shared: _Shared) -> Members:
    """Make the parts that know of the other nodes."""
    settings, clock, redis = shared.runtime.settings, shared.runtime.clock, shared.redis
    ledger, state, link = shared.store.ledger, shared.store.ledger.state, shared.sealed_link.link
    registry, warnings, lease_seconds = shared.registry, shared.warnings, redis.lease_seconds
    joining = Joining(
        registry,
        state.fleet,
        clock,
        has_listings=bool(state.listings.refs),
        patience_seconds=READY_SECONDS,
        lost_seconds=lease_seconds,
    )
    after_seconds = redis.cut_off_seconds if redis.cut_off == "refuse" else None
    wait_seconds = redis.claim_timeout_seconds
    longest_seconds = max(wait_seconds, redis.claim_longest_seconds)
    policy = ClaimPolicy(settings.votes.cooldown_ms, wait_seconds, longest_seconds)
    spawn, round_trips_ns = shared.runtime.spawn, registry.round_trips_ns
    claims = Claims(shared.claims_link, shared.digests, state, clock, spawn, policy, round_trips_ns)
    succession = Succession(link, registry, ledger, clock, lease_seconds, shared.positions)
    sends_reminders = settings.web.public_url is not None and settings.chat_platform.bot_token is not None
    return Members(
        registry,
        Differences(shared.name, alike(settings), clock, warnings, redis.beat_seconds),
        Silence(registry, warnings),
        succession,
        claims,
        Eviction(link, warnings),
        Fence(clock, lease_seconds, READY_SECONDS),
        warnings,
        LeaderLease(link, state.fleet, clock, lease_seconds, succession.has_read_gone)
        if sends_reminders
        else None,
        joining,
        Isolation(registry, clock, warnings, after_seconds, READY_SECONDS),
        Distance(registry, policy, warnings),
    )


def _publisher(shared: _Shared, queue: Queue, provisional: ProvisionalVotes) -> Publisher:
    ledger, store, clock = shared.store.ledger, shared.store, shared.runtime.clock
    return Publisher(
        OwnStream(shared.sealed_link, shared.name),
        ledger,
        Outgoing(ledger, store.journal, JournalRecords(store.folder), queue),
        Identity(shared.name, ledger, clock, provisional),
        shared.registry,
        Pacing(clock, shared.redis.pace_seconds),
    )


def _streams(shared: _Shared, publisher: Publisher, voters: SharedBuckets) -> Streams:
    """Make the parts that write this node's stream and read those of the others."""
    ledger, clock, registry = shared.store.ledger, shared.runtime.clock, shared.registry
    limit = shared.runtime.settings.limits.voters
    allowances = VotersAllowances(voters, Policy(limit.requests, limit.window_seconds), ledger.state, clock)
    usage = Usage(shared.sealed_link, ledger.state.fleet, allowances)
    gaps = Gaps(registry, ledger.state.fleet, clock, shared.redis.lease_seconds)
    pacing = Pacing(clock, shared.redis.pace_seconds)
    known = ReadStreams(shared.positions, gaps)
    follower = Follower(shared.sealed_link, registry, known, shared.applying, usage, clock, pacing)
    lag = Lag(shared.name, ledger, publisher, gaps, clock, shared.warnings)
    return Streams(publisher, follower, gaps, lag, usage)


def _copies(shared: _Shared, forgetting: Forgetting) -> Copies:
    """Make the parts that give copies to other nodes and take one."""
    ledger, link, registry = shared.store.ledger, shared.sealed_link, shared.registry
    donor = Donor(link, registry, ledger, Capture(ledger.state, shared.digests.user), shared.runtime.clock)
    return Copies(donor, Fetcher(link, registry, ledger, shared.applying, forgetting))


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
    }


def redis_place(redis: RedisSettings) -> RedisPlace:
    options: dict[str, Any] = {}
    if redis.password is not None:
        options["password"] = redis.password.get_secret_value()
    if redis.ca is not None:
        options["ssl_ca_certs"] = str(redis.ca)
    return RedisPlace(redis.url.get_secret_value() if redis.url is not None else "", redis.prefix, options)
