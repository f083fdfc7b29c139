"""The membership of this gateway in a fleet, as the rest of the gateway knows it. No logic.

Only a gateway that joins a fleet imports `fleet_node.py`, and with it replication and Redis's client. One
that serves alone would pay for them with a tenth of its start.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.rows import Policy
from gateway.readers import FleetReaders
from ratelimit.shared import SharedBuckets
from settings.model import Settings

if TYPE_CHECKING:
    from replication.members.claims import Claims
    from replication.members.isolation import Isolation
    from replication.node import Node


@dataclass(frozen=True)
class Membership:
    """The parts of the fleet that the rest of the gateway uses."""

    node: "Node"
    claims: "Claims"
    isolation: "Isolation"
    digest_of: Callable[[str], str]
    """Returns the keyed digest by which a fleet remembers an erased user."""
    readers: FleetReaders
    voters: SharedBuckets
    """The buckets of vote checks, shared by all nodes."""


@dataclass(frozen=True)
class FleetTerms:
    """The settings that a fleet goes by, which must be alike on every node."""

    alike: Mapping[str, str]
    """Each of them as text, by its name."""
    cooldown_ms: int
    voters: Policy
    sends_reminders: bool


def fleet_terms(settings: Settings) -> FleetTerms:
    voters = settings.limits.voters
    return FleetTerms(
        alike(settings),
        round(settings.votes.cooldown_seconds * 1_000),
        Policy(voters.requests, voters.window_seconds),
        settings.web.public_url is not None and settings.chat_platform.bot_token is not None,
    )


def alike(settings: Settings) -> Mapping[str, str]:
    """The settings that decide what a fleet answers and does, whichever node is asked."""
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
