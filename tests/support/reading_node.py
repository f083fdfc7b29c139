"""A node that reads, and nothing else of it: its registry and follower, over a real Redis."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from core.clock import FakeClock
from core.fleet import Fleet, FleetView
from replication.copies.donor import Fetcher
from replication.copies.forgetting import Forgetting
from replication.members.differences import Differences
from replication.members.registry import Registry
from replication.members.warnings import Concerns
from replication.streams.follower import Follower
from replication.streams.gaps import Gaps
from replication.streams.usage import Usage
from replication.transport.envelopes import Envelopes
from replication.transport.link import Link, RedisPlace
from replication.transport.pacing import Pacing
from tests.support.journals import KEYS
from tests.support.memory_nodes import MARKS, Node

PREFIX = "votegate"
BEAT_SECONDS = 1.0


@dataclass
class Reading:
    node: Node
    registry: Registry
    follower: Follower
    pacing: Pacing
    clock: FakeClock


def registry_of(name: str, link: Link, fleet: FleetView, clock: FakeClock) -> Registry:
    differences = Differences(name, {}, clock, Concerns(), BEAT_SECONDS)
    return Registry(link, Envelopes(KEYS), name, MARKS.fleet, fleet, clock, BEAT_SECONDS, differences)


@asynccontextmanager
async def reading(url: str, author: str, pace_seconds: float) -> AsyncIterator[Reading]:
    """Node "b", which has heard that there is a node of the author's label."""
    link, clock, node, envelopes = Link(RedisPlace(url, PREFIX)), FakeClock(), Node("b"), Envelopes(KEYS)
    fleet, pacing = node.state.fleet, Pacing(clock, pace_seconds)
    registry = registry_of("b", link, fleet, clock)
    forgetting = Forgetting(node.ledger, node.merge, node.applying, MARKS.user)
    node.ledger.subscribe(forgetting.on_record)
    follower = Follower(
        link,
        envelopes,
        registry,
        fleet,
        node.applying,
        Fetcher(link, envelopes, "b", node.ledger, node.applying, forgetting, BEAT_SECONDS),
        Usage(link, envelopes, fleet, dict, lambda *_: None),
        Gaps(registry, fleet, clock, BEAT_SECONDS),
        clock,
        pacing,
    )
    of_author = Fleet()
    of_author.named(author)
    async with aclosing(link.redis):
        await registry_of(author.partition(".")[0], link, of_author, clock).step(0)
        await registry.step(0)
        yield Reading(node, registry, follower, pacing, clock)
