"""Families as OpenMetrics text, by prometheus_client. Law: a start does not import this module.

The library takes a tenth of a second to import. The kernel's numbers of the process (memory, processor time,
file descriptors) come from the library's own collector, which reads /proc.

Format: https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector

from core.clock import NS_PER_SECOND
from core.durations import BOUNDS_SECONDS, Durations
from metrics.families import Family

NAMESPACE = "votegate"
UNITS = ("seconds", "bytes")
_BOUNDS = [f"{bound:g}" for bound in BOUNDS_SECONDS] + ["+Inf"]


def exposition(families: Sequence[Family]) -> bytes:
    """Return the text of the families and of the process."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(families))
    ProcessCollector(NAMESPACE, registry=registry)
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # the library has no type here
    return text


class _Collector:
    """Gives the library what it renders: the interface is `prometheus_client.registry.Collector`."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        return map(_metric, self._families)


def _metric(family: Family) -> Metric:
    unit = next((unit for unit in UNITS if family.name.endswith(f"_{unit}")), "")
    metric = Metric(f"{NAMESPACE}_{family.name}", family.about, family.kind, unit)
    for values, sample in family.samples.items():
        labels = dict(zip(family.labels, values, strict=True))
        if isinstance(sample, Durations):
            _add_histogram(metric, labels, sample)
        else:
            metric.add_sample(metric.name + _SUFFIXES.get(family.kind, ""), labels, sample)
    return metric


_SUFFIXES = {"counter": "_total", "info": "_info"}


def _add_histogram(metric: Metric, labels: dict[str, str], durations: Durations) -> None:
    reached = 0
    for bound, held in zip(_BOUNDS, durations.buckets, strict=True):
        reached += held
        metric.add_sample(f"{metric.name}_bucket", {**labels, "le": bound}, reached)
    metric.add_sample(f"{metric.name}_count", labels, reached)
    metric.add_sample(f"{metric.name}_sum", labels, durations.total_ns / NS_PER_SECOND)
