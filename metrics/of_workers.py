"""The numbers of several workers as one: each sample has the number of its worker as a label.

A worker sends its numbers to the one that Prometheus asks as MessagePack.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from core.durations import Durations
from metrics.families import Family, Kind, LabelValues

FAMILIES = "metrics"
"""The question to which a worker answers its numbers."""
WORKER = "worker"


class _Sample(Struct, array_like=True):
    values: LabelValues
    number: float | None
    buckets: Sequence[int] = ()
    total_ns: int = 0

    @property
    def value(self) -> float | Durations:
        return Durations(self.buckets, self.total_ns) if self.number is None else self.number


class _Family(Struct, array_like=True):
    kind: Kind
    name: str
    about: str
    labels: tuple[str, ...]
    samples: list[_Sample]


def encoded(families: Sequence[Family]) -> bytes:
    return msgspec.msgpack.encode(
        [
            _Family(*family[:4], [_sample(values, value) for values, value in family.samples.items()])
            for family in families
        ]
    )


def decoded(answer: bytes) -> list[Family]:
    """Raises msgspec.DecodeError."""
    return [
        Family(each.kind, each.name, each.about, each.labels, {of.values: of.value for of in each.samples})
        for each in msgspec.msgpack.decode(answer, type=list[_Family])
    ]


def of_all(by_worker: Mapping[int, Sequence[Family]]) -> list[Family]:
    """Return the families of all workers, one of each name."""
    found: dict[str, Family] = {}
    for worker in sorted(by_worker):
        for family in by_worker[worker]:
            labels = (*family.labels, WORKER)
            samples = {(*values, str(worker)): value for values, value in family.samples.items()}
            known = found.get(family.name)
            if known is None:
                found[family.name] = family._replace(labels=labels, samples=samples)
            elif known.labels == labels:
                found[family.name] = known._replace(samples={**known.samples, **samples})
    return list(found.values())


def _sample(values: LabelValues, value: float | Durations) -> _Sample:
    if isinstance(value, Durations):
        return _Sample(values, None, value.buckets, value.total_ns)
    return _Sample(values, float(value))
