"""Garbage collection beside a large state. Invariant: no full collection visits the objects that stay.

A full collection takes a second for ten million objects, and the loop waits for it. So all objects that stay
are frozen, which excludes them from collections: the program, the state once it is recovered, and the
catalogue and the orders of lists once they are made. No full collection begins while these grow. Collections
of young objects go on, because requests leave garbage.

Only a process that does nothing but serve calls `freeze_program`. In other processes, nothing is frozen.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from handlers.slices import in_slices

NEVER = 1 << 30
LARGE_SLICES = 1_000
"""Work of fewer slices makes too few objects to slow a full collection."""
_usual = gc.get_threshold()
_growing = 0


def freeze_program() -> None:
    """Freeze the program before it recovers its state."""
    gc.collect()
    gc.freeze()


def freeze_loaded() -> None:
    """Freeze everything that was loaded while the collector was off. A collection before it would visit
    all of that."""
    if gc.get_freeze_count():
        gc.freeze()


def freeze_grown() -> None:
    """Collect recent garbage, and freeze everything else."""
    if gc.get_freeze_count():
        gc.collect(1)
        gc.freeze()


@contextmanager
def growing() -> Iterator[None]:
    """Let no full collection begin in this context, nor in others that overlap it."""
    global _usual, _growing
    if not _growing:
        _usual = gc.get_threshold()
        gc.set_threshold(*_usual[:2], NEVER)
    _growing += 1
    try:
        yield
    finally:
        _growing -= 1
        if not _growing:
            gc.set_threshold(*_usual)


async def in_growing_slices(work: Iterable[None]) -> None:
    """Do work that may make something large that stays, slice by slice."""
    slices = 0

    def counted() -> Iterator[None]:
        nonlocal slices
        for each in work:
            slices += 1
            yield each

    with growing():
        await in_slices(counted())
        if slices >= LARGE_SLICES:
            freeze_grown()
