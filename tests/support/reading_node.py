"""A node that reads, and nothing else of it: its registry and follower, over a real Redis."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from core.fleet_table import FleetTable, FleetView
from replication.follower import Follower, Gaps
from replication.members import Registry
from replication.redis_link import Envelopes, Link, connection
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
    clock: FakeClock
    link: Link
    lost_seconds: float
    """The silence after which a node is gone."""


def link_to(url: str) -> Link:
    return Link(connection(url, {}), PREFIX, Envelopes(KEYS))


def registry_of(name: str, link: Link, fleet: FleetView, clock: FakeClock) -> Registry:
    return Registry(link, name, DIGESTS.fleet, fleet, clock, BEAT_SECONDS, {})


@asynccontextmanager
async def reading(url: str, author: str) -> AsyncIterator[Reading]:
    """Node "b", which has read that there is a node with the author's node id."""
    link, clock, node = link_to(url), FakeClock(), Node("b")
    fleet = node.state.fleet
    registry = registry_of("b", link, fleet, clock)
    follower = Follower(
        link,
        registry,
        Gaps(registry, fleet, clock, LOST_SECONDS),
        node.applying,
        Usage(link, fleet, dict, lambda *_: None),
        clock,
    )
    of_author = FleetTable()
    of_author.named(author)
    async with aclosing(link.redis):
        await registry_of(author.partition(".")[0], link, of_author, clock).step(0)
        await registry.step(0)
        yield Reading(node, registry, follower, clock, link, LOST_SECONDS)
