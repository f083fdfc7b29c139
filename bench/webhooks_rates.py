"""Webhooks sent a second, beside bare HTTP clients with as many requests under way."""

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

from bench.receivers import Receivers
from bench.webhooks_gateway import Fed, feeding, ref_of, webhook_id
from bench.webhooks_peers import AIOHTTP, FETCH, Sent, by_aiohttp, by_fetch
from bench.wire import ROUNDS

OURS = "Votegate"
WARM_SECONDS = 1.0
MANY = 1_000
BACKLOG = 2_000
"""The number of deliveries that are always pending: more than can be under way."""
NUMBERS_APART = 10**7
"""The distance between the first votes of two bursts, so that no two votes have one number."""


class Shape(NamedTuple):
    """The endpoints of webhooks, and the number of attempts under way at once."""

    name: str
    first_listing: int
    urls: list[str]
    under_way: int
    in_flight_per_endpoint: int

    def webhooks(self) -> dict[str, str | None]:
        """Return the URLs of the webhooks by listing."""
        return {ref_of(self.first_listing + number): url for number, url in enumerate(self.urls)}


class Rate(NamedTuple):
    per_second: float
    receivers_busy: float
    """The share of its core that the receivers' process took."""


def measure_rates(place: Path, receivers: Receivers, seconds: float) -> dict[str, dict[str, Rate]]:
    """Medians of the rounds, by shape and by sender."""
    one, many = receivers.open(1, answering=True), receivers.open(MANY, answering=True)
    shapes = [
        Shape("one receiver, 1 under way", 0, one, 1, 1),
        Shape("one receiver, 16 under way", 0, one, 16, 16),
        Shape(f"{MANY:,} receivers, 1 under way to each", 1, many, MANY, 1),
    ]
    measured: dict[str, dict[str, list[Rate]]] = {shape.name: {} for shape in shapes}
    with ExitStack() as stack:
        gateways: dict[int, Fed] = {}
        for most in {shape.in_flight_per_endpoint for shape in shapes}:
            starting = feeding(place / f"rates-{most}", in_flight_per_endpoint=most)
            gateways[most] = stack.enter_context(starting)
            gateways[most].add({ref: url for shape in shapes for ref, url in shape.webhooks().items()})
        numbers = count(0, NUMBERS_APART)
        for number in range(ROUNDS):
            for shape in shapes:
                print(f"webhooks/s, {shape.name}, round {number + 1} of {ROUNDS}", file=sys.stderr)
                fed = gateways[shape.in_flight_per_endpoint]
                for name, rate in _turn(fed, shape, receivers, seconds, numbers):
                    measured[shape.name].setdefault(name, []).append(rate)
    return {
        shape: {name: Rate(*map(statistics.median, zip(*rates, strict=True))) for name, rates in by.items()}
        for shape, by in measured.items()
    }


def _turn(
    fed: Fed, shape: Shape, receivers: Receivers, seconds: float, numbers: Iterator[int]
) -> Iterator[tuple[str, Rate]]:
    """Each sender's, one behind the other. Raises AssertionError unless all that was sent arrives once."""
    yield OURS, _rate(receivers, _by_gateway(fed, shape, seconds, numbers))
    yield AIOHTTP, _rate(receivers, by_aiohttp(shape.urls, shape.under_way, seconds, WARM_SECONDS))
    sent = by_fetch(shape.urls, shape.under_way, seconds, WARM_SECONDS)
    if sent is not None:
        yield FETCH, _rate(receivers, sent)


def _by_gateway(fed: Fed, shape: Shape, seconds: float, numbers: Iterator[int]) -> Sent:
    refs, ids = list(shape.webhooks()), list[str]()
    for length in (WARM_SECONDS, seconds):
        first = next(numbers)
        burst = fed.burst(refs, first, length, BACKLOG)
        ids += [webhook_id(first + number) for number in range(burst.votes)]
    return Sent(ids, burst.votes / burst.seconds)


def _rate(receivers: Receivers, sent: Sent) -> Rate:
    arrivals = receivers.arrivals(sent.ids)
    return Rate(sent.rate, arrivals.busy_seconds / len(sent.ids) * sent.rate)
