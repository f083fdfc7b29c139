"""Vote checks while snapshots of many votes are taken, one behind the other."""

import http.client
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.charts import Report
from bench.load import CORES, LOAD_CORES, closed_loop, fixed_rate
from bench.servers import OPERATOR, Running, running, votegate
from bench.state import voters
from bench.wire import FIXED_CONNECTIONS, HIGHEST_RATE, fixed_table, seeded
from bench.world import FIRST_USER, post, write_requests

ALL_BUT_THE_LOADS = set(CORES) - LOAD_CORES or set(CORES)
METHOD = """With {votes:,} votes, at half of what the gateway answers then in the closed loop; snapshots were
taken one behind the other ({taken} of them, {seconds:.1f} s each). The gateway has every core but the load's.
On a machine of two cores that is one, for its loop and for the thread that seals and writes the snapshot: a
second one would be the load's own, and what the load loses there would be counted as the gateway's."""


@contextmanager
def _snapshots(server: Running, ref: str) -> Iterator[list[float]]:
    """Take snapshots until the context ends. The list gets the seconds that each took."""
    enough, seconds, failed = threading.Event(), list[float](), list[Exception]()

    def take() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        user = FIRST_USER
        try:
            while not enough.is_set():
                user += 1
                post(connection, OPERATOR, f"/manage/{ref}/votes", {"user": str(user)})  # else nothing is new
                seconds.append(float(post(connection, OPERATOR, "/debug/snapshot", {})["seconds"]))
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield seconds
    finally:
        enough.set()
        thread.join()
    if failed:
        raise failed[0]


def measure_under_snapshot(report: Report, place: Path, votes: int, seconds: float) -> None:
    folder, requests, spread = place / "many", place / "many-requests", voters(votes)
    write_requests(requests, seeded(folder, spread))
    with running(votegate(folder), place / "many.log", ALL_BUT_THE_LOADS) as server:
        capacity = closed_loop(server.port, FIXED_CONNECTIONS, seconds, requests).rate
        rate = min(capacity / 2, HIGHEST_RATE)
        # As long as it takes for a few snapshots; the quiet time is as long, for as many noisy moments.
        quiet = fixed_rate(server.port, rate, FIXED_CONNECTIONS, 4 * seconds, requests)
        with _snapshots(server, spread[0][0]) as taken:
            during = fixed_rate(server.port, rate, FIXED_CONNECTIONS, 4 * seconds, requests)
    report.text(METHOD.format(votes=votes, taken=len(taken), seconds=statistics.fmean(taken)))
    measured = {"quiet": quiet, "while snapshots are taken": during}
    fixed_table(report, "snapshot", "vote checks, milliseconds", measured)
