"""The two endpoints of the contract. Law: both run the same checks in the same order.

    address failure guard (429) -> Authorization missing (401) -> bot unknown (404)
    -> key not valid for this bot (401) -> rate limit (429) -> the request itself (400, 413)
    -> look-up (500, 400) -> commit (200, 503)

Every answer carries the `ratelimit-*` headers of whoever was counted: the bot once its key is proven, the
client's address before that. `voters` is the hot path: one synchronous function, straight from memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core import rows
from core.clock import NS_PER_SECOND, Clock
from core.events import Event, ListingRemoved
from core.ledger import Ledger
from core.refusals import StatsRefused, Unavailable
from core.rows import Listing
from core.snowflake import is_snowflake
from handlers.reply import (
    AUTHORIZATION_REQUIRED,
    BOT_NOT_FOUND,
    INVALID_KEY,
    TOO_MANY_REQUESTS,
    BadRequest,
    Reply,
    encode_json,
    failure,
    reply_to,
    success,
)
from handlers.request import json_object
from listings.keys import KeyDigester, is_granted
from listings.stats import check_difference, read_stats, update_stats
from ratelimit.address import address_key
from ratelimit.bucket import Buckets, Decision, Policy
from ratelimit.headers import headers
from ratelimit.limiter import FailureGuard, is_failure
from votes.queries import vote_status

MALFORMED_USER = "The user id must be a snowflake: 17 to 20 digits."


class GuildCounts(Protocol):
    async def actual(self, ref: str) -> int | None:
        """The bot's actual server count, or None when it is not known."""


@dataclass(frozen=True)
class PublicLimits:
    """Buckets and default policies of both endpoints, and the guard in front of them."""

    guard: FailureGuard
    stats_policy: Policy
    voters_policy: Policy
    stats: Buckets = field(default_factory=Buckets)
    voters: Buckets = field(default_factory=Buckets)


