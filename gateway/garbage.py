"""Garbage collection beside a large state. Invariant: no full collection visits the objects of a start.

A full collection takes a second for ten million objects, and the loop waits for it. So all objects that a
start makes are frozen, which excludes them from collections: the program, the state once it is recovered, the
catalogue, and the lists of the first page. No full collection begins while these, or other lists, grow.
Collections of young objects go on, because requests leave garbage. Nothing is frozen later: garbage that no
full collection has found yet would stay for good.

Only a process that does nothing but serve calls `freeze_program`. In other processes, these functions do
nothing: they may run more than one gateway, each in a thread.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from handlers.slices import in_slices

NEVER = 1 << 30
_usual = gc.get_threshold()
_growing = 0
_is_freezing = False
"""True in a process that began with `freeze_program`. To ask Python how much is frozen takes as long as to
walk through all of that."""


def freeze_program() -> None:
    """Freeze the program before it recovers its state."""
    global _is_freezing
    _is_freezing = True
    gc.collect()
    gc.freeze()


def freeze_loaded() -> None:
    """Freeze everything that was loaded while the collector was off. A collection before it would visit
    all of that."""
    if _is_freezing:
        gc.freeze()


def freeze_grown() -> None:
    """Collect recent garbage, and freeze everything else."""
    if _is_freezing:
        gc.collect(1)
        gc.freeze()


@contextmanager
def growing() -> Iterator[None]:
    """Let no full collection begin in this context, nor in others that overlap it."""
    global _usual, _growing
    if not _is_freezing:
        yield
        return
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
    """Do work in slices, and let no full collection begin meanwhile."""
    with growing():
        await in_slices(work)
