"""Two checkouts, measured in turns: `python -m bench.in_turns OTHER`; both need a `.venv`.

On a machine whose speed changes from minute to minute, two runs of a benchmark say little about each other.
Here a process of one checkout follows one of the other, and each turn gives a ratio.
"""

import argparse
import json
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

TURNS = 7
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
    ratios = defaultdict[str, list[float]](list)
    for _ in range(TURNS):
        ours, theirs = (_hot_route(checkout) for checkout in checkouts)
        for name in ours.keys() & theirs.keys():
            ratios[name].append(ours[name] / theirs[name])
        for name, timed in STARTS.items():
            ours_seconds, their_seconds = (timed(checkout) for checkout in checkouts)
            ratios[name].append(ours_seconds / their_seconds)
    print(f"| time here, of {checkouts[1]} | median of {TURNS} turns | least | most |")
    print("| --- | ---: | ---: | ---: |")
    for name, found in sorted(ratios.items()):
        print(f"| {name} | {median(found):.2f} | {min(found):.2f} | {max(found):.2f} |")


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
