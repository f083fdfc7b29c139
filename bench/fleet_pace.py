"""The lag and the CPU of each pace: two nodes, one of which casts single votes at a fixed rate."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.fleet_catching_up import FIRST_STEADY, REFS, STEADY_RATE, Lag, lag_of, new_folder, until
from bench.fleet_nodes import FleetNode, fleet_node
from bench.load import LOAD_CORES
from bench.state import in_process
from bench.state_disk import seed_folder
from tests.support.redis_server import RedisServer

PACES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03)
"""Seconds."""
SETTLE_SECONDS = 2.0


class Paced(NamedTuple):
    """CPU beside what an idle node uses, microseconds a vote: where it is cast and told, and where it is
    merged."""

    lag: Lag
    told_us: float
    merged_us: float


def measure_paces(place: Path, redis: RedisServer, seconds: float) -> dict[float, Paced]:
    """By pace."""
    folder, measured = place / "pace", dict[float, Paced]()
    folder.mkdir()
    in_process(seed_folder, folder, [(ref, 1) for ref in REFS])
    for number, pace in enumerate(PACES):
        print(f"a pace of {pace * 1_000:g} ms", file=sys.stderr)
        flags: dict[str, Any] = {"redis.pace_seconds": pace}
        other = new_folder(place / f"pace-{number}", folder)
        redis.flush()
        with (
            fleet_node(folder, "a", redis.url, LOAD_CORES, **flags) as a,
            fleet_node(other, "b", redis.url, **flags) as b,
        ):
            until(b.votes, a.votes().__le__)
            measured[pace] = _paced(a, b, FIRST_STEADY * (number + 1), seconds)
    return measured


def _paced(a: FleetNode, b: FleetNode, first: int, seconds: float) -> Paced:
    def cast() -> None:
        a.begin_steady(REFS, first, STEADY_RATE, seconds)
        a.end_steady()

    time.sleep(SETTLE_SECONDS)
    count, held = int(STEADY_RATE * seconds), b.votes()
    idle, busy = (_used(a, b, work) for work in (lambda: time.sleep(seconds), cast))
    until(b.votes, (held + count).__le__)
    told_us, merged_us = ((used - before) / count * 1e6 for used, before in zip(busy, idle, strict=True))
    return Paced(lag_of(a, b, first, count), told_us, merged_us)


def _used(a: FleetNode, b: FleetNode, work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of CPU that each of them has used when the work is done."""
    before = a.cpu_seconds(), b.cpu_seconds()
    work()
    return a.cpu_seconds() - before[0], b.cpu_seconds() - before[1]