class PublicApi:
    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        digester: KeyDigester,
        limits: PublicLimits,
        guild_counts: GuildCounts,
        *,
        window_ms: int,
        max_difference: int,
        max_body_bytes: int,
    ) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._clock = clock
        self._digester = digester
        self._limits = limits
        self._guild_counts = guild_counts
        self._window_ms = window_ms
        self._max_difference = max_difference
        self._max_body_bytes = max_body_bytes
        self._restore_stats_windows()
        ledger.subscribe(self._on_record)

    def voters(self, bot_id: str, user_id: str, authorization: str | None, address: str) -> Reply:
        """GET /bots/{id}/voters/{user_id}"""
        now_ns, now_ms, caller = self._clock.monotonic_ns(), self._clock.now_ms(), address_key(address)
        bot = self._admit(bot_id, authorization, caller, now_ns, now_ms)
        if isinstance(bot, Reply):
            return bot
        buckets, policy = self._limits.voters, bot.voters_limit or self._limits.voters_policy
        decision = buckets.take(bot.ref, policy, now_ns)
        if not decision.allowed:
            return failure(429, TOO_MANY_REQUESTS, headers(decision))
        if not is_snowflake(user_id):
            buckets.give_back(bot.ref, decision)
            self._limits.guard.failed(caller, now_ns)
            return failure(400, MALFORMED_USER, headers(buckets.peek(bot.ref, policy, now_ns)))
        try:
            voted, vote, last_ms = vote_status(self._state, bot.ref, user_id, now_ms, self._window_ms)
        except Exception:
            buckets.give_back(bot.ref, decision)
            raise
        body = encode_json({"voted": voted, "vote": vote, "lastVote": last_ms})
        return Reply(200, body, headers(decision))

    async def stats(self, bot_id: str, authorization: str | None, address: str, body: bytes | None) -> Reply:
        """PATCH /bots/{id}/stats"""
        now_ns, now_ms, caller = self._clock.monotonic_ns(), self._clock.now_ms(), address_key(address)
        bot = self._admit(bot_id, authorization, caller, now_ns, now_ms)
        if isinstance(bot, Reply):
            return bot
        buckets, policy = self._limits.stats, bot.stats_limit or self._limits.stats_policy
        decision = buckets.take(bot.ref, policy, now_ns)
        if not decision.allowed:
            return failure(429, TOO_MANY_REQUESTS, headers(decision))
        kept = False
        try:
            reply = await self._update(bot.ref, body, authorization or "", policy, decision)
            kept = reply.status < 400
        finally:
            if not kept:
                buckets.give_back(bot.ref, decision)
        now_ns = self._clock.monotonic_ns()
        if is_failure(reply.status):
            self._limits.guard.failed(caller, now_ns)
        decision = buckets.peek(bot.ref, policy, now_ns)._replace(allowed=True)
        return reply._replace(headers={**reply.headers, **headers(decision)})

    def unproven(self, address: str, reply: Reply) -> Reply:
        """An answer that neither endpoint made (405, OPTIONS), with the caller's headers; or 429."""
        now_ns, caller = self._clock.monotonic_ns(), address_key(address)
        decision = self._limits.guard.check(caller, now_ns)
        if not decision.allowed:
            return failure(429, TOO_MANY_REQUESTS, headers(decision))
        if is_failure(reply.status):
            decision = self._limits.guard.failed(caller, now_ns)
        return reply._replace(headers={**reply.headers, **headers(decision)})

    def limits_of(self, bot: Listing) -> Mapping[str, Decision]:
        """What the next request to each endpoint would meet."""
        now_ns = self._clock.monotonic_ns()
        limits = self._limits
        return {
            "stats": limits.stats.peek(bot.ref, bot.stats_limit or limits.stats_policy, now_ns),
            "voters": limits.voters.peek(bot.ref, bot.voters_limit or limits.voters_policy, now_ns),
        }

    def _admit(
        self, bot_id: str, authorization: str | None, caller: str, now_ns: int, now_ms: int
    ) -> Listing | Reply:
        """The bot whose key this is, or the refusal."""
        guard = self._limits.guard
        decision = guard.check(caller, now_ns)
        if not decision.allowed:
            return failure(429, TOO_MANY_REQUESTS, headers(decision))
        ref = rows.BOTS + bot_id
        bot = self._state.listings.get(ref)
        if not authorization:
            status, text = 401, AUTHORIZATION_REQUIRED
        elif bot is None:
            status, text = 404, BOT_NOT_FOUND
        elif not is_granted(self._state, ref, self._digester.digest(authorization), now_ms):
            status, text = 401, INVALID_KEY
        else:
            return bot
        return failure(status, text, headers(guard.failed(caller, now_ns)._replace(allowed=True)))

    async def _update(
        self, ref: str, body: bytes | None, authorization: str, policy: Policy, decision: Decision
    ) -> Reply:
        try:
            update = read_stats(json_object(body, self._max_body_bytes))
            if update.server_count is not None:
                actual = await self._guild_counts.actual(ref)
                check_difference(update.server_count, actual, self._max_difference)
            now_ms = self._clock.now_ms()
            # The look-up took its time: the bot or the key may be gone, or the bot listed anew by another.
            if ref not in self._state.listings:
                return failure(404, BOT_NOT_FOUND)
            if not is_granted(self._state, ref, self._digester.digest(authorization), now_ms):
                return failure(401, INVALID_KEY)
            open_ms = (self._clock.monotonic_ns() - decision.started_ns) // 1_000_000
            events = update_stats(
                self._state,
                ref,
                update,
                window_started_ms=now_ms - open_ms,
                window_seconds=policy.window_seconds,
                now_ms=now_ms,
            )
            await self._ledger.durable(self._ledger.commit(events))
        except (StatsRefused, BadRequest, Unavailable) as error:
            return reply_to(error)
        return success()

    def _on_record(self, _: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ListingRemoved):
                self._limits.stats.forget(event.ref)
                self._limits.voters.forget(event.ref)

    def _restore_stats_windows(self) -> None:
        """Takes up the windows of committed updates, so that a restart gives no one new tokens."""
        now_ms, now_ns = self._clock.now_ms(), self._clock.monotonic_ns()
        for bot in self._state.listings.values():
            window, policy = bot.stats_window, bot.stats_limit or self._limits.stats_policy
            if window is None:
                continue
            open_ms = max(now_ms - window.started_ms, 0)
            if open_ms < policy.window_seconds * 1_000:
                started_ns = now_ns - open_ms * (NS_PER_SECOND // 1_000)
                self._limits.stats.restore(bot.ref, started_ns, window.used)
