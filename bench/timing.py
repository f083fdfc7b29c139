"""The duration of one call."""

import time
from collections.abc import Callable


def microseconds(call: Callable[[], object], calls: int = 100_000) -> float:
    """Return the microseconds of a call: the best of five runs."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - started)
    return best / calls * 1e6
