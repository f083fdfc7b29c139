"""`python -m bench.memory`: the memory of a gateway by what it holds, to size a machine by.

Each line is the resident memory of a started process on a data folder of its own, less that of the line
before, by the number of what was added.
"""

import argparse
import http.client
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.charts import machine
from bench.load import idle_bytes
from bench.servers import OPERATOR, Running, running, votegate
from bench.state_disk import seed_folder
from core.clock import month_of_day
from core.push_history import with_push
from core.vote_counts import VoteCounts
from core.vote_table import VoteTable

LISTINGS = 100_000
VOTES_EACH = 20
ASKED = 10_000
"""Listings that are asked for, so that their rows are decoded."""
CONNECTIONS = 1_000
VOTES_A_DAY = ((1, 5), (40, 130), (10_000, 20_000), (250_000, 500_000))
TODAY = 20_780
"""A day as `core/clock.day_of` counts it."""
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _resident(place: Path, name: str, voters: Sequence[tuple[str, int]]) -> int:
    """Return the memory of a gateway that has started with the votes of these listings."""
    folder = place / name
    if voters:
        folder.mkdir(mode=0o700)
        seed_folder(folder, voters)
    with running(votegate(folder), place / f"{name}.log") as gateway:
        return gateway.resident()


def _decoded(place: Path, name: str, refs: Sequence[str]) -> float:
    """Return the bytes that a listing takes more once a request has asked for it."""
    with running(votegate(place / name), place / f"{name}.log") as gateway:
        _ask(gateway, refs[:1])  # the first request imports and compiles
        before = gateway.resident()
        _ask(gateway, refs[1:])
        return (gateway.resident() - before) / (len(refs) - 1)


def _ask(gateway: Running, refs: Sequence[str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
    for ref in refs:
        connection.request("GET", f"/manage/{ref}", headers={"Authorization": f"Bearer {OPERATOR}"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise AssertionError(f"{ref}: {answer.read()!r}")
        answer.read()
    connection.close()


def _counted(least: int, most: int) -> float:
    """Return the bytes that the counts of one listing take, of many, with so many votes each day for two
    years; the interpreter's own count."""
    of_one = VoteCounts(VoteTable())
    of_day, of_month = Counter[int](), Counter[int]()
    for day in range(TODAY - 730, TODAY):
        of_day[day] = least + day * 7_919 % (most - least + 1)
        of_month[month_of_day(day)] += of_day[day]
        of_one.count("bots/1", 0, day, of_day[day], of_month[month_of_day(day)])
    refs = [f"bots/{number}" for number in range(LISTINGS)]
    tracemalloc.start()
    counts = VoteCounts(VoteTable())
    counts.load((ref, [bytes(bytearray(row)) for row in of_one.rows("bots/1")]) for ref in refs)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / LISTINGS


def _pushed() -> int:
    """Return the bytes of a history in the row of a listing."""
    history = b""
    for day in range(TODAY - 200, TODAY):
        history = with_push(history, day, 50_000 + day * 131 % 700, 40 + day // 7 % 5)
    return sys.getsizeof(history)


def main() -> None:
    argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__).parse_args()
    refs = [f"bots/{2 * 10**17 + number}" for number in range(LISTINGS)]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        place = Path(name)
        empty = _resident(place, "empty", ())
        listed = _resident(place, "listed", [(ref, 0) for ref in refs])
        voted = _resident(place, "voted", [(ref, VOTES_EACH) for ref in refs])
        decoded = _decoded(place, "voted", refs[:ASKED])
        with running(votegate(place / "empty"), place / "empty.log") as gateway:
            idle = idle_bytes(gateway.port, gateway.resident, ALIVE, CONNECTIONS)
    rows = [
        ("the process, without data", empty),
        ("a bot with one key", (listed - empty) / LISTINGS),
        ("the same bot, once a request has asked for it", (listed - empty) / LISTINGS + decoded),
        *(
            (f"its votes by day and month, with {least:,} to {most:,} votes each day", _counted(least, most))
            for least, most in VOTES_A_DAY
        ),
        ("its pushed counts by day, with pushes each day", _pushed()),
        (f"a vote, of {VOTES_EACH} a bot", (voted - listed) / (LISTINGS * VOTES_EACH)),
        ("an idle connection", idle),
    ]
    print(f"{machine()}\n\n| resident memory | bytes |\n| --- | ---: |")
    for what, size in rows:
        print(f"| {what} | {size:,.0f} |")


if __name__ == "__main__":
    main()
