"""The guards of the vote button, beside the rule of the cooldown.

Invariant: a guard delays or flags a vote, and drops none.

    young account -> one user too often -> one address too often -> the rules that make a vote suspicious

Two rules make a vote suspicious: many accounts vote from one address, or many vote for one listing at once.
All counts are of this process, and all are bounded. A further user or address is not counted, so nobody
pushes out the count of another. Addresses are kept in memory alone, and for an hour at most.
"""

from collections import OrderedDict
from typing import NamedTuple

from chatplatform.answers import created_ms
from core.clock import MS_PER_DAY, NS_PER_SECOND, Clock
from core.rows import FlagRule, Policy
from handlers.visitor_limit import VisitorLimit
from ratelimit.address import address_key
from ratelimit.bucket import Buckets

MOST_USERS = 100_000
MOST_ADDRESSES = 10_000
MOST_LISTINGS = 10_000
CROWD_SECONDS = 3_600


class GuardPolicy(NamedTuple):
    """The settings of the guards, which `votes` in config.yaml explains."""

    min_account_days: int
    of_user: Policy
    of_address: Policy
    accounts: int
    """The accounts of one address that vote within CROWD_SECONDS before a further one is suspicious."""
    burst: Policy


class Tripped(NamedTuple):
    """A rule that makes a vote suspicious, up to a time (Unix ms)."""

    rule: FlagRule
    until_ms: int


class VoteGuards:
    def __init__(self, policy: GuardPolicy, clock: Clock) -> None:
        self._policy = policy
        self._clock = clock
        self._users = VisitorLimit(policy.of_user, clock, MOST_USERS)
        self._addresses = VisitorLimit(policy.of_address, clock, MOST_ADDRESSES)
        self._bursts = Buckets(MOST_LISTINGS)
        self._crowds = _Crowds()

    def old_enough_ms(self, user: str) -> int:
        """Return the time from which an account may vote (Unix ms)."""
        days = self._policy.min_account_days
        return created_ms(user) + days * MS_PER_DAY if days else 0

    def take(self, user: str, address: str) -> None:
        """Count a press of the button. Raises TooManyRequests for one too many."""
        self._users.take(user)
        self._addresses.take(address_key(address))

    def tripped(self, ref: str, user: str, address: str) -> Tripped | None:
        """Return the rule that makes the vote suspicious, if one does."""
        now_ns = self._clock.monotonic_ns()
        ends_ns = self._crowds.full_until_ns(address_key(address), user, self._policy.accounts, now_ns)
        if ends_ns is not None:
            return self._until("crowded_address", -(-(ends_ns - now_ns) // NS_PER_SECOND))
        burst = self._bursts.peek(ref, self._policy.burst, now_ns)
        return None if burst.allowed else self._until("burst", burst.reset_seconds)

    def count(self, ref: str, user: str, address: str) -> None:
        """Count a vote that is about to be taken."""
        now_ns = self._clock.monotonic_ns()
        self._bursts.take(ref, self._policy.burst, now_ns)
        self._crowds.add(address_key(address), user, self._policy.accounts, now_ns)

    def _until(self, rule: FlagRule, seconds: int) -> Tripped:
        return Tripped(rule, self._clock.now_ms() + seconds * 1_000)


class _Crowd(NamedTuple):
    started_ns: int
    users: set[int]


class _Crowds:
    """The accounts that voted from each address since its window began.

    All windows have one length, so the oldest come first.
    """

    def __init__(self) -> None:
        self._crowds: OrderedDict[str, _Crowd] = OrderedDict()

    def full_until_ns(self, key: str, user: str, most: int, now_ns: int) -> int | None:
        """Return the end of an address's window that has its accounts already, without this one."""
        crowd = self._crowds.get(key)
        if crowd is None or _is_over(crowd, now_ns) or int(user) in crowd.users or len(crowd.users) < most:
            return None
        return crowd.started_ns + CROWD_SECONDS * NS_PER_SECOND

    def add(self, key: str, user: str, most: int, now_ns: int) -> None:
        crowd = self._crowds.get(key)
        if crowd is None or _is_over(crowd, now_ns):
            self._crowds.pop(key, None)
            self._drop_old(now_ns)
            if len(self._crowds) >= MOST_ADDRESSES:
                return
            crowd = self._crowds[key] = _Crowd(now_ns, set())
        if len(crowd.users) < most:
            crowd.users.add(int(user))

    def _drop_old(self, now_ns: int) -> None:
        """Drop two at most, so each new window removes more than it adds."""
        for _ in range(2):
            oldest = next(iter(self._crowds), None)
            if oldest is None or not _is_over(self._crowds[oldest], now_ns):
                return
            del self._crowds[oldest]


def _is_over(crowd: _Crowd, now_ns: int) -> bool:
    return now_ns - crowd.started_ns >= CROWD_SECONDS * NS_PER_SECOND
