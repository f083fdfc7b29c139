"""The limits of bots and callers. Invariant: a request that ends in 400 or above costs its bot nothing.

A caller with a valid key is counted per bot and endpoint, over all keys of the bot. Any other caller is known
by its address alone, and only its failures count, with API keys and with operator tokens alike. Further
failures of an address that keeps failing are refused; a valid key or token is served there too. A refusal by
a limit (429) and a fault of ours (5xx) are no failures of the address.
"""

from collections.abc import Callable

from ratelimit.bucket import Buckets, Decision, Policy

Began = Callable[[str, Decision], None]
"""Called with the key of an address when its refusal begins."""


def is_failure(status: int) -> bool:
    """Return True if an answer counts against the address of its caller."""
    return 400 <= status < 500 and status != 429


class FailureGuard:
    """Counts the failures of at most `capacity` addresses."""

    def __init__(self, policy: Policy, capacity: int, began: Began = lambda _, __: None) -> None:
        self.policy = policy
        self._began = began
        self._buckets = Buckets(capacity)
        self.failures = 0
        """The number of failures that were counted."""
        self.refused = 0
        """The number of requests that were refused."""

    def __len__(self) -> int:
        return len(self._buckets)

    def keys(self) -> list[str]:
        """Return the keys of all addresses that are counted. The windows of some may be over."""
        return self._buckets.keys()

    def check(self, key: str, now_ns: int) -> Decision:
        return self._buckets.peek(key, self.policy, now_ns)

    def refusal(self, key: str, now_ns: int) -> Decision | None:
        """Return the decision that refuses a failing address; None if the failure itself is the answer."""
        if key not in self._buckets:
            return None
        decision = self.check(key, now_ns)
        if decision.allowed:
            return None
        self.refused += 1
        return decision

    def failed(self, key: str, now_ns: int) -> Decision:
        """Count a failure and return the decision that follows."""
        self.failures += 1
        decision = self._buckets.take(key, self.policy, now_ns)
        if decision.allowed and not decision.remaining and key in self._buckets:
            self._began(key, decision)
        return decision
