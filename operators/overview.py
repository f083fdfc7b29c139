"""The process as a whole, for the operator: how it is now, and how the last minutes were."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta, convert
from msgspec.structs import asdict

from actions.views import NULL, Amount, Count, Success, View, example
from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.rows import BOTS, SERVERS
from core.version import VERSION
from handlers.public import PublicLimits
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

    head: Annotated[Count, example(1_024)]
    durable: Annotated[Count, example(1_024)]
    snapshot: Annotated[Count, example(1_000)]


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

    node: Annotated[str, Meta(description="Its name and its epoch."), example("paris.1795265000000")]
    holds_name: Annotated[
        bool,
        Meta(description="True once Redis has been reached, and no other process bears the name."),
        example(True),
    ]
    claims_votes: Annotated[
        bool, Meta(description="True while Redis answers in time when votes are claimed."), example(True)
    ]
    failing: Annotated[dict[str, str], Meta(description="What fails, and why; empty if all is well.")]
    stream_position: Count | None
    unsent: Annotated[Count, Meta(description="How many positions the stream is behind the journal.")]
    copying_from: Annotated[str | None, Meta(description="The node whose state is being taken."), NULL]
    nodes: Annotated[
        dict[str, NodeHeard],
        example(
            {
                "tokyo": {
                    "node": "tokyo.1795265000321",
                    "state": "there",
                    "silent_ms": 612,
                    "read_to": 871,
                    "behind": 0,
                }
            }
        ),
    ]
    refused: Annotated[dict[str, str], Meta(description="The reason why nothing is taken from a node.")]


class Connections(View):
    """Connections of clients: open now; refused as they came; closed while idle, to make room for others."""

    open: Count
    refused: Count
    closed_for_others: Count


class Memory(View):
    """The memory of the process."""

    resident_bytes: Annotated[
        Count | None, Meta(description="Null while it cannot be read."), example(67_108_864)
    ]


class StoredData(Success):
    """The state on disk, and digests of the state in memory."""

    positions: Positions
    digest: Digest
    fleet_digest: Annotated[
        Digest | None,
        Meta(
            description="Of everything that the fleet shares: equal at all nodes with the same content; null "
            "outside of a fleet.",
            examples=[None],
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

    def concerns(self) -> ConcernsNow:
        return ConcernsNow(concerns=self._sources.concerns())

    async def data(self) -> StoredData:
        state = self._ledger.state
        await refreshed_digest(state)
        return StoredData(
            positions=self._positions(),
            digest=state.digest(),
            fleet_digest=state.shared_digest() if state.fleet.label else None,
        )

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


Age = Annotated[
    Amount | None,
    Meta(description="Seconds since it came to be, to within two; null if that was before the start."),
]


class Ages(View):
    """How long the newest records of the journal, on disk and in a snapshot have been that."""

    head: Age
    durable: Age
    snapshot: Age


class LagOfMinute(View):
    """Delays of the event loop in the last minute, in milliseconds."""

    last: Amount
    max: Amount
    samples: Annotated[tuple[Amount, ...], Meta(description="Four a second, the oldest first.")]


class EndpointUseView(View):
    """The answers of one endpoint with one class of statuses in the last minute."""

    endpoint: Annotated[
        str,
        Meta(description="The operation's id; `other` for unknown paths, `refused` for what is not HTTP."),
        example("checkVote"),
    ]
    status_class: Annotated[str, Meta(description="`2xx`, `3xx`, `4xx` or `5xx`."), example("2xx")]
    requests: Count
    per_second: Amount
    p50_ms: Amount | None
    p99_ms: Amount | None


class SeriesView(View):
    """The last five minutes in columns, a point every two seconds, the oldest first."""

    at: Annotated[
        tuple[Count, ...],
        Meta(description="Unix milliseconds at the end of each point."),
        example([1_750_000_000_000]),
    ]
    requests_per_second: tuple[Amount, ...]
    votes_per_second: tuple[Amount, ...]
    p50_ms: Annotated[tuple[Amount | None, ...], Meta(description="Null while there were no requests.")]
    p99_ms: tuple[Amount | None, ...]
    loop_lag_ms: Annotated[tuple[Amount, ...], Meta(description="The longest delay of the event loop.")]
    resident_bytes: Annotated[tuple[Count | None, ...], Meta(description="Null while it cannot be read.")]


class Overview(Success):
    """The process at a glance."""

    version: Annotated[str, Meta(description="The program's."), example(VERSION)]
    uptime_seconds: Annotated[Count, example(86_400)]
    ready: Annotated[bool, example(True)]
    not_ready_because: Annotated[str | None, NULL]
    concerns: Concerns
    positions: Positions
    ages_seconds: Ages
    counts: Counts
    limiter: LimiterCounts
    webhook_proxy_down: Annotated[
        bool, Meta(description="True while the webhooks' proxy fails, so that none leaves.")
    ]
    replication: Annotated[
        FleetNodeView | None, Meta(description="The node of a fleet; null outside of one.")
    ]
    connections: Connections
    memory: Memory
    loop_lag_ms: LagOfMinute
    endpoints: Annotated[
        tuple[EndpointUseView, ...],
        Meta(description="What was answered in the last minute, the most first."),
    ]
    series: SeriesView


class Use(Protocol):
    """The answers of an endpoint in the last minute."""

    def _asdict(self) -> dict[str, Any]: ...


class SeriesPoint(Protocol):
    """A point of the series."""

    @property
    def at_ms(self) -> int: ...
    @property
    def requests_per_second(self) -> float: ...
    @property
    def votes_per_second(self) -> float: ...
    @property
    def p50_ms(self) -> float | None: ...
    @property
    def p99_ms(self) -> float | None: ...
    @property
    def loop_lag_ms(self) -> float: ...
    @property
    def resident_bytes(self) -> int | None: ...


@dataclass(frozen=True)
class OverviewSources:
    """Calls that ask for what was measured."""

    head_age_seconds: Callable[[], float | None]
    durable_age_seconds: Callable[[], float | None]
    snapshot_age_seconds: Callable[[], float | None]
    lag_samples_ms: Callable[[], Sequence[float]]
    endpoints: Callable[[], Sequence[Use]]
    points: Callable[[], Sequence[SeriesPoint]]


class DebugOverview:
    def __init__(self, process: DebugProcess, sources: OverviewSources) -> None:
        self._process = process
        self._sources = sources

    def view(self) -> Overview:
        sources, samples = self._sources, tuple(self._sources.lag_samples_ms())
        return Overview(
            **self._process.shared(),
            ages_seconds=Ages(
                head=sources.head_age_seconds(),
                durable=sources.durable_age_seconds(),
                snapshot=sources.snapshot_age_seconds(),
            ),
            replication=self._process.fleet(),
            loop_lag_ms=LagOfMinute(last=samples[-1], max=max(samples), samples=samples),
            endpoints=tuple(EndpointUseView(**use._asdict()) for use in sources.endpoints()),
            series=_series(sources.points()),
        )


def _series(points: Sequence[SeriesPoint]) -> SeriesView:
    return SeriesView(
        at=tuple(point.at_ms for point in points),
        requests_per_second=tuple(point.requests_per_second for point in points),
        votes_per_second=tuple(point.votes_per_second for point in points),
        p50_ms=tuple(point.p50_ms for point in points),
        p99_ms=tuple(point.p99_ms for point in points),
        loop_lag_ms=tuple(point.loop_lag_ms for point in points),
        resident_bytes=tuple(point.resident_bytes for point in points),
    )


CHARTS = (
    ("Requests per second", "requests_per_second", "requests", "/s"),
    ("Latency", "p50_ms p99_ms", "p50 p99", "ms"),
    ("Votes per second", "votes_per_second", "votes", "/s"),
    ("Delay of the event loop", "loop_lag_ms", "longest", "ms"),
    ("Memory", "resident_bytes", "resident", "MB"),
)
"""Name, columns of the series, their labels, and the unit."""


def overview_html(overview: Overview) -> Mapping[str, Any]:
    """Return the values for the page: those of the part that moves, the charts, and the points as rows, the
    newest first, in the order of the columns."""
    rows = list(zip(*asdict(overview.series).values(), strict=True))[::-1]
    return {**live_values(overview), "charts": CHARTS, "rows": rows}


def live_values(overview: Overview) -> Mapping[str, Any]:
    """Return the values of the part that moves. Before the first point there is nothing newest."""
    columns = asdict(overview.series)
    newest = {name: column[-1] if column else None for name, column in columns.items()}
    return {"value": overview, "newest": newest}
