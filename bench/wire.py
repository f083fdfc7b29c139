"""Vote checks over HTTP beside peers: how many a second, how fast, and what an idle connection costs.

All servers run from the beginning to the end, and each gets its turn in every round. A number is the median
of the rounds, so a noisy moment of the machine hits all servers or none. At last, Votegate alone answers
while snapshots of many votes are taken, one behind the other.
"""

import contextlib
import http.client
import socket
import statistics
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.charts import Report
from bench.load import CORES, LOAD_CORES, Measured, ask, closed_loop, fixed_rate, idle_bytes
from bench.servers import DIGEST_SECRET, FLOOR, OPERATOR, OURS, Running, peers, running, votegate
from bench.state import in_process, voters
from bench.state_disk import seed_folder
from bench.world import FIRST_USER, Caller, add_callers, check_work, post, write_requests, write_world

VOTES_PER_BOT = 100
CONNECTIONS = (16, 64, 256)
FIXED_CONNECTIONS = 64
IDLE_CONNECTIONS = 2_000
ROUNDS = 3
COMMON_RATE = 2_000.0
HIGHEST_RATE = 30_000.0
"""The highest rate at which the load can still send each request at its moment."""

METHOD = f"""Every server runs on one core and the load on another, when the machine has two or more. All have
the same number of votes in memory, and are asked by 1,000 bots in turn, each with its own key, about a user
each. A number is the median of {ROUNDS} rounds, in which every server has its turn.

In the closed loop (wrk, one thread) a connection asks again as soon as it is answered. Its p99 holds the
first answers of connections too, which are opened all at once and which some servers leave waiting a while.

At a fixed rate a request's latency counts from the moment at which it was to be sent, whether its connection
was free then or not, over {FIXED_CONNECTIONS} connections that are open before. The last column is how late
the load itself was. Half of a server's capacity is half of what it answered in the closed loop, and at most
{HIGHEST_RATE:,.0f}/s, which is what the load can send at its moments.

The constant answer has as many bytes as Votegate's, and comes from the parser and the loop that Votegate
runs on: less than that is not to be had."""


def median(measured: Sequence[Measured]) -> Measured:
    return Measured(*(statistics.median(numbers) for numbers in zip(*measured, strict=True)))


@dataclass
class Results:
    """The measurements, by server, in the order in which they are shown."""

    idle: dict[str, float] = field(default_factory=dict)
    closed: dict[int, dict[str, Measured]] = field(default_factory=dict)
    half: dict[str, Measured] = field(default_factory=dict)
    common: dict[str, Measured] = field(default_factory=dict)


def measure_wire(report: Report, place: Path, votes: int, seconds: float) -> None:
    requests = place / "requests"
    with _servers(place, requests, votes) as servers:
        _report(report, _measure(servers, requests, seconds))


