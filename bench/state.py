"""`make bench-state`: the cost of ten million votes in memory, on disk, at a start and during a snapshot.

The votes are spread as on a real platform: ten huge listings have half of them, 99,990 small ones the rest.
Each part runs in a process of its own, so that no part measures what another left in memory.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.charts import Report
from bench.state_disk import acknowledgements, load_times, seed_folder
from bench.state_serving import measure_serving
from bench.timing import microseconds
from core.vote_table import VoteTable
from serving.timeline import resident_bytes

LISTINGS = 100_000
HUGE = 10
MODEL_SHARE = 10
"""A dict takes so much memory that the benchmark fills it with every tenth listing only."""


def in_process(call: Callable[..., Any], *args: Any) -> Any:
    """Return the result of the call, made in a fresh process."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_answer, args=(theirs, call, args))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def _answer(pipe: Connection, call: Callable[..., Any], args: tuple[Any, ...]) -> None:
    pipe.send(call(*args))


def voters(votes: int) -> list[tuple[str, int]]:
    """Return listings with the number of their votes."""
    half = votes // 2
    huge = [(f"bots/{10**17 + i}", half // HUGE) for i in range(HUGE)]
    small = [(f"bots/{2 * 10**17 + i}", half // (LISTINGS - HUGE)) for i in range(LISTINGS - HUGE)]
    return huge + small


def table_costs(votes: int) -> tuple[float, float, float, float]:
    """Return the bytes of a vote, and the microseconds of a put, a get in a huge and in a small listing."""
    chance, table, spread = random.Random(1), VoteTable(), voters(votes)
    before, started = resident_bytes(), time.perf_counter()
    for ref, count in spread:
        for _ in range(count):
            table.put(ref, chance.getrandbits(60), 1, 1_750_000_000_000)
    put = (time.perf_counter() - started) / len(table) * 1e6
    memory = (resident_bytes() - before) / len(table)
    huge, small = spread[0][0], spread[-1][0]
    some = [user for user, _, _ in table.votes(huge)][:: max(len(table) // 20_000, 1)]
    few = [user for user, _, _ in table.votes(small)]
    in_huge = microseconds(lambda: [table.get(huge, user) for user in some], 20) / len(some)
    in_small = microseconds(lambda: [table.get(small, user) for user in few], 2_000) / len(few)
    return memory, put, in_huge, in_small


def dict_costs(votes: int) -> tuple[float, float, float, float]:
    """Return the same for a dict of dicts of tuples."""
    chance, table, spread = (
        random.Random(1),
        dict[str, dict[int, tuple[int, int]]](),
        voters(votes)[::MODEL_SHARE],
    )
    before, started, total = resident_bytes(), time.perf_counter(), 0
    for ref, count in spread:
        for _ in range(count):
            table.setdefault(ref, {})[chance.getrandbits(60)] = (1, 1_750_000_000_000 + total)
            total += 1
    put = (time.perf_counter() - started) / total * 1e6
    memory = (resident_bytes() - before) / total
    huge, small = list(table[spread[0][0]]), list(table[spread[-1][0]])
    in_huge, in_small = table[spread[0][0]], table[spread[-1][0]]
    some = huge[:: max(total // 20_000, 1)]
    return (
        memory,
        put,
        microseconds(lambda: [in_huge.get(user) for user in some], 20) / len(some),
        microseconds(lambda: [in_small.get(user) for user in small], 2_000) / len(small),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.state")
    parser.add_argument("--votes", type=int, default=10_000_000)
    votes = parser.parse_args().votes
    report = Report("state", f"State: {votes:,} votes over {LISTINGS:,} bots", "make bench-state")
    ours = in_process(table_costs, votes)
    model = in_process(dict_costs, votes)
    report.table(
        "memory", "memory", ["bytes a vote"], [("vote table", f"{ours[0]:.1f}"), ("dict", f"{model[0]:.1f}")]
    )
    report.table(
        "times",
        "one call, microseconds",
        ["put", "get, huge listing", "get, small listing"],
        [("vote table", *(f"{us:.2f}" for us in ours[1:])), ("dict", *(f"{us:.2f}" for us in model[1:]))],
    )
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        size = in_process(seed_folder, folder, voters(votes))
        load_times(report, lambda call: in_process(call, folder), size)
        measure_serving(report, folder)
        acknowledgements(report, folder)
    report.write()


if __name__ == "__main__":
    main()
