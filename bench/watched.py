"""The cost of open pages to a vote check: rounds with and without viewers of the live overview, in turns.

python -m bench.watched [--viewers 1] [--rounds 7] [--seconds 2]
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

from bench.load import closed_loop
from bench.servers import OPERATOR, Running, running, votegate
from bench.state import voters
from bench.wire import seeded
from bench.world import write_requests

CONNECTIONS = 64
VOTES = 100_000
IDLE_SECONDS = 20


def signed_in(port: int) -> dict[str, str]:
    """Sign in and return the headers of a browser with the session."""
    connection = HTTPConnection("127.0.0.1", port)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/debug/sign-in", urlencode({"token": OPERATOR}), form)
    cookie = connection.getresponse().headers["Set-Cookie"].partition(";")[0]
    connection.close()
    return {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}


@contextmanager
def watching(port: int, viewers: int) -> Iterator[None]:
    """Open live pages, and read what comes until the context ends."""
    headers, enough = signed_in(port), threading.Event()

    def watch(connection: HTTPConnection) -> None:
        connection.request("GET", "/debug/live", headers=headers)
        stream = connection.getresponse()
        if stream.status != 200:
            raise AssertionError(stream.read())
        while not enough.is_set():
            stream.readline()

    connections = [HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(viewers)]
    threads = [threading.Thread(target=watch, args=(each,)) for each in connections]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()  # with the next event, after two seconds at most
        for connection in connections:
            connection.close()


def idle_share(server: Running, viewers: int) -> float:
    """Return the part of a core that viewers take without load. A busy machine moves it little."""
    used = []
    for watchers in (0, viewers):
        with watching(server.port, watchers):
            before = server.cpu_seconds()
            time.sleep(IDLE_SECONDS)
            used.append(server.cpu_seconds() - before)
    return (used[1] - used[0]) / IDLE_SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.watched")
    parser.add_argument("--viewers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        requests = place / "requests"
        write_requests(requests, seeded(place / "data", voters(VOTES)))
        with running(votegate(place / "data"), place / "log") as server:
            alone, watched = list[float](), list[float]()
            for _ in range(given.rounds):
                alone.append(closed_loop(server.port, CONNECTIONS, given.seconds, requests).rate)
                with watching(server.port, given.viewers):
                    watched.append(closed_loop(server.port, CONNECTIONS, given.seconds, requests).rate)
            share = idle_share(server, given.viewers)
    ratios = sorted(with_page / without for with_page, without in zip(watched, alone, strict=True))
    print(f"{given.viewers} live pages, best of {given.rounds} rounds in turns")
    print(f"without {max(alone):,.0f}/s, with {max(watched):,.0f}/s: {max(watched) / max(alone):.3f}")
    of_rounds = f"{statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}"
    print(f"median of the rounds' ratios {of_rounds}")
    print(f"processor time of {given.viewers} live pages, without load: {share:.2%} of a core")


if __name__ == "__main__":
    main()
