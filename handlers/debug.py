"""The debug endpoints: the inside of the process, for operators. Law: no secret is ever shown."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from msgspec import Meta, convert

from core import rows
from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.refusals import Unavailable
from core.state import State
from handlers.manage import bot_ref
from handlers.public import PublicApi, PublicLimits
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.views import (
    Amount,
    BotView,
    Count,
    DeliveryView,
    KeyView,
    StatsProblemViews,
    Success,
    View,
    WebhookView,
    bot_view,
    delivery_view,
    key_view,
    stats_problem_views,
    webhook_view,
)
from listings.rules import listing_of

RECENT_DELIVERIES = 10
BACKUP = "application/octet-stream"
DIGEST_ROUNDS = 3
SLICES_AT_ONCE, BREATH_SECONDS = 8, 0.001
"""Slices of a digest in a row, of 0.1 ms each, and the pause behind them.

A loop that is never idle keeps the interpreter's lock from the journal's thread: without the pause one vote
in a hundred waited 100 to 200 ms for its fsync to return.
"""


# -- Answers ----------------------------------------------------------------------------------------------

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="Equal for equal states.")]


class Positions(View):
    """Records of the journal: the newest, the newest on disk, the newest in a snapshot."""

    head: Count
    durable: Count
    snapshot: Count


class Counts(View):
    """Sizes of the state."""

    bots: Count
    servers: Count
    keys: Count
    votes: Count
    webhooks_pending: Count
    webhooks_in_flight: Count
    endpoints_suspended: Count


class LimiterCounts(View):
    """Sizes of the limiter: the bots and addresses that it counts."""

    stats_buckets: Count
    voters_buckets: Count
    failing_addresses: Count


class NodeHeard(View):
    """Another node of the fleet."""

    node: str
    state: Annotated[
        Literal["there", "silent", "unknown"],
        Meta(description="`there` while it is heard of; `unknown` while Redis is away."),
    ]
    silent_ms: Annotated[
        Count | None, Meta(description="The time since it was heard of; null while that is unknown.")
    ]
    read_to: Count
    behind: Annotated[Count, Meta(description="How many of its positions are not merged here yet.")]


class ReplicationView(View):
    """A node of a fleet."""

    node: Annotated[str, Meta(description="Its name and its epoch.")]
    holds_name: Annotated[
        bool, Meta(description="True once Redis has been reached, and no other process bears the name.")
    ]
    claims_votes: Annotated[
        bool, Meta(description="True while Redis answers in time when votes are claimed.")
    ]
    failing: Annotated[dict[str, str], Meta(description="What fails, and why; empty if all is well.")]
    stream_position: Count | None
    unsent: Annotated[Count, Meta(description="How many positions the stream is behind the journal.")]
    copying_from: Annotated[str | None, Meta(description="The node whose state is being taken.")]
    digest: Annotated[Digest, Meta(description="Equal at all nodes that know the same.")]
    nodes: dict[str, NodeHeard]
    refused: Annotated[dict[str, str], Meta(description="The reason why nothing is taken from a node.")]
    concerns: Annotated[tuple[str, ...], Meta(description="What is not as it should be, in words.")]


class Connections(View):
    """Connections of clients: open now; refused as they came; closed while idle, to make room for others."""

    open: Count
    refused: Count
    closed_for_others: Count


class Memory(View):
    """The memory of the process."""

    resident_bytes: Count


class LoopLagView(View):
    """Delays of the event loop in the last minute, in milliseconds."""

    last: Amount
    max: Amount


class DebugState(Success):
    """The process."""

    version: Annotated[str, Meta(description="The program's.")]
    uptime_seconds: Count
    ready: bool
    not_ready_because: str | None
    positions: Positions
    counts: Counts
    limiter: LimiterCounts
    webhook_proxy_down: Annotated[
        bool, Meta(description="True while the webhooks' proxy fails, so that none leaves.")
    ]
    digest: Digest
    replication: Annotated[
        ReplicationView | None, Meta(description="The node of a fleet; null outside of one.")
    ]
    connections: Connections
    memory: Memory
    loop_lag_ms: LoopLagView


class NextRequest(View):
    """The limit that the next request would meet."""

    limit: Count
    remaining: Count
    reset_seconds: Count
    window_seconds: Count


class NextRequests(View):
    """The limits that the next request to each endpoint would meet."""

    stats: NextRequest
    voters: NextRequest


class DebugBot(Success):
    """All about a bot."""

    listing: BotView
    keys: tuple[KeyView, ...]
    webhook: WebhookView | None
    stats_problems: StatsProblemViews
    voters: Annotated[Count, Meta(description="How many users have voted for the bot.")]
    limits: NextRequests
    deliveries: Annotated[tuple[DeliveryView, ...], Meta(description="The newest.")]
    deliveries_pending: Count


class SnapshotTaken(Success):
    """The snapshot that is on disk now."""

    position: Count
    bytes: Count
    seconds: Amount


class Verified(Success):
    """Both digests at one position of the log."""

    position: Count
    digest: Annotated[Digest, Meta(description="Of the state in memory.")]
    folded_digest: Annotated[
        Digest | None, Meta(description="Of what the disk gives back; null when it gives nothing back.")
    ]
    problem: Annotated[str | None, Meta(description="The reason why the disk gives nothing back.")]
    equal: bool


# -- Sources ----------------------------------------------------------------------------------------------


class Taken(Protocol):
    @property
    def position(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class FoldedState(Protocol):
    """The digest of a state that was folded, or why there is none."""

    @property
    def digest(self) -> str | None: ...
    @property
    def problem(self) -> str | None: ...


class Verification(NamedTuple):
    """The state's digest at a position, and that of the disk folded afresh: None when it cannot be."""

    position: int
    digest: str
    folded_digest: str | None
    problem: str | None


