"""The process as a whole, for the operator: how it is now, and how the last minutes were."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, convert, defstruct
from msgspec.structs import asdict

from actions.views import NULL, Amount, Count, Success, View, example, view_of
from core.clock import NS_PER_SECOND
from core.version import VERSION
from decoder.decoder import Outcome
from handlers.slices import refreshed_digest
from kinds.registry import KINDS
from listings.queries import count_of
from operators.data_folder import Digest
from operators.gateway_parts import GatewayParts
from serving.timeline import Point
from watchers.concerns import Concern
from workers.supervisor_channel import State

Concerns = Annotated[
    tuple[Concern, ...],
    Meta(description="The present problems, the most urgent first; empty if all is well."),
]


class ConcernsNow(Success):
    """The present concerns."""

    concerns: Concerns


class Positions(View):
    """Records of the journal: the newest, the newest on disk, the newest in a snapshot."""

    head: Annotated[Count, example(1_024)]
    durable: Annotated[Count, example(1_024)]
    snapshot: Annotated[Count, example(1_000)]


class _Sizes(View):
    keys: Count
    votes: Count
    webhooks_pending: Count
    webhooks_in_flight: Count
    endpoints_suspended: Count


if TYPE_CHECKING:
    Counts = View
else:
    Counts = view_of(
        "Counts",
        "Sizes of the state.",
        defstruct("Listings", [(kind.plural, Count | UnsetType, UNSET) for kind in KINDS], kw_only=True),
        _Sizes,
    )


class LimiterCounts(View):
    """Sizes of the limiter: the bots and addresses that it counts."""

    stats_buckets: Count
    voters_buckets: Count
    failing_addresses: Count


class UseCount(View):
    """Votes, likes, downloads or reviews of users here since the start, by the kind of the listing."""

    kind: Annotated[str, example(KINDS[0].plural)]
    use: Annotated[str, Meta(description="`votes`, `likes`, `downloads` or `reviews`."), example("votes")]
    count: Count


class FilesNow(View):
    """Files of listings, and uploads since the start."""

    count: Annotated[Count, Meta(description="Files on disk."), example(1_200)]
    bytes: Annotated[Count, Meta(description="The size of the files on disk."), example(41_943_040)]
    uploads: Annotated[
        dict[Outcome, Count],
        Meta(description="Uploads: `refused` if a file broke a rule, `failed` if the decoder failed."),
        example({"clean": 1_204, "refused": 31, "failed": 0}),
    ]
    decoder_starts: Annotated[
        Count, Meta(description="Starts of the processes that read uploads."), example(2)
    ]


class NodeHeard(View):
    """Another node of the fleet."""

    node: str
    state: Annotated[
        Literal["there", "silent", "unknown"],
        Meta(description="`there` while the node sends heartbeats; `unknown` while Redis is away."),
    ]
    silent_ms: Annotated[
        Count | None,
        Meta(description="The time since the node's last heartbeat; null while that is unknown."),
    ]
    read_to: Count
    behind: Annotated[
        Count, Meta(description="The number of the node's positions that are not merged here yet.")
    ]


class FleetNodeView(View):
    """A node of a fleet at a glance."""

    node: Annotated[str, Meta(description="The node's name and epoch."), example("paris.1795265000000")]
    holds_name: Annotated[
        bool,
        Meta(description="True once Redis has been reached and no other process has this name."),
        example(True),
    ]
    claims_votes: Annotated[
        bool, Meta(description="True while Redis answers vote claims in time."), example(True)
    ]
    failing: Annotated[
        dict[str, str], Meta(description="The failures and their causes; empty if all is well.")
    ]
    stream_position: Count | None
    unsent: Annotated[
        Count, Meta(description="The number of positions by which the stream is behind the journal.")
    ]
    copying_from: Annotated[str | None, Meta(description="The node whose copy is being taken."), NULL]
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
    refused: Annotated[
        dict[str, str], Meta(description="The nodes from which nothing is taken, with the reasons.")
    ]


class Connections(View):
    """Connections of clients: open now; refused as they came; closed while idle, to make room for others."""

    open: Count
    refused: Count
    closed_for_others: Count


class WorkerNow(View):
    """A worker: one of several processes that serve together."""

    worker: Annotated[Count, Meta(description="Its number, from 1."), example(1)]
    state: Annotated[
        State, Meta(description="`waiting`: its process has ended, and the next one starts in a moment.")
    ]
    why: Annotated[str, Meta(description="The reason why it is not ready; empty if it is."), example("")]
    pid: Annotated[Count | None, example(4_711)]
    starts: Annotated[Count, Meta(description="The number of its processes so far."), example(1)]
    failures: Annotated[
        Count, Meta(description="The number of its processes that ended although nobody stopped them.")
    ]
    requests_per_second: Amount
    connections: Annotated[Count | None, Meta(description="Null while it does not answer.")]
    resident_bytes: Annotated[Count | None, Meta(description="Null while it does not answer.")]


class Memory(View):
    """The memory of the process."""

    resident_bytes: Annotated[
        Count | None,
        Meta(description="The resident memory; null while it cannot be read."),
        example(67_108_864),
    ]


class StoredData(Success):
    """The state on disk, and digests of the state in memory."""

    positions: Positions
    digest: Digest
    fleet_digest: Annotated[
        Digest | None,
        Meta(
            description=(
                "The digest of everything that the fleet shares. It is equal on all nodes with the same "
                "content; null outside a fleet."
            ),
            examples=[None],
        ),
    ]


Age = Annotated[
    Amount | None,
    Meta(
        description=(
            "The age of the record in seconds, to within two; null if the record is from before the start."
        )
    ),
]


class Ages(View):
    """The ages of the newest records: in the journal, on disk, and in a snapshot."""

    head: Age
    durable: Age
    snapshot: Age


class LagOfMinute(View):
    """Delays of the event loop in the last minute, in milliseconds."""

    last: Amount
    max: Amount
    samples: Annotated[tuple[Amount, ...], Meta(description="Four samples a second, the oldest first.")]


class EndpointUseView(View):
    """The answers of one endpoint with one class of statuses in the last minute."""

    endpoint: Annotated[
        str,
        Meta(description="The operation's id; `other` for an unknown path, `refused` for invalid HTTP."),
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
        Meta(description="The end of each point, in Unix milliseconds."),
        example([1_750_000_000_000]),
    ]
    requests_per_second: tuple[Amount, ...]
    votes_per_second: tuple[Amount, ...]
    p50_ms: Annotated[tuple[Amount | None, ...], Meta(description="Null for a point without requests.")]
    p99_ms: tuple[Amount | None, ...]
    loop_lag_ms: Annotated[tuple[Amount, ...], Meta(description="The longest delay of the event loop.")]
    resident_bytes: Annotated[tuple[Count | None, ...], Meta(description="Null while it cannot be read.")]


class Overview(Success):
    """The process at a glance."""

    version: Annotated[str, Meta(description="The version of the program."), example(VERSION)]
    uptime_seconds: Annotated[Count, example(86_400)]
    ready: Annotated[bool, example(True)]
    not_ready_because: Annotated[str | None, NULL]
    concerns: Concerns
    positions: Positions
    ages_seconds: Ages
    counts: Counts
    limiter: LimiterCounts
    webhook_proxy_down: Annotated[
        bool, Meta(description="True while the proxy for webhooks fails and no webhook is sent.")
    ]
    replication: Annotated[
        FleetNodeView | None, Meta(description="This node of the fleet; null outside a fleet.")
    ]
    uses: tuple[UseCount, ...]
    files: FilesNow
    connections: Connections
    memory: Memory
    loop_lag_ms: LagOfMinute
    endpoints: Annotated[
        tuple[EndpointUseView, ...],
        Meta(
            description=(
                "The requests of the last minute, by endpoint and status class. The most frequent come first."
            )
        ),
    ]
    series: SeriesView
    worker: Annotated[
        Count | None,
        Meta(description="The number of the worker that answers; null for a gateway that serves alone."),
        NULL,
    ] = None
    workers: Annotated[
        tuple[WorkerNow, ...],
        Meta(description="The workers, if there are several. Then sums and times are of all of them."),
    ] = ()


def concerns_now(parts: GatewayParts) -> ConcernsNow:
    return ConcernsNow(concerns=parts.numbers.concerns())


def _positions(parts: GatewayParts) -> Positions:
    return Positions(
        head=parts.tools.ledger.head,
        durable=parts.numbers.journal.durable_position,
        snapshot=parts.numbers.snapshotter.position,
    )


async def stored_data(parts: GatewayParts) -> StoredData:
    state = parts.state
    await refreshed_digest(state)
    fleet_digest = state.shared_digest() if state.fleet.label else None
    return StoredData(positions=_positions(parts), digest=state.digest(), fleet_digest=fleet_digest)


def overview(parts: GatewayParts) -> Overview:
    numbers, now_ns = parts.numbers, parts.tools.clock.monotonic_ns()
    samples = tuple(numbers.lag.samples_ms)
    not_ready = numbers.readiness()
    return Overview(
        version=VERSION,
        uptime_seconds=(now_ns - parts.started_ns) // NS_PER_SECOND,
        ready=not_ready is None,
        not_ready_because=not_ready,
        concerns=numbers.concerns(),
        positions=_positions(parts),
        ages_seconds=_ages(parts, now_ns),
        counts=_counts(parts),
        limiter=LimiterCounts(
            stats_buckets=len(parts.public.limits.stats),
            voters_buckets=len(parts.public.limits.voters),
            failing_addresses=len(parts.public.limits.guard),
        ),
        webhook_proxy_down=parts.numbers.outbox.stopped,
        replication=_node(numbers.fleet()),
        uses=tuple(
            UseCount(kind=kind, use=use, count=numbers.votes.uses[kind, use]) for kind, use in numbers.uses
        ),
        files=FilesNow(
            count=numbers.blobs.count,
            bytes=numbers.blobs.bytes,
            uploads=dict(numbers.decoder.outcomes),
            decoder_starts=numbers.decoder.starts,
        ),
        connections=convert(numbers.connections(), Connections),
        memory=Memory(resident_bytes=parts.resident_bytes()),
        loop_lag_ms=LagOfMinute(last=samples[-1], max=max(samples), samples=samples),
        endpoints=tuple(EndpointUseView(**use._asdict()) for use in parts.timeline.last_minute()),
        series=_series(parts.timeline.points),
    )


def _node(fleet: Mapping[str, Any] | None) -> FleetNodeView | None:
    """Return the part of `Fleet.metered` that is shown."""
    if fleet is None:
        return None
    return convert({name: fleet[name] for name in FleetNodeView.__struct_fields__}, FleetNodeView)


def _ages(parts: GatewayParts, now_ns: int) -> Ages:
    timeline, snapshot_ms = parts.timeline, parts.numbers.snapshotter.created_ms
    return Ages(
        head=timeline.head.age_seconds(now_ns),
        durable=timeline.durable.age_seconds(now_ns),
        snapshot=max(parts.tools.clock.now_ms() - snapshot_ms, 0) / 1_000 if snapshot_ms else None,
    )


def _counts(parts: GatewayParts) -> Counts:
    state = parts.state
    return Counts(
        **{kind.plural: count_of(state, kind.prefix) for kind in parts.tools.kinds},
        keys=state.listings.key_count,
        votes=len(state.votes),
        webhooks_pending=len(state.deliveries.pending),
        webhooks_in_flight=parts.numbers.outbox.in_flight,
        endpoints_suspended=len(parts.numbers.outbox.suspended),
    )


def _series(points: Sequence[Point]) -> SeriesView:
    columns = zip(*points, strict=True) if points else [()] * len(Point._fields)
    return SeriesView(**dict(zip(SeriesView.__struct_fields__, map(tuple, columns), strict=True)))


CHARTS = (
    ("Requests per second", "requests_per_second", "requests", "/s"),
    ("Latency", "p50_ms p99_ms", "p50 p99", "ms"),
    ("Votes per second", "votes_per_second", "votes", "/s"),
    ("Delay of the event loop", "loop_lag_ms", "longest", "ms"),
    ("Memory", "resident_bytes", "resident", "MB"),
)
"""Name, columns of the series, their labels, and the unit."""


def overview_html(value: Overview) -> Mapping[str, Any]:
    """Return the values for the page: the part that moves, the charts, and the points as rows.

    The rows are in the order of time, the newest first, and their cells in that of the columns.
    """
    rows = list(zip(*asdict(value.series).values(), strict=True))[::-1]
    return {**live_values(value), "charts": CHARTS, "rows": rows}


def live_values(value: Overview) -> Mapping[str, Any]:
    """Return the values of the part that moves. Before the first point there is nothing newest."""
    columns = asdict(value.series)
    newest = {name: column[-1] if column else None for name, column in columns.items()}
    return {"value": value, "newest": newest}
