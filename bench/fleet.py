"""`make bench-fleet`: how fast nodes hear of each other, and the cost of a fleet for vote checks and votes.

All of it is one run on one machine: compare its rows with each other, not with another machine's. Nothing is
asserted about time; that every vote has arrived is.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.charts import Report
from bench.fleet_catching_up import (
    BACKLOG,
    BURST,
    COPIED,
    LISTINGS,
    SINGLE_RATE,
    STEADY_RATE,
    Arrived,
    Paced,
    measure_arrival,
    measure_paces,
)
from bench.fleet_outage import measure_outage, outage_tables
from bench.fleet_serving import CHECKS_PER_SECOND, Checks, Served, measure_serving, ratio
from bench.load import LOAD_CORES, on_cores
from bench.wire import FIXED_CONNECTIONS, ROUNDS, fixed_table
from tests.support.redis_server import RedisServer

METHOD = f"""The node that is measured runs on one core; the other node, Redis and the load are on another,
when the machine has two or more. Settings are the defaults. Votes come in over a pipe, spread over
{LISTINGS:,} listings; each is journalled, sealed, put into Redis, read, merged and journalled again. A run
fails when a vote has not arrived."""
ARRIVAL = f"""`live` are {BURST:,} votes cast as fast as one node commits, while both are up: from the first
commit to the last merge, the median of {ROUNDS} rounds. `stream` are {BACKLOG:,} votes, cast as fast as that
while the node was away, `copy` the state with {COPIED:,} votes that a node with an empty folder takes:
from when it serves until it holds all."""
MEMORY = f"""The most that Redis took for it beyond what it held before. Votes that become durable together go
into one entry; `one by one` are votes at {SINGLE_RATE:g}/s. A copy is never in Redis as a whole."""
PACE = f"""By `redis.pace_seconds`: the lag of single votes at {STEADY_RATE:g}/s, and the CPU that one takes
beside what an idle node uses: casting included where it is told."""
CHECKS = f"""Vote checks at one node: as many as {FIXED_CONNECTIONS} connections get answered, and at a fixed
rate, where a latency counts from the moment at which the check was to be sent. CPU a check is what the
node's process has used meanwhile, for whatever it did; where they ask as many as they can, it tells the
same as the rate, and depends less on what else the machine does. The other node's work is on the load's
core, which the last column shows. A number is the median of {ROUNDS} rounds, in which each has its turn."""
VOTES = """Casting a vote through the management API, one behind the other over one connection. While Redis
hangs (its process is stopped) one vote a second waits for its claim, until `redis.claim_timeout_seconds`
are over; the others go by what the node knows."""


PACED_STRETCH = 2
"""The stretch at each pace, as a multiple of SECONDS."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet")
    parser.add_argument("--seconds", type=float, default=2, help="of each of the measurements under load")
    seconds = parser.parse_args().seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the other processes on its way out
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        place = Path(name)
        with on_cores(LOAD_CORES):
            redis = RedisServer(place)
            redis.start()
        try:
            arrived = measure_arrival(place, redis, seconds)
            paced = measure_paces(place, redis, PACED_STRETCH * seconds)
            redis.flush()
            served = measure_serving(place, redis, seconds)
            redis.flush()
            outage = measure_outage(place, redis)
        finally:
            redis.close()
    report = Report("fleet", "A fleet of gateways", f"make bench-fleet SECONDS={seconds:g}")
    report.text(METHOD)
    report.text(f"When it began, {load:.1f} other processes ran or waited to (the load average of a minute).")
    _arrived(report, arrived)
    _paced(report, paced)
    _served(report, served)
    outage_tables(report, outage)
    report.write()


def _arrived(report: Report, arrived: Arrived) -> None:
    report.text(ARRIVAL)
    rows = {
        f"live, {BURST:,} votes": arrived.live,
        f"stream, {BACKLOG:,} votes": arrived.backlog,
        f"copy, {COPIED:,} votes": arrived.copy,
    }
    report.table(
        "arrival",
        "from one node to another",
        ["votes/s", "seconds"],
        [(name, f"{each.votes / each.seconds:.0f}", f"{each.seconds:.2f}") for name, each in rows.items()],
    )
    report.text(
        f"Casting the `live` votes took {arrived.cast_seconds:.2f} s of that, at one node: what it tells is\n"
        "sealed and sent by the same core."
    )
    report.text(MEMORY)
    kept = {
        f"stream, one by one, {arrived.single.votes:,} votes": arrived.single,
        f"stream, {BACKLOG:,} votes": arrived.backlog,
        f"copy, {COPIED:,} votes": arrived.copy,
    }
    report.table(
        "memory",
        "memory of Redis",
        ["MB", "bytes a vote"],
        [
            (name, f"{each.redis_bytes / 1e6:.1f}", f"{each.redis_bytes / each.votes:.0f}")
            for name, each in kept.items()
        ],
    )
    lag = arrived.lag
    report.table(
        "lag",
        f"from durable at one node to merged at the other, {STEADY_RATE:g} votes/s, milliseconds",
        ["p50", "p99", "most"],
        [("lag", f"{lag.p50:.2f}", f"{lag.p99:.2f}", f"{lag.most:.2f}")],
    )


def _paced(report: Report, measured: Mapping[float, Paced]) -> None:
    report.text(PACE)
    report.table(
        "pace",
        f"single votes, {STEADY_RATE:g} a second, by pace",
        ["lag p50, ms", "lag p99, ms", "CPU to tell one, us", "CPU to merge one, us"],
        [
            (
                f"{pace * 1_000:g} ms",
                f"{each.lag.p50:.2f}",
                f"{each.lag.p99:.2f}",
                f"{each.told_us:.0f}",
                f"{each.merged_us:.0f}",
            )
            for pace, each in measured.items()
        ],
    )


def _served(report: Report, served: Served) -> None:
    report.text(CHECKS)
    checks = served.checks
    numbers: dict[str, Callable[[Checks], float]] = {
        "checks/s": lambda each: each.closed.rate,
        "CPU a check": lambda each: each.closed_cpu_us,
        f"p50 at {CHECKS_PER_SECOND:,.0f}/s": lambda each: each.fixed.p50,
        f"p99 at {CHECKS_PER_SECOND:,.0f}/s": lambda each: each.fixed.p99,
        f"CPU a check at {CHECKS_PER_SECOND:,.0f}/s": lambda each: each.cpu_us,
    }
    report.table(
        "ratios",
        "vote checks beside a gateway in no fleet",
        list(numbers),
        [(name, *(ratio(checks, name, number) for number in numbers.values())) for name in list(checks)[1:]],
    )
    report.table(
        "checks",
        f"vote checks, {FIXED_CONNECTIONS} connections",
        ["checks/s", "CPU, us a check", f"CPU at {CHECKS_PER_SECOND:,.0f}/s, us a check"],
        [
            (name, f"{each.closed.rate:.0f}", f"{each.closed_cpu_us:.1f}", f"{each.cpu_us:.1f}")
            for name, each in checks.items()
        ],
    )
    fixed = {name: each.fixed for name, each in checks.items()}
    fixed_table(report, "fixed", "vote checks at a fixed rate, milliseconds", fixed)
    report.text(VOTES)
    report.table(
        "votes",
        "casting a vote, milliseconds",
        ["p50", "p99", "most", "longer than 50 ms, %"],
        [
            (name, f"{each.p50:.2f}", f"{each.p99:.2f}", f"{each.most:.2f}", f"{each.late * 100:.2f}")
            for name, each in served.votes.items()
        ],
    )


if __name__ == "__main__":
    main()
