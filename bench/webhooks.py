"""`make bench-webhooks`: how many webhooks leave, how fast each arrives, and the cost of those that wait.

All of it is one run on one machine: compare its rows with each other, not with another machine's. Nothing is
asserted about time; that every webhook has arrived, and once, is.
"""

import argparse
import resource
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.charts import Report
from bench.receivers import receiving
from bench.webhooks_hostile import ENDPOINTS as HOSTILE
from bench.webhooks_hostile import KEPT, NONE, Beside, measure_hostile
from bench.webhooks_hostile import ROUNDS as HOSTILE_ROUNDS
from bench.webhooks_hostile import VOTES_PER_SECOND as HOSTILE_VOTES
from bench.webhooks_latency import (
    ALONE,
    ANSWERING,
    CHECKS_PER_SECOND,
    ENDPOINTS,
    FURTHER,
    SILENT,
    VOTES_PER_SECOND,
    Round,
    measure_latency,
)
from bench.webhooks_pending import LISTINGS, WAITING, Waited, measure_pending
from bench.webhooks_rates import FETCH, MANY, OURS, Rate, measure_rates
from bench.wire import ROUNDS, fixed_table

LATENCY_STRETCH = 3
SPREAD_STRETCH = 3
"""The length of these stretches, as a multiple of SECONDS."""

METHOD = f"""The gateway runs on one core, with its journal's thread; so do the peers, each in its turn. The
receivers and the load are on another, when the machine has two or more. A number is the median of {ROUNDS}
rounds, in which each has its turn. Settings are the defaults, except that webhooks may go to this machine,
and where it is said. Votes come in over a pipe; each is journalled, signed, sent, answered with 204, and its
outcome journalled. A run fails when a webhook has not arrived, or has arrived twice, unless its receiver is
one that never answers."""
RATES = f"""The peers are bare loops around HTTP clients with as many requests under way: they journal, order,
sign and write down nothing. So a ratio of 1 means that all of that costs no more than the other's client
does. One endpoint has one request under way (the default), or 16 (`webhooks.in_flight_per_endpoint`). The
{MANY:,} receivers are {MANY:,} ports of one process, with a listing each; the gateway keeps up to 512 idle
connections, the peers keep all. How busy the receivers' process was stands further below: near 100%,
the receivers would be measured, not the sender."""
LATENCY = f"""{VOTES_PER_SECOND} votes/s at fixed moments, in turn for {ENDPOINTS} endpoints on ports of their
own; a webhook's latency counts from its vote's moment in the schedule to when its receiver had the whole
request. Beside them {CHECKS_PER_SECOND} vote checks a second go over HTTP at fixed moments, and count
from there too. The last column is how late the load itself was.

Then {FURTHER} further endpoints get a vote a second each: in one row they answer, in the other they accept
connections and never answer. What the first costs is the price of {FURTHER} more votes a second; what the
second costs beyond it is the price of silence. Gateways are new in each round."""
BESIDE = f"""{HOSTILE} https endpoints of one kind get {HOSTILE_VOTES} votes a second in all, while callers
ask for votes over HTTP as fast as they are answered: how many of these are left? Webhooks are attempted as
they come, those that fail too, and most kinds need a connection for each. The receivers do their worst with
what the load leaves of its core. "270 certificates" are more than a handshake may have, "90" nearly fill it,
"20" are as many as are looked at beside honest handshakes. The last column leaves out the threads, which give
way to the loop, and whatever else runs on the machine. Means of {HOSTILE_ROUNDS} rounds."""
RATIO_ROWS = ((ANSWERING, ALONE), (SILENT, ALONE), (SILENT, ANSWERING))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks")
    parser.add_argument("--seconds", type=float, default=2, help="of each of the measurements under load")
    seconds = parser.parse_args().seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the other processes on its way out
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for thousands of connections
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name, receiving() as receivers:
        place = Path(name)
        rates = measure_rates(place, receivers, seconds)
        latencies = measure_latency(place, receivers, LATENCY_STRETCH * seconds)
        waited = measure_pending(place, receivers, SPREAD_STRETCH * seconds)
        beside = measure_hostile(place)
    report = Report("webhooks", "Webhooks", f"make bench-webhooks SECONDS={seconds:g}")
    report.text(METHOD)
    _ratios(report, rates, latencies)
    _rates(report, rates)
    _latencies(report, latencies)
    _waited(report, waited)
    _hostile(report, beside)
    report.write()


