"""The time that a command of two checkouts takes to answer, in turns: `python -m bench.answers OTHER`.

Both call one gateway, which this checkout serves. Each turn is a process of its own, as when somebody presses
return. Processor time says what a command costs on a machine that is busy with other things.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

TURNS = 20
TOKEN = "operator-token-of-the-benchmark"
COMMANDS = {
    "server.py admin debug overview": ["server.py", "admin", "--url", "URL", "debug", "overview"],
    "server.py --help": ["server.py", "--help"],
    "python -c pass": ["-c", "pass"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    checkouts = (Path.cwd(), parser.parse_args().other.resolve())
    environment = {**os.environ, "VOTEGATE_OPERATOR__TOKEN": TOKEN}
    with tempfile.TemporaryDirectory() as folder:
        serve = [sys.executable, "server.py", "serve", "--data-dir", f"{folder}/data", "--port", "0"]
        gateway = subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True)
        assert gateway.stderr is not None
        line = next(line for line in gateway.stderr if "serving on " in line)
        url = line.split("serving on ")[1].split()[0].rstrip(",")
        print(f"| {TURNS} turns, milliseconds | best | median | processor, best |")
        print("| --- | ---: | ---: | ---: |")
        for name, command in COMMANDS.items():
            given = [url if word == "URL" else word for word in command]
            turns = [[_milliseconds(each, given, environment) for each in checkouts] for _ in range(TURNS)]
            for checkout, times in zip(("here", "other"), zip(*turns, strict=True), strict=True):
                wall, busy = zip(*times, strict=True)
                print(f"| {name}, {checkout} | {min(wall):.0f} | {median(wall):.0f} | {min(busy):.0f} |")
        gateway.terminate()
        gateway.communicate()


def _milliseconds(checkout: Path, command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the time on the wall and on the processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    python = str(checkout / ".venv/bin/python")
    subprocess.run([python, *command], cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took * 1_000, busy * 1_000


if __name__ == "__main__":
    main()
