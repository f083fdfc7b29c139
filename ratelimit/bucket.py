"""Token buckets that refill whole, and the limits made of them. Invariant: a bucket exists only while a take
is kept, and is two numbers.

A window opens with the first take and lasts `policy.window_seconds`. At its end all tokens are back at once.
Clients of fixed windows expect that, and it gives `reset` one meaning; but no window starts before its first
request. A take that is given back leaves no trace: if it was the only one, the window closes again. Time is
monotonic and in integer nanoseconds, so the promised wait is exact.

A caller with a valid key is counted per bot and endpoint, over all keys of the bot. Any other caller is known
by its address alone, and only its failures count, with API keys and with operator tokens alike. Further
failures of an address that keeps failing are refused; a valid key or token is served there too. A refusal by
a limit (429) and a fault of ours (5xx) are no failures of the address.

Responses have a decision as headers. `ratelimit-limit`, `-remaining` and `-reset` are the contract's;
`ratelimit-policy` adds the window's length in the form of draft-ietf-httpapi-ratelimit-headers ("100;w=300"),
and a refusal adds `retry-after` (RFC 9110, 10.2.3). Times are seconds, rounded up, so a client that waits
that long is never early.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

NS = 1_000_000_000


class Policy(Protocol):
    """`requests` per window of `window_seconds`."""

    @property
    def requests(self) -> int: ...
    @property
    def window_seconds(self) -> int: ...


class Decision(Struct, frozen=True, gc=False):
    """Lets a request pass or not, with the numbers for its headers. `started_ns` identifies the window."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int
    window_seconds: int
    started_ns: int


class TooManyRequests(Exception):
    """A limit is used up. `limits` says when to come again."""

    def __init__(self, limits: Decision) -> None:
        super().__init__(f"{limits.limit} in {limits.window_seconds} s")
        self.limits = limits


class _Bucket:
    __slots__ = ("started_ns", "used")

    def __init__(self, started_ns: int) -> None:
        self.started_ns = started_ns
        self.used = 0


class Buckets:
    """One bucket per key. The policy may change from call to call; used tokens stay used.

    With a `capacity`, a key beyond it is answered as unused and not remembered, so strangers never evict a
    live bucket. All windows must then have one length, because buckets leave in order of arrival.
    """

    def __init__(self, capacity: int | None = None) -> None:
        # Not a dict: that one finds its first entry only behind all that were removed from its front.
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._capacity = capacity
        self.refused = 0
        """The number of requests to `take` that found no token. Others are not counted, because
        they are many and must be quick."""

    def __len__(self) -> int:
        return len(self._buckets)

    def __contains__(self, key: str) -> bool:
        """Return True if a window was opened; it may have ended since."""
        return key in self._buckets

    def take(self, key: str, policy: Policy, now_ns: int) -> Decision:
        """Take one token if there is one."""
        requests, window_seconds = policy.requests, policy.window_seconds
        window_ns = window_seconds * NS
        bucket = self._buckets.get(key)
        if bucket is None or now_ns - bucket.started_ns >= window_ns:
            bucket = self._open(key, now_ns, window_ns)
        used, started_ns = bucket.used, bucket.started_ns
        reset_seconds = -((now_ns - started_ns - window_ns) // NS)
        allowed = used < requests
        if allowed:
            bucket.used = used + 1
        else:
            self.refused += 1
        remaining = requests - used - 1 if allowed else 0
        return Decision(allowed, requests, remaining, reset_seconds, window_seconds, started_ns)

    def peek(self, key: str, policy: Policy, now_ns: int) -> Decision:
        """Return the decision of a `take`, without taking. With no window open, `reset` is a full window."""
        bucket = self._buckets.get(key)
        if bucket is None or now_ns - bucket.started_ns >= policy.window_seconds * NS:
            return _decision(policy, 0, now_ns, now_ns)
        return _decision(policy, bucket.used, bucket.started_ns, now_ns)

    def give_back(self, key: str, decision: Decision) -> bool:
        """Undo an allowed `take`, and return True, unless its window has ended meanwhile."""
        bucket = self._buckets.get(key)
        if bucket is None or bucket.started_ns != decision.started_ns or not decision.allowed:
            return False
        bucket.used -= 1
        if bucket.used <= 0:
            del self._buckets[key]
        return True

    def restore(self, key: str, started_ns: int, used: int) -> None:
        """Take over a window that an earlier process opened. `started_ns` may be negative."""
        bucket = self._buckets[key] = _Bucket(started_ns)
        bucket.used = used

    def add(self, key: str, policy: Policy, now_ns: int, used: int) -> bool:
        """Count takes of other nodes, and return True, if a window is open here."""
        bucket = self._buckets.get(key)
        if bucket is None or now_ns - bucket.started_ns >= policy.window_seconds * NS:
            return False
        bucket.used = max(bucket.used + used, 0)
        return True

    def forget(self, key: str) -> None:
        self._buckets.pop(key, None)

    def keys(self) -> list[str]:
        """Return all keys. The windows of some may be over."""
        return list(dict.keys(self._buckets))  # 30 times as quick as the iterator of an OrderedDict

    def _open(self, key: str, now_ns: int, window_ns: int) -> _Bucket:
        buckets = self._buckets
        buckets.pop(key, None)
        if self._capacity is not None:
            # Oldest first, at most two: so each new bucket removes more than it adds.
            for _ in range(2):
                oldest = next(iter(buckets), None)
                if oldest is None or now_ns - buckets[oldest].started_ns < window_ns:
                    break
                del buckets[oldest]
            if len(buckets) >= self._capacity:
                return _Bucket(now_ns)
        bucket = buckets[key] = _Bucket(now_ns)
        return bucket


def _decision(policy: Policy, used: int, started_ns: int, now_ns: int) -> Decision:
    requests, window_seconds = policy.requests, policy.window_seconds
    remaining = requests - used if used < requests else 0
    reset_seconds = -((now_ns - started_ns - window_seconds * NS) // NS)
    return Decision(used < requests, requests, remaining, reset_seconds, window_seconds, started_ns)


class SharedBuckets(Buckets):
    """Buckets that several nodes take from.

    Invariant: a take of another node counts as soon as this node hears of it.

    Each node decides alone and regularly sends the others the number of takes that it has allowed. So the
    fleet may exceed the limit by the takes that are not sent yet.
    """

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


def headers(decision: Decision) -> dict[str, str]:
    reset = str(decision.reset_seconds)
    named = {
        "ratelimit-limit": str(decision.limit),
        "ratelimit-remaining": str(decision.remaining),
        "ratelimit-reset": reset,
        "ratelimit-policy": f"{decision.limit};w={decision.window_seconds}",
    }
    if not decision.allowed:
        named["retry-after"] = reset
    return named


LINES = (
    b"Ratelimit-Limit: %d\r\nRatelimit-Remaining: %d\r\nRatelimit-Reset: %d\r\nRatelimit-Policy: %d;w=%d\r\n"
)
"""The same as header lines with places for `numbers`: the hot path has no time for a dict."""


def numbers(decision: Decision) -> tuple[int, int, int, int, int]:
    limit = decision.limit
    return limit, decision.remaining, decision.reset_seconds, limit, decision.window_seconds
