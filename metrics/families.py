"""Families of numbers, as values.

Invariant: a family's name says what it counts, with its unit in base units.

The name of a counter is without `_total`, and every name is without `votegate_`: the text adds both.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from core.durations import Durations

Kind = Literal["counter", "gauge", "histogram", "info"]
LabelValues = tuple[str, ...]


class Family(NamedTuple):
    """Numbers with one name, by the values of its labels."""

    kind: Kind
    name: str
    about: str
    labels: tuple[str, ...]
    samples: Mapping[LabelValues, float | Durations]


def counter(
    name: str, about: str, samples: Mapping[LabelValues, float] | float, labels: tuple[str, ...] = ()
) -> Family:
    """Return a number that only grows while the process lives."""
    return Family("counter", name, about, labels, _samples(samples))


def gauge(
    name: str, about: str, samples: Mapping[LabelValues, float] | float, labels: tuple[str, ...] = ()
) -> Family:
    """Return a number as it is now."""
    return Family("gauge", name, about, labels, _samples(samples))


def histogram(
    name: str, about: str, samples: Mapping[LabelValues, Durations] | Durations, labels: tuple[str, ...] = ()
) -> Family:
    return Family(
        "histogram", name, about, labels, {(): samples} if isinstance(samples, Durations) else samples
    )


def info(name: str, about: str, facts: Mapping[str, str]) -> Family:
    """Return facts that are true of the process as long as it lives."""
    return Family("info", name, about, tuple(facts), {tuple(facts.values()): 1})


def _samples(samples: Mapping[LabelValues, float] | float) -> Mapping[LabelValues, float]:
    return dict(samples) if isinstance(samples, Mapping) else {(): samples}


def states(names: Sequence[str], on: Sequence[str] | Mapping[str, object]) -> Mapping[LabelValues, float]:
    """Return 1 for each of the names that is on, and 0 for the others."""
    return {(name,): float(name in on) for name in names}