@contextlib.contextmanager
def _servers(place: Path, requests: Path, votes: int) -> Iterator[dict[str, Running]]:
    """Start all servers, ask each once, and write the file of requests."""
    voters = [(f"bots/{10**17 + i}", VOTES_PER_BOT) for i in range(votes // VOTES_PER_BOT)]
    folder, world, answer = place / "votegate", place / "world.json", place / "answer"
    callers = seeded(folder, voters)
    write_requests(requests, callers)
    write_world(world, DIGEST_SECRET, voters, callers)
    with contextlib.ExitStack() as stack:
        servers = {OURS: stack.enter_context(running(votegate(folder), place / "votegate.log"))}
        with socket.create_connection(("127.0.0.1", servers[OURS].port)) as connection:
            answer.write_bytes(ask(connection, callers[0].request))
        for number, peer in enumerate(peers(world, answer)):
            servers[peer.name] = stack.enter_context(running(peer, place / f"{number}.log"))
        for name, begun in servers.items():
            if name != FLOOR:
                check_work(begun.port, callers[0])
        yield servers


def seeded(folder: Path, voters: Sequence[tuple[str, int]]) -> list[Caller]:
    """Make a data folder with so many voters per listing, and return callers."""
    folder.mkdir()
    in_process(seed_folder, folder, voters)
    with running(votegate(folder), folder.with_suffix(".log")) as gateway:
        return add_callers(gateway.port, OPERATOR, voters)


def _measure(servers: Mapping[str, Running], requests: Path, seconds: float) -> Results:
    results, request = Results(), requests.read_bytes().partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    for name, server in servers.items():  # first, while nothing else has made a server's memory grow
        results.idle[name] = idle_bytes(server.port, server.resident, request, IDLE_CONNECTIONS)

    def rounds(what: str, once: Callable[[str, int], Measured]) -> dict[str, Measured]:
        measured: dict[str, list[Measured]] = {name: [] for name in servers}
        for number in range(ROUNDS):
            print(f"{what}, round {number + 1} of {ROUNDS}", file=sys.stderr)
            for name, server in servers.items():
                measured[name].append(once(name, server.port))
        return {name: median(numbers) for name, numbers in measured.items()}

    def closed(connections: int) -> dict[str, Measured]:
        what = f"closed loop, {connections} connections"
        return rounds(what, lambda _, port: closed_loop(port, connections, seconds, requests))

    def fixed(what: str, rates: Mapping[str, float]) -> dict[str, Measured]:
        return rounds(
            what, lambda name, port: fixed_rate(port, rates[name], FIXED_CONNECTIONS, seconds, requests)
        )

    results.closed = {connections: closed(connections) for connections in CONNECTIONS}
    half = {name: numbers.rate / 2 for name, numbers in results.closed[FIXED_CONNECTIONS].items()}
    common = min(COMMON_RATE, *half.values())
    results.half = fixed("half of capacity", {name: min(rate, HIGHEST_RATE) for name, rate in half.items()})
    results.common = fixed("common rate", dict.fromkeys(half, common))
    return results


def _report(report: Report, results: Results) -> None:
    others = [name for name in results.idle if name != OURS]
    common = results.common[OURS].rate
    report.text(METHOD)
    report.table(
        "ratios",
        f"{OURS} beside others: above 1 it is better",
        [
            *(f"requests/s, {connections} connections" for connections in CONNECTIONS),
            f"p99 at {common:,.0f}/s",
            "memory of an idle connection",
        ],
        [
            (
                f"beside {name}",
                *(f"{by[OURS].rate / by[name].rate:.2f}" for by in results.closed.values()),
                f"{results.common[name].p99 / results.common[OURS].p99:.2f}",
                f"{results.idle[name] / results.idle[OURS]:.2f}",
            )
            for name in others
        ],
    )
    report.table(
        "closed",
        "closed loop, requests/s",
        [f"{connections} connections" for connections in CONNECTIONS],
        [(name, *(f"{by[name].rate:.0f}" for by in results.closed.values())) for name in results.idle],
    )
    for connections, by in results.closed.items():
        report.table(
            f"closed-{connections}",
            f"closed loop, {connections} connections, milliseconds",
            ["p50", "p99", "p99.9"],
            [(name, *milliseconds(numbers)[:3]) for name, numbers in by.items()],
        )
    fixed_table(report, "half", "fixed rate, half of its own capacity, milliseconds", results.half)
    fixed_table(report, "common", "fixed rate, one for all, milliseconds", results.common)
    report.table(
        "idle",
        f"an idle connection, of {IDLE_CONNECTIONS:,}",
        ["bytes of memory"],
        [(name, f"{size:.0f}") for name, size in results.idle.items()],
    )


def fixed_table(report: Report, name: str, title: str, measured: Mapping[str, Measured]) -> None:
    report.table(
        name,
        title,
        ["p50", "p99", "p99.9", "load late, p99"],
        [(f"{label}, {numbers.rate:,.0f}/s", *milliseconds(numbers)) for label, numbers in measured.items()],
    )


def milliseconds(measured: Measured) -> list[str]:
    """Return the latencies of the server, and that of the load, as text."""
    return [f"{ms:.3f}" for ms in measured[1:5]]


ALL_BUT_THE_LOADS = set(CORES) - LOAD_CORES or set(CORES)
UNDER_SNAPSHOT = """With {votes:,} votes, at half of what the gateway answers then in the closed loop;
snapshots were taken one behind the other ({taken} of them, {seconds:.1f} s each). The gateway has every core
but the load's. On a machine of two cores that is one, for its loop and for the thread that seals and writes
the snapshot: a second one would be the load's own, and what the load loses there would be counted as the
gateway's."""


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
        # Long enough for a few snapshots. The quiet time is as long, for as many noisy moments.
        quiet = fixed_rate(server.port, rate, FIXED_CONNECTIONS, 4 * seconds, requests)
        with _snapshots(server, spread[0][0]) as taken:
            during = fixed_rate(server.port, rate, FIXED_CONNECTIONS, 4 * seconds, requests)
    report.text(UNDER_SNAPSHOT.format(votes=votes, taken=len(taken), seconds=statistics.fmean(taken)))
    measured = {"quiet": quiet, "while snapshots are taken": during}
    fixed_table(report, "snapshot", "vote checks, milliseconds", measured)
