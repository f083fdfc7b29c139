"""A limit on an act for each user. A user who acts too often slows nobody else down."""

from core.clock import Clock
from core.rows import Policy
from ratelimit.bucket import Buckets, TooMany

MOST_USERS = 10_000
"""The users whose acts are counted."""


class UserLimit:
    def __init__(self, policy: Policy, clock: Clock) -> None:
        self._policy = policy
        self._clock = clock
        self._taken = Buckets(MOST_USERS)

    def take(self, user_id: str) -> None:
        """Count an act of the user. Raises TooMany for one too many."""
        taken = self._taken.take(user_id, self._policy, self._clock.monotonic_ns())
        if not taken.allowed:
            raise TooMany(taken)
