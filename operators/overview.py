"""The operator's first look: how the process is now, and how the last minutes were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from msgspec import Meta

from actions.views import Amount, Count, Success, View
from handlers.reply import Reply, success
from handlers.request import Request
from operators.process import (
    Concerns,
    Connections,
    Counts,
    DebugProcess,
    FleetNodeView,
    LimiterCounts,
    Memory,
    Positions,
)

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
    ]
    status_class: Annotated[str, Meta(description="`2xx`, `3xx`, `4xx` or `5xx`.")]
    requests: Count
    per_second: Amount
    p50_ms: Amount | None
    p99_ms: Amount | None


class SeriesView(View):
    """The last five minutes in columns, a point every two seconds, the oldest first."""

    at: Annotated[tuple[Count, ...], Meta(description="Unix milliseconds at the end of each point.")]
    requests_per_second: tuple[Amount, ...]
    votes_per_second: tuple[Amount, ...]
    p50_ms: Annotated[tuple[Amount | None, ...], Meta(description="Null while there were no requests.")]
    p99_ms: tuple[Amount | None, ...]
    loop_lag_ms: Annotated[tuple[Amount, ...], Meta(description="The longest delay of the event loop.")]
    resident_bytes: Annotated[tuple[Count | None, ...], Meta(description="Null while it cannot be read.")]


class Overview(Success):
    """The process at a glance."""

    version: Annotated[str, Meta(description="The program's.")]
    uptime_seconds: Count
    ready: bool
    not_ready_because: str | None
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

    def show(self, _: Request) -> Reply:
        return success(self.view())

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
