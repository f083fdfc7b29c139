"""Buckets that several nodes take from. Law: what was taken elsewhere counts as soon as it is heard of.

Each node decides by itself and tells the others now and then what it has allowed. So together they may allow
too much: what the others allowed since they last told.
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
        """What was allowed here since the last call, by key."""
        untold, self._untold = self._untold, defaultdict(int)
        return {key: used for key, used in untold.items() if used}

    def heard(self, key: str, policy: Policy, now_ns: int, used: int) -> None:
        """Counts what another node has allowed; opens a window if none is open."""
        if not self.add(key, policy, now_ns, used) and used > 0:
            self.restore(key, now_ns, used)
