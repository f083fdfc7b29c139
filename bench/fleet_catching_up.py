"""The speed at which votes arrive at another node: while both are up, as a backlog, and as a copy.

The second part has the lag and the CPU of each pace, while one of two nodes casts single votes at a fixed
rate.
"""

import shutil
import statistics
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.fixed_rate import NS, quantile_ms
from bench.fleet_nodes import FleetNode, fleet_node
from bench.load import LOAD_CORES
from bench.state import in_process
from bench.state_disk import seed_folder
from storage.folder import KEYS
from tests.support.redis_server import RedisServer

ROUNDS = 3
BURST = 20_000
"""The number of votes cast as fast as possible."""
BACKLOG = 100_000
"""The number of votes cast while the other node is away."""
COPIED = 1_000_000
LISTINGS = 1_000
STEADY_RATE = 200.0
SINGLE_RATE = 500.0
SINGLE_SECONDS = 4.0
"""A rate so low that no two votes become durable together."""
FIRST_STEADY, FIRST_SINGLE = 10**9, 2 * 10**9
"""The numbers of the first votes, so that no two votes have one number."""
STEADY_STRETCH = 5
"""The stretch at that rate, as a multiple of SECONDS."""
PATIENCE_SECONDS = 120
LOOK_SECONDS = 0.01
REFS = [f"bots/{10**17 + number}" for number in range(LISTINGS)]


class CaughtUp(NamedTuple):
    """The number of votes that came, and the seconds. `redis_bytes` is the most that Redis took for them."""

    votes: int
    seconds: float
    redis_bytes: int


class Lag(NamedTuple):
    """The lag from durable at one node to merged at the other, in milliseconds."""

    p50: float
    p99: float
    most: float


class Arrived(NamedTuple):
    copy: CaughtUp
    live: CaughtUp
    cast_seconds: float
    """The seconds that casting the votes of `live` took."""
    backlog: CaughtUp
    single: CaughtUp
    """As many votes as `backlog`, cast one by one. The time is not measured."""
    lag: Lag


def used_bytes(redis: RedisServer) -> int:
    with redis.client() as client:
        return int(client.info("memory")["used_memory"])


def entries(redis: RedisServer) -> int:
    """Return the number of entries in the stream of node a."""
    with redis.client() as client:
        return int(client.xlen("votegate:stream:a"))


def new_folder(path: Path, like: Path) -> Path:
    """Make an empty data folder of the same fleet."""
    path.mkdir()
    shutil.copy(like / KEYS, path)
    return path


def measure_arrival(place: Path, redis: RedisServer, seconds: float) -> Arrived:
    """Measure a copy, live votes and a backlog. Node a and Redis are on the load's core, node b is not."""
    folder_a = place / "arrival-a"
    folder_a.mkdir()
    in_process(seed_folder, folder_a, [(ref, COPIED // LISTINGS) for ref in REFS])
    folder_b = new_folder(place / "arrival-b", folder_a)
    with fleet_node(folder_a, "a", redis.url, LOAD_CORES) as a:
        held = a.votes()
        with fleet_node(folder_b, "b", redis.url) as b:
            copy = _caught_up(redis, b, held, 0)
            live, cast_seconds = _live(a, b)
            lag = _lag(a, b, seconds)
            until(lambda: entries(redis), (1).__ge__)  # all the rest is read, and trimmed
        known = a.votes()
        single = _kept(redis, a, lambda: _single(a))
        backlog = _kept(redis, a, lambda: a.cast(REFS, BURST * ROUNDS, BACKLOG))
        with fleet_node(folder_b, "b", redis.url) as b:
            whole = _caught_up(redis, b, a.votes(), known)
    backlog = whole._replace(redis_bytes=backlog.redis_bytes)
    return Arrived(copy, live, cast_seconds, backlog, single, lag)


def _single(a: FleetNode) -> None:
    a.begin_steady(REFS, FIRST_SINGLE, SINGLE_RATE, SINGLE_SECONDS)
    a.end_steady()


def _kept(redis: RedisServer, a: FleetNode, cast: Callable[[], object]) -> CaughtUp:
    """Measure the memory in Redis of votes that nobody reads."""
    held, used = a.votes(), used_bytes(redis)
    cast()
    until(lambda: used_bytes(redis), _settled())
    return CaughtUp(a.votes() - held, 0, used_bytes(redis) - used)


def until(look: Callable[[], int], is_over: Callable[[int], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_over(look()):
        if time.monotonic() > deadline:
            raise AssertionError("it does not come")
        time.sleep(LOOK_SECONDS)


def _settled() -> Callable[[int], bool]:
    """Return a function that is true once a number has stayed about the same for a while."""
    seen: list[int] = []

    def is_settled(number: int) -> bool:
        seen.append(number)
        recent = seen[-50:]
        return len(recent) == 50 and max(recent) - min(recent) < 65_536

    return is_settled


def _caught_up(redis: RedisServer, node: FleetNode, held: int, before: int) -> CaughtUp:
    """Count the seconds from the node's first answer until it holds so many votes."""
    started, used, most = time.perf_counter(), used_bytes(redis), [0]

    def look() -> int:
        most[0] = max(most[0], used_bytes(redis) - used)
        return node.votes()

    until(look, held.__le__)
    return CaughtUp(held - before, time.perf_counter() - started, most[0])


def _live(a: FleetNode, b: FleetNode) -> tuple[CaughtUp, float]:
    """Return the median of the rounds, from the first commit to the last merge."""
    rounds: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        held, started = b.votes() + BURST, time.monotonic_ns()
        cast = a.cast(REFS, number * BURST, BURST)
        until(b.votes, held.__le__)
        last_ns = max(b.moments_ns(number * BURST, BURST))
        rounds.append(((last_ns - started) / NS, cast))
    whole, cast = (statistics.median(numbers) for numbers in zip(*rounds, strict=True))
    return CaughtUp(BURST, whole, 0), cast


def _lag(a: FleetNode, b: FleetNode, seconds: float) -> Lag:
    first, stretch = FIRST_STEADY, STEADY_STRETCH * seconds
    count, held = int(STEADY_RATE * stretch), b.votes()
    a.begin_steady(REFS, first, STEADY_RATE, stretch)
    a.end_steady()
    until(b.votes, (held + count).__le__)
    return lag_of(a, b, first, count)


def lag_of(a: FleetNode, b: FleetNode, first: int, count: int) -> Lag:
    """Return the lags of these votes, cast at node a."""
    durable, merged = a.moments_ns(first, count), b.moments_ns(first, count)
    took = array("q", (there - here for here, there in zip(durable, merged, strict=True)))
    return Lag(quantile_ms(took, 0.5), quantile_ms(took, 0.99), max(took) / 1e6)


PACES = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03)
"""Seconds."""
SETTLE_SECONDS = 2.0


class Paced(NamedTuple):
    """The lag, and the CPU of a vote without that of an idle node, in microseconds: where the vote is cast,
    and where it is merged."""

    lag: Lag
    told_us: float
    merged_us: float


def measure_paces(place: Path, redis: RedisServer, seconds: float) -> dict[float, Paced]:
    """Return the measurements by pace."""
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
    """Return the seconds of CPU that the work takes at each node."""
    before = a.cpu_seconds(), b.cpu_seconds()
    work()
    return a.cpu_seconds() - before[0], b.cpu_seconds() - before[1]