def _ratios(report: Report, rates: Mapping[str, Mapping[str, Rate]], latencies: Mapping[str, Round]) -> None:
    report.text(RATES)
    peers = [name for name in next(iter(rates.values())) if name != OURS]
    report.table(
        "ratios",
        "webhooks/s beside bare clients: above 1 the gateway sends more",
        list(rates),
        [
            (
                f"beside {peer}",
                *(f"{by[OURS].per_second / by[peer].per_second:.2f}" for by in rates.values()),
            )
            for peer in peers
        ],
    )
    if FETCH not in peers:
        report.text(f"Without {FETCH}: there is no Node on this machine.")
    report.text(LATENCY)
    report.table(
        "silence",
        "the same endpoints beside others: 1.00 is as fast",
        ["webhooks, p50", "webhooks, p99", "vote checks, p50", "vote checks, p99"],
        [(f"{what} / {beside}", *_beside(latencies[what], latencies[beside])) for what, beside in RATIO_ROWS],
    )


def _beside(measured: Round, other: Round) -> list[str]:
    pairs = zip(measured, other, strict=True)
    return [f"{ratio:.2f}" for ours, than in pairs for ratio in (ours.p50 / than.p50, ours.p99 / than.p99)]


def _rates(report: Report, rates: Mapping[str, Mapping[str, Rate]]) -> None:
    senders = list(next(iter(rates.values())))
    report.table(
        "rates",
        "webhooks/s",
        list(rates),
        [(name, *(f"{by[name].per_second:.0f}" for by in rates.values())) for name in senders],
    )
    report.table(
        "busy",
        "the receivers' process meanwhile, % of its core",
        list(rates),
        [(name, *(f"{by[name].receivers_busy * 100:.0f}" for by in rates.values())) for name in senders],
    )


def _latencies(report: Report, latencies: Mapping[str, Round]) -> None:
    webhooks = {name: measured.webhooks for name, measured in latencies.items()}
    fixed_table(report, "latency", "from a vote to its receiver, milliseconds", webhooks)
    checks = {name: measured.checks for name, measured in latencies.items()}
    fixed_table(report, "checks", "vote checks meanwhile, milliseconds", checks)


def _waited(report: Report, waited: Waited) -> None:
    before, after = waited.pending
    report.text(
        f"{WAITING:,} webhooks wait for {LISTINGS:,} endpoints that are suspended. Bytes are what the\n"
        "resident memory has grown by for each, its vote and the journal's buffers included. A start counts\n"
        "from starting the process until it serves, the best of three."
    )
    report.table(
        "pending",
        f"{WAITING:,} webhooks that wait",
        ["bytes of memory each"],
        [(OURS, f"{(after - before) / WAITING:.0f}")],
    )
    starts = {
        "on an empty folder": waited.empty_start,
        "on the journal of a killed gateway": waited.journal_start,
        "on the snapshot of a stopped one": waited.snapshot_start,
    }
    report.table(
        "start",
        f"a start, with {WAITING:,} webhooks that wait",
        ["seconds", "ratio to an empty folder"],
        [
            (label, f"{seconds:.2f}", f"{seconds / waited.empty_start:.2f}")
            for label, seconds in starts.items()
        ],
    )
    report.text(
        "After that start they leave to a receiver that answers, spread over time so that it is not flooded\n"
        "(100 begin each 100 ms, and an endpoint gets no more than 50 a second, so the first seconds have\n"
        f"less): arrivals in each of the first {len(waited.by_second)} seconds."
    )
    report.table(
        "spread",
        "after a start, webhooks/s",
        ["mean", "fewest in a second", "most in a second"],
        [
            (
                OURS,
                f"{sum(waited.by_second) / len(waited.by_second):.0f}",
                f"{min(waited.by_second)}",
                f"{max(waited.by_second)}",
            )
        ],
    )


def _hostile(report: Report, beside: Mapping[str, Beside]) -> None:
    none, kept = beside[NONE], beside[KEPT]
    report.text(BESIDE)
    report.table(
        "hostile",
        "vote checks beside https receivers, as a share of those beside others",
        ["well-behaved, kept", "no webhooks", "well-behaved, for each second of the loop's work"],
        [
            (
                kind,
                f"{each.per_second / kept.per_second:.2f}",
                f"{each.per_second / none.per_second:.2f}",
                f"{each.per_busy_second / kept.per_busy_second:.2f}",
            )
            for kind, each in beside.items()
        ],
    )
    report.text(f"Beside no webhooks there are {none.per_second:.0f} vote checks a second.")


if __name__ == "__main__":
    main()
