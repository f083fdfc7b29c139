"""The two endpoints of the contract. Invariant: both run the same checks in the same order.

    Authorization missing (401) -> bot unknown (404) -> key not valid for this bot (401)
    -> rate limit (429) -> the request itself (400, 413) -> look-up (500, 400) -> commit (200, 503)

The first three are 429 at an address that keeps failing. A valid key is served at any address, because many
bots share the address of their host.

Every answer carries the `ratelimit-*` headers of one bucket: the bot's once its key is proven, that of the
client's address before. `voters` is the hot path: one synchronous function, straight from memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from core.clock import NS_PER_MS, Clock
from core.events import FREQUENT, Event, ListingMerged, ListingRemoved
from core.failures import Unavailable
from core.ledger import Ledger
from core.rows import Listing
from grammars.patterns import is_snowflake
from handlers.key_uses import KeyUses
from handlers.reply import Reply, encode_json, limited, refused, reply_to, success, without_code
from handlers.request import Request, json_object
from kinds.registry import KINDS
from languages.refusals import Refusal
from languages.said import Code
from listings.keys import KeyDigester, is_granted
from listings.stats import check_difference, committed_window, read_stats, update_stats
from listings.stats_problems import StatsProblems
from ratelimit.address import address_key
from ratelimit.bucket import Buckets, Decision, FailureGuard, Policy, is_failure
from votes.queries import vote_status
from watchers.missing_counts import MissingCounts

KIND = next(kind for kind in KINDS if kind.stats is not None)
"""The kind whose programs call these endpoints."""
_PREFIX = KIND.prefix  # a call of `ref` would cost a vote check 0.1 us
_AUTHORIZATION_REQUIRED = without_code(refused("authorization_required"))
_INVALID_KEY = without_code(refused("invalid_key"))
_KEY_WITH_SCHEME = without_code(refused("key_with_scheme"))
_BOT_NOT_FOUND = without_code(refused("bot_not_found"))
_MALFORMED_USER = without_code(refused("malformed_user"))
_TOO_MANY_REQUESTS = without_code(refused("too_many_requests"))


class GuildCounts(Protocol):
    async def actual(self, ref: str) -> int | None:
        """The bot's actual server count, or None when it is not known."""

    def missing(self, ref: str) -> str | None:
        """Return why `actual` cannot know it and what to do, in sentences; None if only a try can show it."""

    def retry_seconds(self, ref: str) -> int | None:
        """Return the seconds until the first answer about a bot may be known; None if none is awaited."""


@dataclass(frozen=True)
class PublicLimits:
    """Buckets and default policies of both endpoints, and the guard in front of them."""

    guard: FailureGuard
    stats_policy: Policy
    voters_policy: Policy
    stats: Buckets = field(default_factory=Buckets)
    voters: Buckets = field(default_factory=Buckets)

    def stats_policy_of(self, bot: Listing) -> Policy:
        return self.stats_policy if bot.limits is None else bot.limits.stats or self.stats_policy

    def voters_policy_of(self, bot: Listing) -> Policy:
        return self.voters_policy if bot.limits is None else bot.limits.voters or self.voters_policy

    def stats_of(self, bot: Listing, now_ns: int) -> Decision:
        """Return the limit that the bot's next push would meet."""
        return self.stats.peek(bot.ref, self.stats_policy_of(bot), now_ns)

    def voters_of(self, bot: Listing, now_ns: int) -> Decision:
        """Return the limit that the bot's next vote check would meet."""
        return self.voters.peek(bot.ref, self.voters_policy_of(bot), now_ns)


class Caller(NamedTuple):
    """A caller of the public endpoints.

    `address` is the key that failures are counted under. `digest` is the digest of the caller's key, or None.
    `has_scheme` is true if the key comes behind a word such as `Bearer`.
    """

    address: str
    digest: str | None
    has_scheme: bool = False


class PublicBounds(NamedTuple):
    """The bounds of the public endpoints.

    `window_ms` is the time for which a vote counts as recent. A server count may differ from the actual one
    by `max_difference`, or by 10% if that is more.
    """

    window_ms: int
    max_difference: int
    max_body_bytes: int


