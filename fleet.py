"""The replication part of the composition root: this gateway as a node of a fleet. No logic."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.events import NodeNamed
from core.rows import Policy
from journal.folder import Folder
from ratelimit.shared import SharedBuckets
from replication.applying import Applying
from replication.capture import Capture
from replication.claims import Claims
from replication.copies import Donor, Fetcher
from replication.entries import Envelopes
from replication.follower import Follower
from replication.forgetting import Forgetting
from replication.link import Link, RedisPlace
from replication.marks import Marks
from replication.merge import Merge
from replication.node import Node, Pace, Parts
from replication.publisher import Publisher
from replication.queue import Queue
from replication.registry import Registry
from replication.stamps import new_label
from replication.succession import Succession
from replication.usage import Usage
from settings import Redis, Settings, StatsLimit, VotersLimit
from store import Store
from votes.search import Searches

READY_SECONDS = 10.0


@dataclass(frozen=True)
class Fleet:
    """What the rest of the gateway has to do with the fleet."""

    node: Node
    claims: Claims
    mark: Callable[[str], str]


@asynccontextmanager
async def open_fleet(
    settings: Settings,
    clock: Clock,
    folder: Folder,
    store: Store,
    searches: Searches,
    tasks: asyncio.TaskGroup,
    voters: SharedBuckets | None,
) -> AsyncIterator[Fleet | None]:
    """None without `redis.url`. What this gateway does from now on is told to the others."""
    redis = settings.redis
    if redis.url is None or redis.node is None or voters is None:
        yield None
        return
    ledger, fleet = store.ledger, store.ledger.state.fleet
    label = new_label(fleet, redis.node, clock.now_ms())
    if label is not None:
        ledger.commit([NodeNamed(label)])
    marks = Marks(store.digest_secret.encode())
    place = _place(redis)
    link, claims_link = Link(place), Link(place)
    envelopes = Envelopes(folder.keys)
    capture = Capture(ledger.state, marks.user)
    queue = Queue(capture, ledger.head)
    registry = Registry(link, envelopes, redis.node, marks.fleet, fleet, clock, redis.beat_seconds)
    publisher = Publisher(
        link,
        envelopes,
        redis.node,
        ledger,
        queue,
        folder,
        clock,
        lambda: store.journal.durable_position,
        registry.known,
    )
    applying = Applying(ledger, Merge(ledger.state, marks.user), searches)
    forgetting = Forgetting(ledger, applying, marks.user)
    fetcher = Fetcher(link, envelopes, redis.node, ledger, applying, forgetting)
    default = policy_of(settings.limits.voters)

    def heard(ref: str, used: int) -> None:
        bot = ledger.state.listings.get(ref)
        if bot is not None:
            voters.heard(ref, bot.voters_limit or default, clock.monotonic_ns(), used)

    usage = Usage(link, envelopes, fleet, voters.told, heard)
    follower = Follower(link, envelopes, registry, fleet, applying, fetcher, usage, clock)
    succession = Succession(link, registry, ledger, clock, redis.lease_seconds)
    donor = Donor(link, envelopes, ledger, capture, clock)
    claims = Claims(
        claims_link,
        marks,
        fleet,
        clock,
        tasks.create_task,
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        timeout_seconds=redis.claim_timeout_seconds,
    )
    parts = Parts(link, ledger, registry, publisher, follower, usage, succession, donor, claims)
    pace = Pace(redis.beat_seconds, redis.usage_seconds, READY_SECONDS, redis.stream_bytes)
    ledger.subscribe(queue.on_record)
    store.journal.on_durable(publisher.wake)
    try:
        yield Fleet(Node(parts, pace, clock), claims, marks.user)
    finally:
        await claims_link.close()
        await link.close()


def policy_of(limit: StatsLimit | VotersLimit) -> Policy:
    return Policy(limit.requests, limit.window_seconds)


def voters_buckets(settings: Settings) -> SharedBuckets | None:
    return SharedBuckets() if settings.redis.url is not None else None


def _place(redis: Redis) -> RedisPlace:
    options: dict[str, Any] = {}
    if redis.password is not None:
        options["password"] = redis.password.get_secret_value()
    if redis.ca is not None:
        options["ssl_ca_certs"] = str(redis.ca)
    return RedisPlace(redis.url.get_secret_value() if redis.url is not None else "", redis.prefix, options)
