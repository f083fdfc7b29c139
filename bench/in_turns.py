"""Two checkouts, measured in turns: `python -m bench.in_turns OTHER`; both need a `.venv`.

On a machine whose speed changes from minute to minute, two runs of a benchmark say little about each other.
Here a process of one checkout follows one of the other, and the best time of all turns counts. Over the wire
(wrk on another core), it is the gateway's processor time for each vote check.
"""

import argparse
import json
import math
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

from bench.load import closed_loop
from bench.servers import OPERATOR, running, votegate
from bench.world import add_callers, list_bots, write_requests

TURNS = 9
CONNECTIONS = (16, 64)
SECONDS = 2
VOTERS = [(f"bots/{10**17 + number}", 1) for number in range(100)]
HOT = """
import json
from bench import hot_route, timing
class Told:
    def table(self, name, title, units, rows):
        print(json.dumps(rows))
hot_route.microseconds = lambda call: timing.microseconds(call, 10_000)
hot_route.measure_hot_route(Told())
"""
"""The program that both checkouts run. It must work with the benchmark of an older one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    checkouts = (Path.cwd(), parser.parse_args().other.resolve())
    best = defaultdict[str, list[float]](lambda: [math.inf, math.inf])
    for _ in range(TURNS):
        for place, checkout in enumerate(checkouts):
            starts = {f"{name}, milliseconds": timed(checkout) * 1_000 for name, timed in STARTS.items()}
            for name, time_ in (_hot_route(checkout) | starts).items():
                best[name][place] = min(best[name][place], time_)
    for name, of_checkouts in _over_the_wire(checkouts).items():
        best[name] = of_checkouts
    print(f"| best of {TURNS} turns, microseconds | here | {checkouts[1]} | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name, (here, there) in sorted(best.items()):
        print(f"| {name} | {here:.2f} | {there:.2f} | {here / there:.2f} |")


def _python(checkout: Path) -> str:
    return str(checkout / ".venv/bin/python")


def _hot_route(checkout: Path) -> dict[str, float]:
    """Return microseconds by the name of a call."""
    printed = subprocess.run(
        [_python(checkout), "-c", HOT], cwd=checkout, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return {name: float(microseconds) for name, microseconds in json.loads(printed)}


def _over_the_wire(checkouts: Sequence[Path]) -> dict[str, list[float]]:
    """Return microseconds by the name of a load, for each checkout.

    Each turn has processes of its own: some are faster than others for as long as they live, by chance.
    """
    best = {f"a vote check over the wire, {each} connections": [math.inf] * 2 for each in CONNECTIONS}
    for turn in range(TURNS):
        for place in (0, 1) if turn % 2 else (1, 0):
            with tempfile.TemporaryDirectory() as folder:
                requests = Path(folder, "requests")
                gateway = votegate(Path(folder, "data"), checkouts[place])
                with running(gateway, Path(folder, "log")) as server:
                    list_bots(server.port, OPERATOR, [ref for ref, _ in VOTERS])
                    write_requests(requests, add_callers(server.port, OPERATOR, VOTERS))
                    for connections, times in zip(CONNECTIONS, best.values(), strict=True):
                        before = server.cpu_seconds()
                        answered = closed_loop(server.port, connections, SECONDS, requests).answered
                        times[place] = min(times[place], (server.cpu_seconds() - before) / answered * 1e6)
    return best


def _until_it_serves(checkout: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        gateway = subprocess.Popen(
            [_python(checkout), "server.py", "serve", "--data-dir", f"{folder}/data", "--port", "0"],
            cwd=checkout,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert gateway.stderr is not None
        for line in gateway.stderr:
            if "serving on" in line:
                break
        took = time.perf_counter() - began
        gateway.send_signal(signal.SIGTERM)
        gateway.communicate()
    return took


def _stop(checkout: Path) -> float:
    """Stop a gateway right after its start, beside a client that has its answer and keeps its connection."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        gateway = votegate(Path(folder, "data"), checkout)
        with running(gateway, Path(folder, "log")) as server:
            client = stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port)))
            client.request("GET", "/healthz")
            client.getresponse().read()
            began = time.perf_counter()
        return time.perf_counter() - began


def _version(checkout: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [_python(checkout), "server.py", "version"], cwd=checkout, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


STARTS: dict[str, Callable[[Path], float]] = {
    "server.py serve, until it serves": _until_it_serves,
    "a stop beside a kept connection": _stop,
    "server.py version": _version,
}

if __name__ == "__main__":
    main()