@dataclass(frozen=True)
class DebugSources:
    """Calls that ask other parts of the process about themselves."""

    durable_position: Callable[[], int]
    snapshot_position: Callable[[], int]
    webhooks_in_flight: Callable[[], int]
    endpoints_suspended: Callable[[], int]
    proxy_down: Callable[[], bool]
    """True while the webhooks' proxy fails: no webhook leaves then."""
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


# -- Endpoints --------------------------------------------------------------------------------------------


async def verification(
    ledger: Ledger, folder: asyncio.Lock, fold: Callable[[int], Awaitable[FoldedState]]
) -> Verification:
    """Digest the state, and the disk folded from nothing up to the same position.

    Args:
        folder: held while files of the data folder come and go; with it the newest snapshot stays no newer
            than the position that is folded.
        fold: folds the disk up to a position.
    """
    async with folder:
        await refreshed_digest(ledger.state)
        position, digest = ledger.head, ledger.state.digest()
        await ledger.durable(position)
        found = await fold(position)
    return Verification(position, digest, found.digest, found.problem)


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
        first_server = bisect_left(state.listings.refs, rows.SERVERS)  # refs are sorted, and bots come first
        shown = DebugState(
            version=self._version,
            uptime_seconds=(self._clock.monotonic_ns() - self._started_ns) // NS_PER_SECOND,
            ready=not_ready is None,
            not_ready_because=not_ready,
            positions=Positions(
                head=self._ledger.head,
                durable=sources.durable_position(),
                snapshot=sources.snapshot_position(),
            ),
            counts=Counts(
                bots=first_server,
                servers=len(state.listings.refs) - first_server,
                keys=state.listings.key_count,
                votes=len(state.votes),
                webhooks_pending=len(state.deliveries.pending),
                webhooks_in_flight=sources.webhooks_in_flight(),
                endpoints_suspended=sources.endpoints_suspended(),
            ),
            limiter=LimiterCounts(
                stats_buckets=len(limits.stats),
                voters_buckets=len(limits.voters),
                failing_addresses=len(limits.guard),
            ),
            webhook_proxy_down=sources.proxy_down(),
            digest=state.digest(),
            replication=convert(sources.replication(), ReplicationView | None),
            connections=convert(sources.connections(), Connections),
            memory=Memory(resident_bytes=sources.resident_bytes()),
            loop_lag_ms=convert(sources.loop_lag_ms(), LoopLagView),
        )
        return success(shown)

    def bot(self, request: Request) -> Reply:
        ref, state = bot_ref(request), self._ledger.state
        listing = listing_of(state, ref)
        deliveries, pending, now_ms = (
            state.deliveries.newest_first(ref),
            state.deliveries.waiting(ref),
            self._clock.now_ms(),
        )
        next_requests = {
            name: NextRequest(
                limit=decision.limit,
                remaining=decision.remaining,
                reset_seconds=decision.reset_seconds,
                window_seconds=decision.window_seconds,
            )
            for name, decision in self._public.limits_of(listing).items()
        }
        shown = DebugBot(
            listing=bot_view(listing),
            keys=tuple(key_view(key, now_ms) for key in listing.keys),
            webhook=webhook_view(listing.webhook, pending, now_ms) if listing.webhook is not None else None,
            stats_problems=stats_problem_views(self._public.problems.of(ref)),
            voters=state.votes.voters(ref),
            limits=NextRequests(**next_requests),
            deliveries=tuple(delivery_view(row, listing.webhook) for row in deliveries[:RECENT_DELIVERIES]),
            deliveries_pending=pending,
        )
        return success(shown)

    def backup(self, _: Request) -> Reply:
        """The state in one file, sealed, as of when its last byte leaves."""
        headers = {"Content-Disposition": 'attachment; filename="votegate.backup"'}
        return Reply(200, b"", headers, content_type=BACKUP, stream=self._sources.backup())

    async def snapshot(self, _: Request) -> Reply:
        try:
            taken = await self._sources.take_snapshot()
        except OSError as error:
            raise Unavailable(f"the disk takes no snapshot ({error.strerror})") from None
        seconds = round(taken.seconds, 3)
        return success(SnapshotTaken(position=taken.position, bytes=taken.bytes, seconds=seconds))

    async def verify(self, _: Request) -> Reply:
        """Compare the state in memory with the state folded from disk, at one position."""
        found = await self._sources.verify()
        return success(Verified(**found._asdict(), equal=found.digest == found.folded_digest))


async def refreshed_digest(state: State) -> None:
    """Bring the state's digest up to date in slices, with other requests between them.

    One round is not enough: a large listing may change while it is hashed. A listing that changes in every
    round is left to the digest itself.
    """
    for _ in range(DIGEST_ROUNDS):
        await _in_slices(state.refresh_digest())
        if state.fleet.label:
            await _in_slices(state.refresh_shared_digest())


async def _in_slices(work: Iterable[None]) -> None:
    for number, _ in enumerate(work, 1):
        await asyncio.sleep(0 if number % SLICES_AT_ONCE else BREATH_SECONDS)
