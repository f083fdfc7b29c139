"""Claims: leases on votes, so that a user votes once in the whole fleet, and notes of values that count once.

Invariant: a vote waits briefly for its claim.

A node claims a vote in Redis before it takes it: of two nodes that are asked at once, one gets the claim. The
claim is short at first, so that a node that dies with it keeps nobody from voting, and lasts as long as the
cooldown once the vote is on disk. The wait follows the round trips to Redis. When Redis does not answer in
time, the node decides by what it knows, and asks nothing for a moment: then a user can vote at two nodes that
do not reach each other.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from core.clock import NS_PER_SECOND, Clock
from core.state import State
from languages.refusals import voted_too_soon
from replication.facts import KeyedDigests
from replication.redis_link import UNREACHABLE, Link

log = logging.getLogger(__name__)

FIRST_MS = 10_000
PAUSE_SECONDS = 1.0
ROUND_TRIPS_WAITED = 4  # a connection, a claim, the replacement of one that is over, and one to spare
MS_DIGITS = 16


@dataclass(frozen=True)
class ClaimPolicy:
    cooldown_ms: int
    timeout_seconds: float
    """The time that a vote waits for Redis where Redis is near."""
    longest_seconds: float
    """The time that it waits at most, however far Redis is."""


class Claims:
    def __init__(
        self,
        link: Link,
        digests: KeyedDigests,
        state: State,
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], object],
        policy: ClaimPolicy,
        round_trips_ns: Sequence[int] = (),
    ) -> None:
        """
        Args:
            spawn: starts a task that belongs to the caller.
            round_trips_ns: the times that Redis took to answer most recently, kept up to date by the caller.
        """
        self._link = link
        self._digests = digests
        self._state = state
        self._clock = clock
        self._spawn = spawn
        self.policy = policy
        self._round_trips_ns = round_trips_ns
        self._paused_until_ns = 0
        self.is_answering = True

    @property
    def wait_seconds(self) -> float:
        """The time that a vote waits for Redis: some round trips, within the bounds of the policy.

        Before the first one is measured it is the longest: a Redis that is far must not let users vote twice.
        """
        policy = self.policy
        slowest_ns = max(self._round_trips_ns, default=None)
        if slowest_ns is None:
            return policy.longest_seconds
        needed = ROUND_TRIPS_WAITED * slowest_ns / NS_PER_SECOND
        return min(max(policy.timeout_seconds, needed), policy.longest_seconds)

    @asynccontextmanager
    async def holding(self, ref: str, user: str, at_ms: int) -> AsyncIterator[None]:
        """Return a context in which this node alone takes the vote. Raises Refusal."""
        key, claim = self._link.key("vote", self._digests.vote(ref, user)), f"{at_ms} {secrets.token_hex(8)}"
        fleet, votes = self._state.fleet, self._state.votes
        forgotten_ms = max(fleet.removed.get(ref, 0), fleet.erased.get(self._digests.user(user), 0))
        held = await self._take(key, claim, at_ms, max(forgotten_ms, at_ms - self.policy.cooldown_ms))
        try:
            yield
        except BaseException:
            vote = votes.get(ref, int(user))
            if held and (vote is None or vote[1] < at_ms):  # else the state has it, though the disk failed
                self._spawn(self._in_time(self._link.give_back(key, claim)))
            raise
        if held:
            self._spawn(self._in_time(self._keep(key, claim)))

    async def first_use(self, digest: str, seconds: float) -> bool:
        """Return True if no node has used the value with this digest before, or if Redis does not answer."""
        if self._clock.monotonic_ns() < self._paused_until_ns:
            return True
        try:
            async with asyncio.timeout(self.wait_seconds):
                return bool(
                    await self._link.redis.set(
                        self._link.key("used", digest), b"", nx=True, ex=round(seconds)
                    )
                )
        except UNREACHABLE:
            return True

    async def _take(self, key: str, claim: str, at_ms: int, over_ms: int) -> bool:
        """Return True if this node got the claim, False if Redis does not answer. Claims of up to `over_ms`
        are over. Raises Refusal."""
        if self._clock.monotonic_ns() < self._paused_until_ns:
            return False
        if not self.is_answering:
            self._pause()  # this vote asks for all others
        first_ms = min(FIRST_MS, self.policy.cooldown_ms)
        pipeline = self._link.redis.pipeline(transaction=False)
        pipeline.set(key, claim, nx=True, px=first_ms)
        pipeline.get(key)
        try:
            async with asyncio.timeout(self.wait_seconds):
                taken, value = await pipeline.execute()
                claimed_ms = 0 if taken else _claimed_ms(value)
                if not taken and self._is_over(claimed_ms, over_ms):
                    claimed_ms = await self._replace(key, claim, value)
        except UNREACHABLE as error:
            self._unanswered(error)
            return False
        if not self.is_answering:
            log.info("votes are claimed again")
        self.is_answering = True
        self._paused_until_ns = 0
        if self._is_over(claimed_ms, over_ms):
            return True
        next_vote_ms = claimed_ms + self.policy.cooldown_ms
        raise voted_too_soon(next_vote_ms, min(at_ms, next_vote_ms - 1))

    def _is_over(self, claimed_ms: int, over_ms: int) -> bool:
        """Return True if the claim is over. A claim more than a cooldown ahead is no node's."""
        return not over_ms < claimed_ms <= over_ms + 2 * self.policy.cooldown_ms

    async def _replace(self, key: str, claim: str, stale: bytes | None) -> int:
        """Replace a claim that is over. Returns 0, or the time of another node's claim that was quicker."""
        first_ms = min(FIRST_MS, self.policy.cooldown_ms)
        replaced = await self._link.redis.set(key, claim, px=first_ms, get=True)
        if not isinstance(replaced, bytes) or replaced == stale:
            return 0
        await self._link.redis.set(key, replaced, px=first_ms)  # its node will extend it
        return _claimed_ms(replaced)

    def _unanswered(self, error: Exception) -> None:
        self._pause()
        if self.is_answering:
            log.warning("votes are not claimed: Redis does not answer (%s)", type(error).__name__)
        self.is_answering = False
        self._spawn(self._link.drop_idle())  # or the next vote could get a connection that is dead unnoticed

    def _pause(self) -> None:
        self._paused_until_ns = self._clock.monotonic_ns() + round(PAUSE_SECONDS * NS_PER_SECOND)

    async def _in_time(self, command: Coroutine[None, None, None]) -> None:
        """Run the command if Redis answers in time. A failure needs no repair: the claim stays short."""
        with suppress(*UNREACHABLE):
            async with asyncio.timeout(self.wait_seconds):
                await command

    async def _keep(self, key: str, claim: str) -> None:
        await self._link.redis.set(key, claim, px=self.policy.cooldown_ms)


def _claimed_ms(value: bytes | None) -> int:
    """Return the time of a claim; 0 for a value that no node has written."""
    ms, _, _ = (value or b"").partition(b" ")
    return int(ms) if ms.isdigit() and len(ms) < MS_DIGITS else 0
