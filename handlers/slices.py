"""Work on the whole state in slices. Law: the event loop never waits longer than one of them.

Each slice takes about 0.1 ms. Other requests are served between them.
"""

import asyncio
from collections.abc import Iterable

from core.state import State

DIGEST_ROUNDS = 3
SLICES_AT_ONCE, BREATH_SECONDS = 8, 0.001
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
        await asyncio.sleep(0 if number % SLICES_AT_ONCE else BREATH_SECONDS)
