"""Who may ask how often. Law: a request that ends in 400 or above costs its bot nothing.

A proven caller is counted per bot and endpoint, over all the bot's keys. Before a key is proven, the only
name a caller has is its address, and what counts there is failures, with API keys and with operator tokens
alike: an address that keeps failing is refused before anything else is looked at. A refusal by a limit (429)
and a fault of ours (5xx) are not the address's failures: a bot that polls past its limit must not shut its
neighbours behind the same address out.
"""

from collections.abc import Callable

from ratelimit.bucket import Buckets, Decision, Policy

Began = Callable[[str, Decision], None]
"""Told of an address, by its key, when it begins to be refused."""


def is_failure(status: int) -> bool:
    """Whether an answer counts against the caller's address."""
    return 400 <= status < 500 and status != 429


class FailureGuard:
    """Counts the failures of addresses; holds at most `capacity` of them."""

    def __init__(self, policy: Policy, capacity: int, began: Began = lambda _, __: None) -> None:
        self._policy = policy
        self._began = began
        self._buckets = Buckets(capacity)

    def __len__(self) -> int:
        return len(self._buckets)

    def check(self, key: str, now_ns: int) -> Decision:
        return self._buckets.peek(key, self._policy, now_ns)

    def refusal(self, key: str, now_ns: int) -> Decision | None:
        """What shuts the address out, if it has failed too often. Costs next to nothing if it never has."""
        if key not in self._buckets:
            return None
        decision = self.check(key, now_ns)
        return None if decision.allowed else decision

    def failed(self, key: str, now_ns: int) -> Decision:
        """Counts a failure and tells what is left."""
        decision = self._buckets.take(key, self._policy, now_ns)
        if decision.allowed and not decision.remaining and key in self._buckets:
            self._began(key, decision)
        return decision
