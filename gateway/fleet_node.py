"""The node of a fleet, built of its parts. No logic."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.events import NodeNamed
from core.rows import Policy
from core.state import State
from gateway.membership import FleetTerms, Membership
from gateway.readers import FleetReaders
from gateway.store import Secrets, Store
from ratelimit.shared import SharedBuckets
from replication.copies.donor import Donor
from replication.copies.fetcher import Fetcher
from replication.copies.forgetting import Forgetting
from replication.facts.applying import Applying
from replication.facts.capture import Capture
from replication.facts.keyed_digests import KeyedDigests
from replication.facts.merge import Merge
from replication.members.claims import ClaimPolicy, Claims
from replication.members.differences import Differences
from replication.members.distance import Distance
from replication.members.duty import Duty
from replication.members.epochs import node_id_at_start
from replication.members.eviction import Eviction
from replication.members.fence import Fence
from replication.members.isolation import Isolation
from replication.members.joining import Joining
from replication.members.registry import Registry
from replication.members.silence import Silence
from replication.members.succession import Succession
from replication.members.warnings import Warnings
from replication.node import Copies, Members, Node, Pace, Streams
from replication.streams.follower import Follower
from replication.streams.gaps import Gaps
from replication.streams.identity import Identity
from replication.streams.journal_records import JournalRecords
from replication.streams.lag import Lag
from replication.streams.outgoing import Outgoing
from replication.streams.own_stream import OwnStream
from replication.streams.positions import ReadPositions
from replication.streams.provisional import ProvisionalVotes
from replication.streams.publisher import Publisher
from replication.streams.queue import Queue
from replication.streams.usage import Usage
from replication.transport.envelopes import Envelopes
from replication.transport.link import Link, RedisPlace, SealedLink
from replication.transport.pacing import Pacing
from settings.model import RedisSettings
from votes.search import Searches
from votes.table import VoteTable

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


@asynccontextmanager
async def open_node(
    redis: RedisSettings,
    name: str,
    terms: FleetTerms,
    store: Store,
    secrets: Secrets,
    clock: Clock,
    searches: Searches,
    spawn: Callable[[Coroutine[None, None, None]], object],
) -> AsyncIterator[Membership]:
    """Open the node under its `name`. The other nodes are told what this gateway does from now on."""
    ledger, state, fleet = store.ledger, store.ledger.state, store.ledger.state.fleet
    node_id = node_id_at_start(fleet, name, clock.now_ms())
    if node_id is not None:
        ledger.commit([NodeNamed(node_id)])
    digests, place, lease_seconds = (
        KeyedDigests(secrets.digest.encode()),
        redis_place(redis),
        redis.lease_seconds,
    )
    sealed_link, claims_link = SealedLink(Link(place), Envelopes(store.folder.keys)), Link(place)
    link, warnings, voters = sealed_link.link, Warnings(), SharedBuckets()
    registry = Registry(sealed_link, name, digests.fleet, fleet, clock, redis.beat_seconds, terms.alike)

    joining = Joining(
        registry,
        fleet,
        clock,
        has_listings=bool(state.listings.refs),
        patience_seconds=READY_SECONDS,
        lost_seconds=lease_seconds,
    )
    after_seconds = redis.cut_off_seconds if redis.cut_off == "refuse" else None
    isolation = Isolation(registry, clock, warnings, after_seconds, READY_SECONDS)
    identity_votes = ProvisionalVotes(ledger, VoteTable)
    queue = Queue(Capture(state, digests.user), ledger.head)
    publisher = Publisher(
        OwnStream(sealed_link, name),
        ledger,
        Outgoing(ledger, store.journal, JournalRecords(store.folder), queue),
        Identity(name, ledger, clock, identity_votes),
        registry,
        Pacing(clock, redis.pace_seconds),
    )
    applying = Applying(ledger, Merge(state, digests.user), searches)
    positions, gaps = ReadPositions(fleet), Gaps(registry, fleet, clock, lease_seconds)
    usage = Usage(sealed_link, fleet, VotersAllowances(voters, terms.voters, state, clock))
    reading = Pacing(clock, redis.pace_seconds)
    follower = Follower(sealed_link, registry, positions, gaps, applying, usage, clock, reading)

    forgetting = Forgetting(ledger, applying, digests.user)
    donor = Donor(sealed_link, registry, ledger, Capture(state, digests.user), clock)
    fetcher = Fetcher(sealed_link, registry, ledger, applying, forgetting)

    wait_seconds = redis.claim_timeout_seconds
    longest_seconds = max(wait_seconds, redis.claim_longest_seconds)
    claim_policy = ClaimPolicy(terms.cooldown_ms, wait_seconds, longest_seconds)
    claims = Claims(claims_link, digests, state, clock, spawn, claim_policy, registry.round_trips_ns)
    succession = Succession(link, registry, ledger, clock, lease_seconds, positions)
    duty = (
        Duty(link, fleet, clock, lease_seconds, succession.has_read_gone) if terms.sends_reminders else None
    )
    members = Members(
        registry,
        Differences(name, terms.alike, clock, warnings, redis.beat_seconds),
        Silence(registry, warnings),
        succession,
        claims,
        Eviction(link, warnings),
        Fence(clock, lease_seconds, READY_SECONDS),
        warnings,
        duty,
        joining,
        isolation,
        Distance(registry, claim_policy, warnings),
    )
    lag = Lag(name, ledger, publisher, gaps, clock, warnings)
    streams, copies = Streams(publisher, follower, gaps, lag, usage), Copies(donor, fetcher)
    pace = Pace(redis.beat_seconds, redis.usage_seconds, READY_SECONDS, redis.stream_bytes)
    node = Node(link, ledger, members, streams, copies, pace, clock)
    try:
        readers = FleetReaders(forgetting, queue, identity_votes, publisher)
        yield Membership(node, claims, isolation, digests.user, readers, voters)
    finally:
        await claims_link.close()
        await link.close()


def redis_place(redis: RedisSettings) -> RedisPlace:
    options: dict[str, Any] = {}
    if redis.password is not None:
        options["password"] = redis.password.get_secret_value()
    if redis.ca is not None:
        options["ssl_ca_certs"] = str(redis.ca)
    return RedisPlace(redis.url.get_secret_value() if redis.url is not None else "", redis.prefix, options)
