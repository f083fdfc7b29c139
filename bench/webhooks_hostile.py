"""Vote checks beside receivers that do their worst over TLS, as fast as the gateway answers them.

Gateways are new for each kind and round, because what hangs in one would hang in the next round too.
"""

import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from bench.hostile_receivers import hostile_receivers
from bench.load import LOAD_CORES, closed_loop, on_cores
from bench.servers import OPERATOR
from bench.webhooks_gateway import Fed, feeding, ref_of
from bench.world import add_callers, write_requests

ENDPOINTS = 10
VOTES_PER_SECOND = 50
"""For all of them. Each kind is measured before an attempt is made again, or an endpoint suspended."""
CONNECTIONS = 64
ROUNDS = 2
SECONDS = 1
NONE = "no webhooks"
ASKING = 10**6
"""The number of the listing that is asked about its voters."""


class Beside(NamedTuple):
    per_second: float
    """Vote checks."""
    per_busy_second: float
    """Vote checks, for each second that the loop was at work."""


def measure_hostile(place: Path) -> dict[str, Beside]:
    """Medians of the rounds, by kind of receiver."""
    certificates = place / "hostile"
    certificates.mkdir()
    rates: dict[str, list[Beside]] = {}
    with hostile_receivers(certificates, ENDPOINTS) as by_kind:
        kinds: Mapping[str, list[str]] = {NONE: [], **by_kind}
        for number in range(ROUNDS):
            for at, (kind, urls) in enumerate(kinds.items()):
                print(f"vote checks beside {kind}, round {number + 1} of {ROUNDS}", file=sys.stderr)
                rate = _rate(place, f"hostile-{number}-{at}", urls)
                rates.setdefault(kind, []).append(rate)
    return {kind: Beside(*map(statistics.median, zip(*of, strict=True))) for kind, of in rates.items()}


def _rate(place: Path, name: str, urls: list[str]) -> Beside:
    requests = place / f"{name}-requests"
    webhooks: dict[str, str | None] = {ref_of(number): url for number, url in enumerate(urls)}
    with feeding(place / name) as fed, on_cores(LOAD_CORES):
        fed.add({**webhooks, ref_of(ASKING): None})
        write_requests(requests, add_callers(fed.port, OPERATOR, [(ref_of(ASKING), 0)]))
        before = fed.busy_seconds()
        with _voting(fed, list(webhooks)):
            checks = closed_loop(fed.port, CONNECTIONS, SECONDS, requests)
        return Beside(checks.rate, checks.answered / (fed.busy_seconds() - before))


@contextmanager
def _voting(fed: Fed, refs: list[str]) -> Iterator[None]:
    """Votes for these in turn, at fixed moments, until the context ends."""
    enough = threading.Event()

    def vote() -> None:
        start = time.monotonic()
        for number in count():
            if enough.wait(max(start + number / VOTES_PER_SECOND - time.monotonic(), 0)):
                return
            fed.vote(refs[number % len(refs)], number)

    thread = threading.Thread(target=vote)
    if refs:
        thread.start()
    try:
        yield
    finally:
        enough.set()
        if refs:
            thread.join()
