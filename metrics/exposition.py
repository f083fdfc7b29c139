"""Families as text, by prometheus_client. Invariant: a start does not import this module.

The library takes a tenth of a second to import. The kernel's numbers of the process (memory, processor time,
file descriptors) come from the library's own collector, which reads /proc.

Formats: https://prometheus.io/docs/instrumenting/exposition_formats/ and, for a request that accepts it,
https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from core.clock import NS_PER_SECOND
from core.durations import BOUNDS_SECONDS, Durations
from metrics.families import Family, Kind

NAMESPACE = "votegate"
UNITS = ("seconds", "bytes")
_KNOWN_VERSION = re.compile(r"; version=(0\.0\.4|1\.0\.0);")
_KINDS = {"application/openmetrics-text", "text/plain", "text/*", "*/*"}
_QUALITY = re.compile(r"[01](\.\d{0,3})?", re.ASCII)
_BOUNDS = [f"{bound:g}" for bound in BOUNDS_SECONDS] + ["+Inf"]


class Exposed(NamedTuple):
    """The numbers of one moment, as text."""

    text: bytes
    content_type: str


def process_families() -> list[Family]:
    """Return the kernel's numbers of this process."""
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(NAMESPACE, registry=registry)
    return [
        Family(
            cast(Kind, metric.type),
            metric.name.removeprefix(f"{NAMESPACE}_"),
            metric.documentation,
            (),
            {(): metric.samples[0].value},
        )
        for metric in registry.collect()
    ]


def exposition(families: Sequence[Family], accept: str = "") -> Exposed:
    """Return the text of the families, in the format that an Accept header asks for."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(families))
    encode, content_type = _encoder(accept)
    return Exposed(encode(registry), content_type)


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """Choose the format that the header prefers. The library ignores its qualities, takes OpenMetrics first,
    and would say of its text any version that a request names."""
    for named in _by_preference(accept):
        with suppress(TypeError):  # a version that is no number
            encode, content_type = choose_encoder(named)
            if _KNOWN_VERSION.search(content_type):
                return encode, content_type
    return choose_encoder("")


def _by_preference(accept: str) -> Iterator[str]:
    """Yield the formats of the header that there are, the preferred one first (RFC 9110, section 12.5.1)."""
    qualities: dict[str, float] = {}
    for named in accept.split(","):
        kind, *parameters = (each.strip() for each in named.split(";"))
        if kind.lower() in _KINDS:
            quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
            qualities[named] = float(quality) if _QUALITY.fullmatch(quality) else 1
    for named in sorted(qualities, key=lambda named: -qualities[named]):
        if qualities[named] > 0:
            yield named


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
