"""The replication part of the composition root: this gateway as a node of a fleet. No logic."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.events import NodeNamed
from core.ledger import Ledger
from gateway.readers import FleetReaders
from gateway.store import Store
from ratelimit.shared import SharedBuckets
from replication.copies.donor import Donor, Fetcher
from replication.copies.forgetting import Forgetting
from replication.facts.applying import Applying
from replication.facts.capture import Capture
from replication.facts.hybrid_clock import new_label
from replication.facts.keyed_digests import Marks
from replication.facts.merge import Merge
from replication.members.claims import Claims
from replication.members.differences import Differences
from replication.members.eviction import Eviction
from replication.members.fence import Awake
from replication.members.registry import Registry
from replication.members.succession import Succession
from replication.members.warnings import Concerns
from replication.node import Node, Pace, Parts
from replication.streams.follower import Follower
from replication.streams.gaps import Gaps
from replication.streams.lag import Lagging
from replication.streams.provisional import Tentative
from replication.streams.publisher import Publisher
from replication.streams.queue import Queue
from replication.streams.usage import Usage
from replication.transport.envelopes import Envelopes
from replication.transport.link import Link, RedisPlace
from replication.transport.pacing import Pacing
from settings.model import RedisSettings, Settings
from storage.folder import Folder
from votes.search import Searches
from votes.table import VoteTable

READY_SECONDS = 10.0


@dataclass(frozen=True)
class Membership:
    """What the rest of the gateway has to do with the fleet."""

    node: Node
    claims: Claims
    mark: Callable[[str], str]
    readers: FleetReaders


@asynccontextmanager
async def open_fleet(
    settings: Settings,
    clock: Clock,
    folder: Folder,
    store: Store,
    searches: Searches,
    tasks: asyncio.TaskGroup,
    voters: SharedBuckets | None,
) -> AsyncIterator[Membership | None]:
    """None without `redis.url`. What this gateway does from now on is told to the others."""
    redis = settings.redis
    if redis.url is None or redis.node is None or voters is None:
        yield None
        return
    ledger, fleet = store.ledger, store.ledger.state.fleet
    label = new_label(fleet, redis.node, clock.now_ms())
    if label is not None:
        ledger.commit([NodeNamed(label)])
    marks, place = Marks(store.digest_secret.encode()), _place(redis)
    link, claims_link = Link(place), Link(place)
    claims = Claims(
        claims_link,
        marks,
        fleet,
        ledger.state.votes,
        clock,
        tasks.create_task,
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        timeout_seconds=redis.claim_timeout_seconds,
    )
    envelopes = Envelopes(folder.keys)
    concerns, beat_seconds = Concerns(), redis.beat_seconds
    differences = Differences(redis.node, alike(settings), clock, concerns, beat_seconds)
    registry = Registry(link, envelopes, redis.node, marks.fleet, fleet, clock, beat_seconds, differences)
    gaps = Gaps(registry, fleet, clock, redis.lease_seconds)
    usage = Usage(link, envelopes, fleet, voters.told, _heard(settings, ledger, clock, voters))
    telling, reading = (Pacing(clock, redis.pace_seconds) for _ in range(2))
    merge = Merge(ledger.state, marks.user)
    applying = Applying(ledger, merge, searches)
    forgetting = Forgetting(ledger, merge, applying, marks.user)
    fetcher = Fetcher(link, envelopes, redis.node, ledger, applying, forgetting, beat_seconds)
    follower = Follower(link, envelopes, registry, fleet, applying, fetcher, usage, gaps, clock, reading)
    queue, tentative = Queue(Capture(ledger.state, marks.user), ledger.head), Tentative(ledger, VoteTable)
    publisher = Publisher(
        link,
        envelopes,
        redis.node,
        ledger,
        queue,
        folder,
        clock,
        telling,
        lambda: store.journal.durable_position,
        registry.known,
        tentative,
        lambda: registry.newest_epoch,
        lambda: registry.has_listened,
    )
    parts = Parts(
        link,
        ledger,
        registry,
        publisher,
        follower,
        gaps,
        usage,
        Succession(link, registry, ledger, clock, redis.lease_seconds, follower.has_read),
        Donor(link, envelopes, ledger, Capture(ledger.state, marks.user), clock, publisher.vouch),
        claims,
        concerns,
        Lagging(ledger, registry, publisher, gaps, clock, concerns),
        Eviction(link, concerns),
        Awake(clock, redis.lease_seconds, READY_SECONDS),
    )
    pace = Pace(redis.beat_seconds, redis.usage_seconds, READY_SECONDS, redis.stream_bytes)
    try:
        yield Membership(
            Node(parts, pace, clock),
            claims,
            marks.user,
            FleetReaders(forgetting, queue, tentative, publisher),
        )
    finally:
        await claims_link.close()
        await link.close()


def alike(settings: Settings) -> Mapping[str, str]:
    """The settings that decide what a fleet answers, whichever node is asked."""
    votes, limits = settings.votes, settings.limits
    return {
        "votes.cooldown_seconds": f"{votes.cooldown_seconds:g}",
        "votes.window_seconds": f"{votes.window_seconds:g}",
        "stats.max_difference": f"{settings.stats.max_difference}",
        "limits.stats": f"{limits.stats.requests} in {limits.stats.window_seconds:g} s",
        "limits.voters": f"{limits.voters.requests} in {limits.voters.window_seconds:g} s",
        "redis.lease_seconds": f"{settings.redis.lease_seconds:g}",
    }


def _heard(
    settings: Settings, ledger: Ledger, clock: Clock, voters: SharedBuckets
) -> Callable[[str, int], None]:
    default = settings.limits.voters

    def heard(ref: str, used: int) -> None:
        bot = ledger.state.listings.get(ref)
        if bot is not None:
            voters.heard(ref, bot.voters_limit or default, clock.monotonic_ns(), used)

    return heard


def _place(redis: RedisSettings) -> RedisPlace:
    options: dict[str, Any] = {}
    if redis.password is not None:
        options["password"] = redis.password.get_secret_value()
    if redis.ca is not None:
        options["ssl_ca_certs"] = str(redis.ca)
    return RedisPlace(redis.url.get_secret_value() if redis.url is not None else "", redis.prefix, options)
