"""Newcomers and vote checks beside clients that pipeline requests.

    python -m bench.greedy_clients [OTHER] [--rounds 3] [--seconds 3]

OTHER is another checkout with a `.venv`; its gateway has its turn in each round. The gateway has one core,
and the greedy clients share the other one with those that are measured. A newcomer connects, asks for one
vote check, reads the answer and leaves, 200 times a second at most.
"""

import argparse
import contextlib
import http.client
import itertools
import multiprocessing
import os
import selectors
import socket
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from multiprocessing.synchronize import Event
from pathlib import Path

from bench.load import LOAD_CORES, PATIENCE_SECONDS, closed_loop, on_cores
from bench.servers import OPERATOR, ROOT, running, votegate
from bench.world import FIRST_USER, Caller, add_callers, list_bots, post, write_requests

GREEDY, PAGES = 50, 200
"""Connections that pipeline vote checks, and those that pipeline pages of votes."""
VOTERS = [(f"bots/{10**17 + number}", 1) for number in range(100)]
VOTES = 1_000
PAGE = (
    f"GET /manage/votes?limit={VOTES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\n\r\n"
).encode()
STREAM_REQUESTS = 2_000
CONNECTIONS = 64
PAUSE_SECONDS = 0.005
SETTLE_SECONDS = 0.5
NICE = 10
"""Greedy clients get the time of their core that the measuring ones leave."""


class Greedy:
    """Connections that send one request again and again. They read their answers, or connect again when the
    gateway takes no more."""

    def __init__(self, port: int, request: bytes, *, reads: bool) -> None:
        self._address = ("127.0.0.1", port)
        self._request, self._stream = request, request * STREAM_REQUESTS
        self._events = selectors.EVENT_WRITE | (selectors.EVENT_READ if reads else 0)
        self._selector = selectors.DefaultSelector()

    def run(self, connections: int, opened: Event) -> None:
        os.nice(NICE)
        for _ in range(connections):
            self._connect()
        opened.set()
        while True:
            for key, events in self._selector.select():
                connection: socket.socket = key.fileobj  # type: ignore[assignment] # `_connect`
                try:
                    if events & selectors.EVENT_READ and not connection.recv(1 << 18):
                        raise ConnectionError
                    if events & selectors.EVENT_WRITE:
                        sent = connection.send(self._stream[key.data[0] :])
                        key.data[0] = (key.data[0] + sent) % len(self._request)
                except BlockingIOError:
                    if not self._events & selectors.EVENT_READ:
                        self._again(connection)
                except OSError:
                    self._again(connection)

    def _connect(self) -> None:
        connection = socket.create_connection(self._address, PATIENCE_SECONDS)
        connection.setblocking(False)
        self._selector.register(connection, self._events, [0])  # how much of a request was sent last

    def _again(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()
        self._connect()


@contextlib.contextmanager
def greedy(port: int, request: bytes, connections: int, *, reads: bool) -> Iterator[None]:
    context = multiprocessing.get_context("fork")
    opened = context.Event()
    clients = Greedy(port, request, reads=reads)
    with on_cores(LOAD_CORES):
        process = context.Process(target=clients.run, args=(connections, opened), daemon=True)
        process.start()
    try:
        opened.wait()
        time.sleep(SETTLE_SECONDS)
        yield
    finally:
        process.terminate()
        process.join()


def newcomers_p99_ms(port: int, request: bytes, seconds: float) -> float:
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
            connection.sendall(request)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        took.append((time.perf_counter() - began) * 1_000)
        time.sleep(PAUSE_SECONDS)
    return statistics.quantiles(took, n=100)[98] if len(took) > 1 else took[0]


def furnished(port: int) -> Sequence[Caller]:
    """Cast the votes of a page, and return callers."""
    list_bots(port, OPERATOR, [ref for ref, _ in VOTERS])
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        for number in range(VOTES):
            post(connection, OPERATOR, f"/manage/{VOTERS[0][0]}/votes", {"user": str(FIRST_USER + number)})
    return add_callers(port, OPERATOR, VOTERS)


def measured(tree: Path, seconds: float) -> dict[str, float]:
    """Return the numbers of one round of one checkout."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder, "requests")
        with (
            running(votegate(Path(folder, "data"), tree), Path(folder, "log")) as server,
            on_cores(LOAD_CORES),
        ):
            port = server.port
            callers = furnished(port)
            write_requests(requests, callers)
            check = callers[0].request
            found["a newcomer's p99, ms: nobody else"] = newcomers_p99_ms(port, check, seconds)
            found["checks/s: nobody else"] = closed_loop(port, CONNECTIONS, seconds, requests).rate
            with greedy(port, check, GREEDY, reads=False):
                name = f"a newcomer's p99, ms: {GREEDY} pipeline checks and read nothing"
                found[name] = newcomers_p99_ms(port, check, seconds)
        with (
            running(votegate(Path(folder, "data"), tree), Path(folder, "log")) as server,
            on_cores(LOAD_CORES),
            greedy(server.port, PAGE, PAGES, reads=True),
        ):
            name = f"checks/s: {PAGES} pipeline pages of {VOTES:,} votes"
            found[name] = closed_loop(server.port, CONNECTIONS, seconds, requests).rate
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.greedy_clients")
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    given = parser.parse_args()
    trees = [ROOT, *([given.other.resolve()] if given.other is not None else [])]
    rounds: dict[str, dict[Path, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, tree in itertools.product(range(given.rounds), trees):
        for name, number in measured(tree, given.seconds).items():
            rounds[name][tree].append(number)
    print(f"| medians of {given.rounds} rounds | {' | '.join(['here', *map(str, trees[1:])])} |")
    print(f"| --- |{' ---: |' * len(trees)}")
    for name, by_tree in rounds.items():
        numbers = [f"{statistics.median(of_tree):,.1f}" for of_tree in by_tree.values()]
        print(f"| {name} | {' | '.join(numbers)} |")


if __name__ == "__main__":
    main()
