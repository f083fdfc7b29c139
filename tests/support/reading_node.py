"""A node that reads, and nothing else of it: its registry and follower, over a real Redis."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from core.fleet_table import FleetTable, FleetView
from replication.follower import Follower, ReadStreams
from replication.gaps import Gaps, ReadPositions
from replication.loops import Pacing
from replication.members import Registry, Report
from replication.redis_link import Envelopes, Link, RedisPlace, SealedLink
from replication.usage import Usage
from tests.support.fake_clock import FakeClock
from tests.support.journals import KEYS
from tests.support.memory_nodes import DIGESTS, Node

PREFIX = "votegate"
BEAT_SECONDS = 1.0
LOST_SECONDS = 60.0


@dataclass
class Reading:
    node: Node
    registry: Registry
    follower: Follower
    pacing: Pacing
    clock: FakeClock
    link: Link
    lost_seconds: float
    """The silence after which a node is gone."""


class NoLimiter:
    """The limiter of a node that nobody asks."""

    def drain(self) -> Mapping[str, int]:
        return {}

    def add(self, ref: str, used: int) -> None:
        """Count nothing."""


def sealed_link_of(link: Link) -> SealedLink:
    return SealedLink(link, Envelopes(KEYS))


def registry_of(name: str, link: Link, fleet: FleetView, clock: FakeClock) -> Registry:
    return Registry(sealed_link_of(link), name, DIGESTS.fleet, fleet, clock, BEAT_SECONDS, {})


@asynccontextmanager
async def reading(url: str, author: str, pace_seconds: float) -> AsyncIterator[Reading]:
    """Node "b", which has read that there is a node with the author's node id."""
    link, clock, node = Link(RedisPlace(url, PREFIX)), FakeClock(), Node("b")
    fleet, pacing, sealed_link = node.state.fleet, Pacing(clock, pace_seconds), sealed_link_of(link)
    registry = registry_of("b", link, fleet, clock)
    follower = Follower(
        sealed_link,
        registry,
        ReadStreams(ReadPositions(fleet), Gaps(registry, fleet, clock, LOST_SECONDS)),
        node.applying,
        Usage(sealed_link, fleet, NoLimiter()),
        clock,
        pacing,
    )
    of_author = FleetTable()
    of_author.named(author)
    async with aclosing(link.redis):
        await registry_of(author.partition(".")[0], link, of_author, clock).step(Report(0))
        await registry.step(Report(0))
        yield Reading(node, registry, follower, pacing, clock, link, LOST_SECONDS)
