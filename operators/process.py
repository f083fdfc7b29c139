"""The process as a whole, for the operator: positions, counts, limiter, fleet, memory, event loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, convert

from actions.views import Count, Success, View
from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.rows import BOTS, SERVERS
from handlers.public import PublicLimits
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import refreshed_digest
from listings.queries import count_of
from operators.data_folder import Digest
from watchers.concerns import Concern

Concerns = Annotated[
    tuple[Concern, ...],
    Meta(description="What is wrong now, the most urgent first; empty if all is well."),
]


class ConcernsNow(Success):
    """The present concerns."""

    concerns: Concerns


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


class FleetNodeView(View):
    """A node of a fleet at a glance."""

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
    nodes: dict[str, NodeHeard]
    refused: Annotated[dict[str, str], Meta(description="The reason why nothing is taken from a node.")]


class Connections(View):
    """Connections of clients: open now; refused as they came; closed while idle, to make room for others."""

    open: Count
    refused: Count
    closed_for_others: Count


class Memory(View):
    """The memory of the process."""

    resident_bytes: Annotated[Count | None, Meta(description="Null while it cannot be read.")]


class StoredData(Success):
    """The state on disk, and digests of the state in memory."""

    positions: Positions
    digest: Digest
    fleet_digest: Annotated[
        Digest | None,
        Meta(
            description="Of everything that the fleet shares: equal at all nodes with the same content; null "
            "outside of a fleet."
        ),
    ]


@dataclass(frozen=True)
class ProcessSources:
    """Calls that ask other parts of the process about themselves."""

    durable_position: Callable[[], int]
    snapshot_position: Callable[[], int]
    webhooks_in_flight: Callable[[], int]
    endpoints_suspended: Callable[[], int]
    proxy_down: Callable[[], bool]
    """True while the webhooks' proxy fails: no webhook leaves then."""
    readiness: Callable[[], str | None]
    """None when ready, else why not."""
    fleet: Callable[[], dict[str, Any] | None]
    """The node of the fleet as `Node.standing` describes it; None outside of a fleet."""
    connections: Callable[[], dict[str, int]]
    resident_bytes: Callable[[], int | None]
    concerns: Callable[[], tuple[Concern, ...]]
    """Returns everything that is wrong now."""


class DebugProcess:
    def __init__(
        self, ledger: Ledger, clock: Clock, limits: PublicLimits, sources: ProcessSources, version: str
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._limits = limits
        self._sources = sources
        self._version = version
        self._started_ns = clock.monotonic_ns()

    def concerns(self, _: Request) -> Reply:
        return success(ConcernsNow(concerns=self._sources.concerns()))

    async def data(self, _: Request) -> Reply:
        state = self._ledger.state
        await refreshed_digest(state)
        shown = StoredData(
            positions=self._positions(),
            digest=state.digest(),
            fleet_digest=state.shared_digest() if state.fleet.label else None,
        )
        return success(shown)

    def shared(self) -> dict[str, Any]:
        """Return the fields of the overview that are no measurements."""
        state, sources, limits = self._ledger.state, self._sources, self._limits
        not_ready = sources.readiness()
        return {
            "version": self._version,
            "uptime_seconds": (self._clock.monotonic_ns() - self._started_ns) // NS_PER_SECOND,
            "ready": not_ready is None,
            "not_ready_because": not_ready,
            "concerns": sources.concerns(),
            "positions": self._positions(),
            "counts": Counts(
                bots=count_of(state, BOTS),
                servers=count_of(state, SERVERS),
                keys=state.listings.key_count,
                votes=len(state.votes),
                webhooks_pending=len(state.deliveries.pending),
                webhooks_in_flight=sources.webhooks_in_flight(),
                endpoints_suspended=sources.endpoints_suspended(),
            ),
            "limiter": LimiterCounts(
                stats_buckets=len(limits.stats),
                voters_buckets=len(limits.voters),
                failing_addresses=len(limits.guard),
            ),
            "webhook_proxy_down": sources.proxy_down(),
            "connections": convert(sources.connections(), Connections),
            "memory": Memory(resident_bytes=sources.resident_bytes()),
        }

    def _positions(self) -> Positions:
        return Positions(
            head=self._ledger.head,
            durable=self._sources.durable_position(),
            snapshot=self._sources.snapshot_position(),
        )

    def fleet(self) -> FleetNodeView | None:
        return convert(self._sources.fleet(), FleetNodeView | None)
