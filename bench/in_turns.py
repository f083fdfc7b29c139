"""Two checkouts, measured in turns: `python -m bench.in_turns OTHER`; both need a `.venv`.

On a machine whose speed changes from minute to minute, two runs of a benchmark say little about each other.
Here a process of one checkout follows one of the other, and the best time of all turns counts.
"""

import argparse
import json
import math
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

TURNS = 9
HOT = """
import json
from bench import hot_route, timing
class Told:
    def table(self, name, title, units, rows):
        print(json.dumps(rows))
hot_route.microseconds = lambda call: timing.microseconds(call, 10_000)
hot_route.measure_hot_route(Told())
"""
"""For both checkouts: it must work with the benchmark of an older one."""


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
    print(f"| best of {TURNS} turns, microseconds | here | {checkouts[1]} | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name, (here, there) in sorted(best.items()):
        print(f"| {name} | {here:.2f} | {there:.2f} | {here / there:.2f} |")


def _python(checkout: Path) -> str:
    return str(checkout / ".venv/bin/python")


def _hot_route(checkout: Path) -> dict[str, float]:
    """Microseconds by the name of a call."""
    printed = subprocess.run(
        [_python(checkout), "-c", HOT], cwd=checkout, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return {name: float(microseconds) for name, microseconds in json.loads(printed)}


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


def _version(checkout: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [_python(checkout), "server.py", "version"], cwd=checkout, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


STARTS: dict[str, Callable[[Path], float]] = {
    "server.py serve, until it serves": _until_it_serves,
    "server.py version": _version,
}

if __name__ == "__main__":
    main()
