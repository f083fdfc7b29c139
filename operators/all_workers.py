"""The overview of all workers, added up, and the restart of all workers.

The state is the same at every worker, so its counts are those of the worker that answers. Requests, votes,
connections, uploads and memory are sums. Times and delays are those of the slowest worker.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from actions.views import Count, Success, example
from handlers.reply import encode_json
from languages.refusals import Refusal
from operators.gateway_parts import GatewayParts
from operators.overview import (
    Connections,
    EndpointUseView,
    FilesNow,
    LagOfMinute,
    Memory,
    Overview,
    SeriesView,
    UseCount,
    WorkerNow,
    overview,
)
from watchers.concerns import Concern
from workers.siblings import AmongWorkers

OVERVIEW = "overview"
"""The question to which a worker answers its overview."""


class Restarting(Success):
    """All workers are being replaced, one after the other."""

    workers: Annotated[Count, Meta(description="The number of workers."), example(4)]


def restart(parts: GatewayParts) -> Restarting:
    if parts.workers is None:
        raise Refusal("no_workers")
    parts.workers.restart()
    return Restarting(workers=parts.workers.count)


async def own_overview(parts: GatewayParts) -> bytes:
    """Return the overview of this worker, for another one."""
    return encode_json(overview(parts))


async def overview_of_all(parts: GatewayParts) -> Overview:
    """Return the overview. That of several workers is added up of those that answer in time."""
    own, workers = overview(parts), parts.workers
    if workers is None:
        return own
    found = {workers.number: own}
    for number, answer in (await workers.ask(OVERVIEW)).items():
        found[number] = msgspec.json.decode(answer, type=Overview)
    return replace(
        _added_up(own, [found[number] for number in sorted(found)]),
        worker=workers.number,
        workers=tuple(_each(workers, found)),
    )


def _each(workers: AmongWorkers, found: dict[int, Overview]) -> Iterable[WorkerNow]:
    for report in workers.reports():
        of = found.get(report.worker)
        series = of.series.requests_per_second if of is not None else ()
        yield WorkerNow(
            worker=report.worker,
            state=report.state,
            why=report.why,
            pid=report.pid,
            starts=report.starts,
            failures=report.failures,
            requests_per_second=series[-1] if series else 0,
            connections=of.connections.open if of is not None else None,
            resident_bytes=of.memory.resident_bytes if of is not None else None,
        )


def _added_up(own: Overview, all_of: Sequence[Overview]) -> Overview:
    concerns: dict[tuple[str, str], Concern] = {}
    for each in all_of:
        concerns |= {(concern.topic, concern.text): concern for concern in each.concerns}
    uses: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in all_of:
        for use in each.uses:
            uses[use.kind, use.use] += use.count
    return replace(
        own,
        concerns=tuple(concerns.values()),
        uses=tuple(UseCount(kind=kind, use=use, count=count) for (kind, use), count in uses.items()),
        files=_files(own.files, [each.files for each in all_of]),
        connections=Connections(
            open=sum(each.connections.open for each in all_of),
            refused=sum(each.connections.refused for each in all_of),
            closed_for_others=sum(each.connections.closed_for_others for each in all_of),
        ),
        memory=Memory(resident_bytes=sum(each.memory.resident_bytes or 0 for each in all_of) or None),
        loop_lag_ms=LagOfMinute(
            last=max(each.loop_lag_ms.last for each in all_of),
            max=max(each.loop_lag_ms.max for each in all_of),
            samples=_columns([each.loop_lag_ms.samples for each in all_of], max),
        ),
        endpoints=_endpoints(all_of),
        series=_series([each.series for each in all_of]),
    )


def _files(own: FilesNow, all_of: Sequence[FilesNow]) -> FilesNow:
    return replace(
        own,
        uploads={outcome: sum(each.uploads[outcome] for each in all_of) for outcome in own.uploads},
        decoder_starts=sum(each.decoder_starts for each in all_of),
    )


def _endpoints(all_of: Sequence[Overview]) -> tuple[EndpointUseView, ...]:
    by_name: defaultdict[tuple[str, str], list[EndpointUseView]] = defaultdict(list)
    for each in all_of:
        for use in each.endpoints:
            by_name[use.endpoint, use.status_class].append(use)
    added = [
        replace(
            uses[0],
            requests=sum(use.requests for use in uses),
            per_second=sum(use.per_second for use in uses),
            p50_ms=max((use.p50_ms for use in uses if use.p50_ms is not None), default=None),
            p99_ms=max((use.p99_ms for use in uses if use.p99_ms is not None), default=None),
        )
        for uses in by_name.values()
    ]
    return tuple(sorted(added, key=lambda use: -use.requests))


def _series(all_of: Sequence[SeriesView]) -> SeriesView:
    def of(name: str) -> list[Sequence[float | None]]:
        return [getattr(each, name) for each in all_of]

    return SeriesView(
        at=max((each.at for each in all_of), key=len),
        requests_per_second=_columns(of("requests_per_second"), sum),
        votes_per_second=_columns(of("votes_per_second"), max),
        p50_ms=_columns(of("p50_ms"), max),
        p99_ms=_columns(of("p99_ms"), max),
        loop_lag_ms=_columns(of("loop_lag_ms"), max),
        resident_bytes=_columns(of("resident_bytes"), sum),
    )


def _columns(
    columns: Sequence[Sequence[float | None]], together: Callable[[Iterable[float]], float]
) -> tuple[Any, ...]:
    """Join columns of several workers. All end at the same time, and some begin later than others."""
    length = max(map(len, columns))
    joined = []
    for place in range(-length, 0):
        values = [
            value for column in columns if len(column) >= -place and (value := column[place]) is not None
        ]
        joined.append(together(values) if values else None)
    return tuple(joined)
