"""`make bench`: vote checks over HTTP beside peers, while snapshots run, and what one decision costs.

All of it is one run on one machine: compare its rows with each other, not with another machine's.
"""

import argparse
import resource
import signal
import sys
import tempfile
from pathlib import Path

from bench.charts import Report
from bench.decisions import measure_decisions
from bench.hot_route import measure_hot_route
from bench.tools import require_programs
from bench.wire import measure_under_snapshot, measure_wire


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--seconds", type=float, default=2, help="of each of the measurements under load")
    parser.add_argument("--votes", type=int, default=1_000_000, help="that every server holds")
    parser.add_argument("--snapshot-votes", type=int, default=10_000_000, help="that snapshots are taken of")
    arguments = parser.parse_args()
    require_programs()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the servers on its way out
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for thousands of connections
    command = f"make bench SECONDS={arguments.seconds:g}"
    report = Report("wire", f"Vote checks over HTTP, {arguments.votes:,} votes", command)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        place = Path(name)
        measure_wire(report, place, arguments.votes, arguments.seconds)
        measure_under_snapshot(report, place, arguments.snapshot_votes, arguments.seconds)
    measure_decisions(report)
    measure_hot_route(report)
    report.write()


if __name__ == "__main__":
    main()
