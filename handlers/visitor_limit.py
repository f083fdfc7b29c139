"""Limits on what one user or one address may do.

Invariant: a user or address that acts too often slows no other one down.
"""

from core.clock import Clock
from core.rows import Policy
from ratelimit.bucket import Buckets, Decision, TooManyRequests

MOST_KEYS = 10_000
"""The users or addresses that a limit counts."""


class VisitorLimit:
    """A limit on an action for each user or each address."""

    def __init__(self, policy: Policy, clock: Clock, most_keys: int = MOST_KEYS) -> None:
        self._policy = policy
        self._clock = clock
        self._taken = Buckets(most_keys)

    def count(self, key: str) -> Decision:
        """Count an action, and return the decision about it."""
        return self._taken.take(key, self._policy, self._clock.monotonic_ns())

    def take(self, key: str) -> None:
        """Count an action. Raises TooManyRequests for one too many."""
        decision = self.count(key)
        if not decision.allowed:
            raise TooManyRequests(decision)
