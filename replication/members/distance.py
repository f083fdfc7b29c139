"""A Redis that is far away. Invariant: a node warns while votes wait for it longer than the settings say.

One slow heartbeat may be this process's own: only the quickest of the latest ones tells how far Redis is.
"""

from core.clock import NS_PER_SECOND
from replication.members.claims import ROUND_TRIPS_WAITED, ClaimPolicy
from replication.members.registry import ROUND_TRIPS, Registry
from replication.members.warnings import Warnings


class Distance:
    def __init__(self, registry: Registry, policy: ClaimPolicy, warnings: Warnings) -> None:
        self._registry = registry
        self._policy = policy
        self._warnings = warnings

    def look(self) -> None:
        """Compare the round trip with the time that a vote waits; to be called with every heartbeat."""
        round_trips_ns = self._registry.round_trips_ns
        if len(round_trips_ns) < ROUND_TRIPS:
            return
        policy, seconds = self._policy, min(round_trips_ns) / NS_PER_SECOND
        ms, waits, most = round(seconds * 1_000), ROUND_TRIPS_WAITED * seconds, policy.longest_seconds
        self._warnings.note(
            ("unclaimed", ""),
            f"Redis answers after {ms} ms: votes may go unclaimed, and users vote twice; "
            f"redis.claim_longest_seconds is {most:g} and should be {waits:.1f}"
            if 2 * seconds > most
            else None,
            "Redis answers in time again for redis.claim_longest_seconds",
        )
        self._warnings.note(
            ("round trip", ""),
            f"Redis answers after {ms} ms: a vote waits up to {min(waits, most):.1f} s for its claim, not "
            f"redis.claim_timeout_seconds ({policy.timeout_seconds:g})"
            if 2 * seconds > policy.timeout_seconds
            else None,
            "Redis answers in time again for redis.claim_timeout_seconds",
        )
