"""The cost of a hundred thousand waiting webhooks: memory, a start with them, and their rate after it.

The endpoints are suspended while the votes come in. Then the gateway is killed and started on its journal,
stopped and started on its snapshot, and at last started to send, to receivers that answer.
"""

import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.fixed_rate import NS
from bench.receivers import Receivers
from bench.webhooks_gateway import Pending, feeding, ref_of

LISTINGS = 1_000
WAITING = 100_000
STARTS = 3


class Waited(NamedTuple):
    """The measurements: starts in seconds, and the webhooks in each second after the last start."""

    pending: Pending
    empty_start: float
    journal_start: float
    snapshot_start: float
    by_second: list[int]


def measure_pending(place: Path, receivers: Receivers, seconds: float) -> Waited:
    url = receivers.open(1, answering=True)[0]
    empty_start = min(_start_seconds(place / f"empty-{number}") for number in range(STARTS))
    folder, webhooks = place / "waiting", {ref_of(number): url for number in range(LISTINGS)}
    with feeding(folder) as fed:
        fed.add(webhooks, suspended=True)
        pending = fed.fill(list(webhooks), WAITING)
        fed.lift(list(webhooks))
    journal_start = min(_start_seconds(folder) for _ in range(STARTS))
    with feeding(folder, sending=False) as fed:
        fed.end()
    snapshot_start = min(_start_seconds(folder) for _ in range(STARTS))
    receivers.forget()
    whole_seconds = max(round(seconds), 1)
    with feeding(folder):
        started_ns = time.monotonic_ns()
        time.sleep(whole_seconds)
    at_ns = receivers.so_far().values()
    counts = Counter((each - started_ns) // NS for each in at_ns)
    by_second = [counts[second] for second in range(whole_seconds)]
    return Waited(pending, empty_start, journal_start, snapshot_start, by_second)


def _start_seconds(folder: Path) -> float:
    """Return the seconds from the start of the process until it serves."""
    started = time.perf_counter()
    with feeding(folder, sending=False):
        return time.perf_counter() - started
