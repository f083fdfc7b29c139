"""Work on the whole state in slices. Invariant: the event loop never waits longer than one slice.

Each slice takes about 0.1 ms. Other requests are served between them.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Any, TypeVar

from core.state import State

K = TypeVar("K")
T = TypeVar("T")

DIGEST_ROUNDS = 3
SLICES_AT_ONCE, PAUSE_SECONDS = 8, 0.001
"""Slices in a row, and the pause behind them.

A loop that is never idle keeps the interpreter's lock from the journal's thread: without the pause one vote
in a hundred waited 100 to 200 ms for its fsync to return.
"""


async def refreshed_digest(state: State) -> None:
    """Bring the state's digest up to date in slices, with other requests between them.

    One round is not enough: a large listing may change while it is hashed. A listing that changes in every
    round is left to the digest itself.
    """
    for _ in range(DIGEST_ROUNDS):
        await in_slices(state.refresh_digest())
        if state.fleet.label:
            await in_slices(state.refresh_shared_digest())


async def in_slices(work: Iterable[None]) -> None:
    """Do all of the work, slice by slice."""
    for number, _ in enumerate(work, 1):
        await asyncio.sleep(0 if number % SLICES_AT_ONCE else PAUSE_SECONDS)


async def first_of(
    keys: Sequence[K], make: Callable[[K], T | None], order: Callable[[T], Any], *, most: int, at_once: int
) -> list[T]:
    """Return the first values by their order.

    Args:
        make: returns the value of a key; None leaves it out.
        most: how many values are returned at most.
        at_once: how many keys are looked at in one slice.
    """
    found: list[T] = []

    def slices() -> Iterator[None]:
        nonlocal found
        for start in range(0, len(keys), at_once):
            made = (make(key) for key in keys[start : start + at_once])
            found = nsmallest(most, [*found, *(value for value in made if value is not None)], key=order)
            yield

    await in_slices(slices())
    return found
