"""Buckets that several nodes take from.

Invariant: a take of another node counts as soon as this node hears of it.

Each node decides alone and regularly sends the others the number of takes that it has allowed. So the fleet
may exceed the limit by the takes that are not sent yet.
"""

from collections import defaultdict

from ratelimit.bucket import Buckets, Decision, Policy


class SharedBuckets(Buckets):
    def __init__(self) -> None:
        super().__init__()
        self._untold: defaultdict[str, int] = defaultdict(int)

    def take(self, key: str, policy: Policy, now_ns: int) -> Decision:
        decision = Buckets.take(self, key, policy, now_ns)  # super() takes a third as long as the take
        if decision.allowed:
            self._untold[key] += 1
        return decision

    def give_back(self, key: str, decision: Decision) -> bool:
        given_back = super().give_back(key, decision)
        if given_back:
            self._untold[key] -= 1
        return given_back

    def told(self) -> dict[str, int]:
        """Return the number of takes since the last call, by key."""
        untold, self._untold = self._untold, defaultdict(int)
        return {key: used for key, used in untold.items() if used}

    def heard(self, key: str, policy: Policy, now_ns: int, used: int) -> None:
        """Count takes of another node; open a window if none is open."""
        if not self.add(key, policy, now_ns, used) and used > 0:
            self.restore(key, now_ns, used)