class PublicApi:
    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        digester: KeyDigester,
        limits: PublicLimits,
        guild_counts: GuildCounts,
        bounds: PublicBounds,
    ) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._listings = ledger.state.listings.by_ref
        self._clock = clock
        self._digester = digester
        self.limits = limits
        self._guild_counts = guild_counts
        self._window_ms, self._max_difference, self._max_body_bytes = bounds
        self._missing = MissingCounts(clock)
        self.problems = StatsProblems()
        self.uses = KeyUses(ledger, clock)
        self._note_use = self.uses.note
        self._dated: dict[str, tuple[int, int]] = {}
        """The last window of each bot's committed updates: its name in the limiter, and its start."""
        self._restore_stats_windows(clock.now_ms(), clock.monotonic_ns())

    def caller(self, authorization: str | None, address: str) -> Caller:
        """Return the caller that the checks need. Requests with the same key and address share one."""
        if not authorization:
            return Caller(address_key(address), None)
        scheme, space, _ = authorization.partition(" ")
        has_scheme = bool(space) and scheme.isalpha()
        return Caller(address_key(address), self._digester.digest(authorization), has_scheme)

    def check(self, request: Request) -> Reply:
        """GET /bots/{id}/voters/{user_id}"""
        bot_id, user_id = request.params
        caller = self.caller(request.authorization, request.address)
        return self.voters(bot_id, user_id, caller, self._clock.monotonic_ns())

    async def push(self, request: Request) -> Reply:
        """PATCH /bots/{id}/stats"""
        caller = self.caller(request.authorization, request.address)
        return await self.stats(request.params[0], caller, request.body)

    def bot_of(self, caller: Caller) -> str | None:
        """Return the id of the bot that the caller's key is for, or None. The key may have expired."""
        grant = self._state.listings.grants.get(caller.digest) if caller.digest is not None else None
        return grant.ref.partition("/")[2] if grant is not None else None

    def voters(self, bot_id: str, user_id: str, caller: Caller, now_ns: int) -> Reply:
        """Answer a vote check that came at `now_ns` (monotonic)."""
        now_ms = self._clock.now_ms()
        bot = self._admit(bot_id, caller, now_ns, now_ms)
        if isinstance(bot, Reply):
            return bot
        buckets, own, policy = self.limits.voters, bot.limits, self.limits.voters_policy
        policy = policy if own is None else own.voters or policy
        decision = buckets.take(bot.ref, policy, now_ns)
        if not decision.allowed:
            return limited(_TOO_MANY_REQUESTS, decision)
        if not is_snowflake(user_id):
            buckets.give_back(bot.ref, decision)
            self.limits.guard.failed(caller.address, now_ns)
            return limited(_MALFORMED_USER, buckets.peek(bot.ref, policy, now_ns))
        try:
            status = vote_status(self._state, bot.ref, user_id, now_ms, self._window_ms)
        except Exception:
            buckets.give_back(bot.ref, decision)
            raise
        return Reply(200, encode_json(status), limits=decision)

    async def stats(self, bot_id: str, caller: Caller, body: bytes | None) -> Reply:
        """Take a bot's counts."""
        now_ns, now_ms = self._clock.monotonic_ns(), self._clock.now_ms()
        bot = self._admit(bot_id, caller, now_ns, now_ms)
        if isinstance(bot, Reply):
            return bot
        buckets, policy = self.limits.stats, self.limits.stats_policy_of(bot)
        decision = buckets.take(bot.ref, policy, now_ns)
        if not decision.allowed:
            return limited(_TOO_MANY_REQUESTS, decision)
        kept = False
        try:
            reply = await self._update(bot.ref, body, caller, policy, decision)
            kept = reply.status < 400
        finally:
            if not kept:
                buckets.give_back(bot.ref, decision)
        now_ns = self._clock.monotonic_ns()
        if is_failure(reply.status):
            self.limits.guard.failed(caller.address, now_ns)
        return limited(reply, replace(buckets.peek(bot.ref, policy, now_ns), allowed=True))

    def unproven(self, address: str, reply: Reply) -> Reply:
        """Return an answer that no endpoint made (405, OPTIONS) with the caller's headers; or, for a failure,
        a 429."""
        return self._unproven(address_key(address), without_code(reply), self._clock.monotonic_ns())

    def _unproven(self, address: str, reply: Reply, now_ns: int) -> Reply:
        guard = self.limits.guard
        if not is_failure(reply.status):
            return limited(reply, replace(guard.check(address, now_ns), allowed=True))
        refusal = guard.refusal(address, now_ns)
        if refusal is not None:
            return limited(_TOO_MANY_REQUESTS, refusal)
        return limited(reply, replace(guard.failed(address, now_ns), allowed=True))

    def with_limits(self, reply: Reply, address: str) -> Reply:
        """Return the reply of the server itself as a public endpoint has it, with an address's limit."""
        decision = self.limits.guard.check(address_key(address), self._clock.monotonic_ns())
        return limited(without_code(reply), replace(decision, allowed=True))

    def limits_of(self, bot: Listing) -> Mapping[str, Decision]:
        """Return the limits that the next request to each endpoint would meet."""
        now_ns = self._clock.monotonic_ns()
        return {"stats": self.limits.stats_of(bot, now_ns), "voters": self.limits.voters_of(bot, now_ns)}

    def _admit(self, bot_id: str, caller: Caller, now_ns: int, now_ms: int) -> Listing | Reply:
        """Return the bot of the caller's key, or the refusal."""
        address, digest, has_scheme = caller
        ref = _PREFIX + bot_id
        try:
            bot = self._listings[ref]
        except KeyError:
            bot = None
        if digest is None:
            reply = _AUTHORIZATION_REQUIRED
        elif bot is None:
            reply = _BOT_NOT_FOUND
        elif not is_granted(self._state, ref, digest, now_ms):
            reply = _KEY_WITH_SCHEME if has_scheme else _INVALID_KEY
        else:
            self._note_use(digest)
            return bot
        return self._unproven(address, reply, now_ns)

    async def _update(
        self, ref: str, body: bytes | None, caller: Caller, policy: Policy, decision: Decision
    ) -> Reply:
        given: Mapping[str, Any] = {}
        try:
            given = json_object(body, self._max_body_bytes)
            update = read_stats(given)
            if update.server_count is not None:
                actual = await self._guild_counts.actual(ref)
                if actual is None:
                    raise _count_unknown(self._guild_counts.retry_seconds(ref))
                check_difference(update.server_count, actual, self._max_difference)
            now_ms = self._clock.now_ms()
            # The look-up took its time: the bot or the key may be gone, or another owner has listed the bot.
            if ref not in self._state.listings:
                return _BOT_NOT_FOUND
            if caller.digest is None or not is_granted(self._state, ref, caller.digest, now_ms):
                return _INVALID_KEY
            events = update_stats(
                self._state,
                ref,
                update,
                window_started_ms=self._window_started_ms(ref, decision, now_ms),
                window_seconds=policy.window_seconds,
                now_ms=now_ms,
            )
            position = self._ledger.commit(events)
            self._dated[ref] = (decision.started_ns, events[-1].window.started_ms)
            await self._ledger.durable(position)
        except (Refusal, Unavailable) as error:
            self._note(ref, caller, given, error.code if isinstance(error, Refusal) else None)
            return without_code(reply_to(error))
        self._note(ref, caller, given, None)
        return success()

    def _note(self, ref: str, caller: Caller, given: Mapping[str, Any], code: Code | None) -> None:
        """Keep the refused fields for the bot's owner, unless the key or the bot was removed."""
        now_ms = self._clock.now_ms()
        if caller.digest is not None and is_granted(self._state, ref, caller.digest, now_ms):
            if code == "count_unknown":
                self._missing.tell(ref, self._guild_counts.missing(ref))
            self.problems.note(ref, given, code, now_ms)

    def _window_started_ms(self, ref: str, decision: Decision, now_ms: int) -> int:
        """Return the start of the limiter's window. A window keeps its start if the wall clock is set."""
        started_ns, started_ms = self._dated.get(ref, (None, 0))
        if started_ns == decision.started_ns:
            return started_ms
        return now_ms - (self._clock.monotonic_ns() - decision.started_ns) // NS_PER_MS

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record: forget removed listings, and count the updates of other nodes."""
        for event in events:
            if type(event) in FREQUENT:
                continue
            if isinstance(event, ListingRemoved):
                self._dated.pop(event.ref, None)
                self.limits.stats.forget(event.ref)
                self.limits.voters.forget(event.ref)
                self.problems.forget(event.ref)
            elif isinstance(event, ListingMerged) and event.updates:
                self._count_updates(event.row, event.updates)

    def _count_updates(self, bot: Listing, updates: int) -> None:
        """Count the updates that other nodes have committed."""
        policy, now_ns = self.limits.stats_policy_of(bot), self._clock.monotonic_ns()
        if not self.limits.stats.add(bot.ref, policy, now_ns, updates):
            self._restore_stats_window(bot, self._clock.now_ms(), now_ns)

    def _restore_stats_windows(self, now_ms: int, now_ns: int) -> None:
        """Restore the windows of committed updates, so that a restart gives nobody new tokens.

        A bot may be unpacked much later. Its window is computed for these two times all the same, so a clock
        that is set in between moves no window.
        """

        def restore(bot: Listing) -> None:
            if bot.window is not None or bot.windows:
                self._restore_stats_window(bot, now_ms, now_ns)

        self._state.listings.for_each(restore)

    def _restore_stats_window(self, bot: Listing, now_ms: int, now_ns: int) -> None:
        policy = self.limits.stats_policy_of(bot)
        window = committed_window(bot, policy.window_seconds)
        if window is None:
            return
        open_ms = max(now_ms - window.started_ms, 0)
        if open_ms < policy.window_seconds * 1_000:
            started_ns = now_ns - open_ms * NS_PER_MS
            self._dated[bot.ref] = (started_ns, window.started_ms)
            self.limits.stats.restore(bot.ref, started_ns, window.used)


def _count_unknown(retry_seconds: int | None) -> Refusal:
    """Return the refusal of a count that cannot be compared, with the seconds until it may be."""
    if retry_seconds is None:
        return Refusal("count_unknown")
    return Refusal("count_asked_for", retry_seconds=retry_seconds)
