"""What an operator sees of the inside, and the levers beside it. Law: no secret is ever shown."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from core import rows
from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.refusals import Unavailable
from core.state import State
from handlers.manage import bot_ref
from handlers.public import PublicApi, PublicLimits
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.views import delivery_view, key_view, listing_view, stats_problems_view, webhook_view
from listings.rules import listing_of

RECENT_DELIVERIES = 10
BACKUP = "application/octet-stream"
DIGEST_ROUNDS = 3
SLICES_AT_ONCE, BREATH_SECONDS = 8, 0.001
"""Of a digest, each of some 0.1 ms. A loop that is never idle keeps the interpreter's lock from the journal's
thread: without a breath one vote in a hundred waited 100 to 200 ms for its fsync to return."""


class Taken(Protocol):
    @property
    def position(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class Verification(NamedTuple):
    """The state's digest at a position, and that of the disk folded afresh: None when it cannot be."""

    position: int
    digest: str
    folded_digest: str | None
    problem: str | None


@dataclass(frozen=True)
class DebugSources:
    """What other parts of the process tell about themselves, as calls."""

    durable_position: Callable[[], int]
    snapshot_position: Callable[[], int]
    webhooks_in_flight: Callable[[], int]
    endpoints_suspended: Callable[[], int]
    proxy_down: Callable[[], bool]
    """The webhooks' proxy: nothing leaves while it is."""
    readiness: Callable[[], str | None]
    """None when ready, else why not."""
    take_snapshot: Callable[[], Awaitable[Taken]]
    backup: Callable[[], AsyncGenerator[bytes, None]]
    verify: Callable[[], Awaitable[Verification]]
    replication: Callable[[], dict[str, Any] | None]
    """None outside of a fleet."""
    connections: Callable[[], dict[str, int]]
    resident_bytes: Callable[[], int]
    loop_lag_ms: Callable[[], dict[str, float]]


class Debug:
    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        public: PublicApi,
        limits: PublicLimits,
        sources: DebugSources,
        version: str,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._public = public
        self._limits = limits
        self._sources = sources
        self._version = version
        self._started_ns = clock.monotonic_ns()

    async def state(self, _: Request) -> Reply:
        await refreshed_digest(self._ledger.state)
        state, sources, limits = self._ledger.state, self._sources, self._limits
        not_ready = sources.readiness()
        first_server = bisect_left(state.refs, rows.SERVERS)  # refs are sorted, and bots come first
        return success(
            version=self._version,
            uptime_seconds=(self._clock.monotonic_ns() - self._started_ns) // NS_PER_SECOND,
            ready=not_ready is None,
            not_ready_because=not_ready,
            positions={
                "head": self._ledger.head,
                "durable": sources.durable_position(),
                "snapshot": sources.snapshot_position(),
            },
            counts={
                "bots": first_server,
                "servers": len(state.refs) - first_server,
                "keys": state.key_count,
                "votes": len(state.votes),
                "webhooks_pending": len(state.pending),
                "webhooks_in_flight": sources.webhooks_in_flight(),
                "endpoints_suspended": sources.endpoints_suspended(),
            },
            limiter={
                "stats_buckets": len(limits.stats),
                "voters_buckets": len(limits.voters),
                "failing_addresses": len(limits.guard),
            },
            webhook_proxy_down=sources.proxy_down(),
            digest=state.digest(),
            replication=sources.replication(),
            connections=sources.connections(),
            memory={"resident_bytes": sources.resident_bytes()},
            loop_lag_ms=sources.loop_lag_ms(),
        )

    def bot(self, request: Request) -> Reply:
        ref, state = bot_ref(request), self._ledger.state
        listing = listing_of(state, ref)
        deliveries, pending, now_ms = state.deliveries(ref), state.waiting(ref), self._clock.now_ms()
        limits: dict[str, Any] = {
            name: {
                "limit": decision.limit,
                "remaining": decision.remaining,
                "reset_seconds": decision.reset_seconds,
                "window_seconds": decision.window_seconds,
            }
            for name, decision in self._public.limits_of(listing).items()
        }
        return success(
            listing=listing_view(listing),
            keys=[key_view(key, now_ms) for key in listing.keys],
            webhook=webhook_view(listing.webhook, pending, now_ms) if listing.webhook is not None else None,
            stats_problems=stats_problems_view(self._public.problems.of(ref)),
            voters=state.votes.voters(ref),
            limits=limits,
            deliveries=[delivery_view(row, listing.webhook) for row in deliveries[:RECENT_DELIVERIES]],
            deliveries_pending=pending,
        )

    def backup(self, _: Request) -> Reply:
        """The state in one file, sealed, as of when its last byte leaves."""
        headers = {"Content-Disposition": 'attachment; filename="votegate.backup"'}
        return Reply(200, b"", headers, content_type=BACKUP, stream=self._sources.backup())

    async def snapshot(self, _: Request) -> Reply:
        try:
            taken = await self._sources.take_snapshot()
        except OSError as error:
            raise Unavailable(f"the disk takes no snapshot ({error.strerror})") from None
        return success(position=taken.position, bytes=taken.bytes, seconds=round(taken.seconds, 3))

    async def verify(self, _: Request) -> Reply:
        """Compares the state in memory with what the disk would give back, at one position."""
        found = await self._sources.verify()
        return success(**found._asdict(), equal=found.digest == found.folded_digest)


async def refreshed_digest(state: State) -> None:
    """Lets other requests in between while the state's digest is brought up to date.

    More than once, because a large listing may change while it is hashed; what changes again and again is
    left to the digest itself.
    """
    for _ in range(DIGEST_ROUNDS):
        await _in_slices(state.refresh_digest())
        if state.fleet.label:
            await _in_slices(state.refresh_shared_digest())


async def _in_slices(work: Iterable[None]) -> None:
    for number, _ in enumerate(work, 1):
        await asyncio.sleep(0 if number % SLICES_AT_ONCE else BREATH_SECONDS)
