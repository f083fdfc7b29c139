"""The end of an outage of Redis, when a node sends its backlog: time, memory, and the delay of vote checks.

    python -m bench.fleet_outage [--votes 250000]

runs this alone, and prints it.
"""

import argparse
import http.client
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.charts import Report
from bench.fixed_rate import quantile_ms
from bench.fleet_catching_up import REFS, Lag, new_folder, until
from bench.fleet_nodes import FleetNode, fleet_node
from bench.load import LOAD_CORES, on_cores
from bench.servers import Running
from bench.wire import seeded
from bench.world import Caller
from tests.support.redis_server import RedisServer

VOTES = 250_000
CHECKS_PER_SECOND = 50.0
"""The rate at each node, one check behind the other."""
QUIET_SECONDS = 2.0
LATE_SECONDS = 10.0
NODES = ("told", "read")


class Phase(NamedTuple):
    """A phase: its length, the times of vote checks meanwhile, and the most memory, both by node."""

    seconds: float
    checks: dict[str, Lag]
    peak_bytes: dict[str, int]


class Outage(NamedTuple):
    votes: int
    quiet: Phase
    away: Phase
    back: Phase
    """The phase until the other node has all votes."""
    after: Phase


class _Checking:
    """A client that asks a node at fixed moments, and notes the time that each answer took."""

    def __init__(self, node: FleetNode, caller: Caller) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", node.port)
        self._running = Running(node.port, node.pid())
        self._path = f"/bots/{caller.bot}/voters/{caller.user}"
        self._headers = {"Authorization": caller.key}
        self._over = threading.Event()
        self.took_ns: array[int] = array("q")
        self.peak_bytes = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due_ns = time.monotonic_ns()
        while not self._over.is_set():
            due_ns += int(1e9 / CHECKS_PER_SECOND)
            time.sleep(max(due_ns - time.monotonic_ns(), 0) / 1e9)
            self._connection.request("GET", self._path, headers=self._headers)
            answer = self._connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise AssertionError(f"{answer.status} to a vote check")
            self.took_ns.append(time.monotonic_ns() - due_ns)
            self.peak_bytes = max(self.peak_bytes, self._running.resident())

    def end(self) -> tuple[Lag, int]:
        self._over.set()
        self._thread.join(LATE_SECONDS)
        self._connection.close()
        took = self.took_ns
        return Lag(quantile_ms(took, 0.5), quantile_ms(took, 0.99), max(took) / 1e6), self.peak_bytes


def measure_outage(place: Path, redis: RedisServer, votes: int = VOTES) -> Outage:
    """Measure an outage. Redis and the node that reads are on the load's core, with the load."""
    folder = place / "outage-told"
    caller = seeded(folder, [(ref, 1) for ref in REFS])[0]
    other = new_folder(place / "outage-read", folder)
    with (
        fleet_node(folder, "a", redis.url) as told,
        fleet_node(other, "b", redis.url, LOAD_CORES) as read,
    ):
        held = told.votes()
        until(read.votes, held.__le__)
        phases: list[Phase] = []

        @contextmanager
        def phase(name: str) -> Iterator[None]:
            print(f"{votes:,} votes while Redis is away: {name}", file=sys.stderr)
            checking = [_Checking(node, caller) for node in (told, read)]
            started = time.monotonic()
            yield
            seconds, ended = time.monotonic() - started, [each.end() for each in checking]
            checks = {name: lag for name, (lag, _) in zip(NODES, ended, strict=True)}
            peaks = {name: peak for name, (_, peak) in zip(NODES, ended, strict=True)}
            phases.append(Phase(seconds, checks, peaks))

        with phase("before"):
            time.sleep(QUIET_SECONDS)
        redis.stop()
        with phase("away"):
            told.cast(REFS, 0, votes)
        with on_cores(LOAD_CORES):
            redis.start()
        with phase("back"):
            until(read.votes, (held + votes).__le__)
        with phase("after"):
            time.sleep(QUIET_SECONDS)
    return Outage(votes, *phases)


def outage_tables(report: Report, outage: Outage) -> None:
    report.text(
        f"""{outage.votes:,} votes taken at one node while Redis was away, cast as fast as it commits; then
Redis comes back, empty. Vote checks are asked meanwhile at both nodes, {CHECKS_PER_SECOND:g}/s each, one
behind the other. Memory is the most that was resident."""
    )
    rows: list[tuple[str, Phase]] = [
        ("before", outage.quiet),
        ("Redis is away", outage.away),
        ("told and read", outage.back),
        ("afterwards", outage.after),
    ]
    report.table(
        "outage",
        "an outage of Redis",
        ["seconds", "MB at the node that tells", "MB at the one that reads"],
        [(name, f"{each.seconds:.1f}", *_megabytes(each)) for name, each in rows],
    )
    report.table(
        "outage-checks",
        "vote checks meanwhile, milliseconds",
        [f"{node}: {what}" for node in NODES for what in ("p50", "p99", "most")],
        [(name, *_milliseconds(each)) for name, each in rows],
    )


def _megabytes(phase: Phase) -> Sequence[str]:
    return [f"{phase.peak_bytes[node] / 1e6:.0f}" for node in NODES]


def _milliseconds(phase: Phase) -> Sequence[str]:
    return [f"{number:.2f}" for node in NODES for number in phase.checks[node]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet_outage")
    parser.add_argument("--votes", type=int, default=VOTES)
    votes = parser.parse_args().votes
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        place = Path(name)
        redis = RedisServer(place)
        try:
            with on_cores(LOAD_CORES):
                redis.start()
            outage = measure_outage(place, redis, votes)
        finally:
            redis.close()
    for each in outage[1:]:
        print(each)


if __name__ == "__main__":
    main()
