"""Garbage collections beside a large state. Invariant: no full collection looks at what stays.

A full collection takes a second for ten million objects, and the loop waits for it. So everything that stays
is frozen, which excludes it from collections: the program, the state once it is recovered, and the catalogue
and the orders of lists once they are made. No full collection begins while these grow. Small ones go on,
because requests leave garbage.

Only a process that serves and nothing else begins with `freeze_program`. In any other one, nothing is frozen.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from handlers.slices import in_slices

NEVER = 1 << 30
LARGE_SLICES = 1_000
"""Work of fewer slices makes nothing that a full collection would look at for long."""
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
    """Freeze everything that was loaded while the collector was off. No collection comes first: it would look
    at all of that."""
    if _is_freezing:
        gc.freeze()


def freeze_grown() -> None:
    """Freeze everything that stays, but for the garbage of the last moments."""
    if _is_freezing:
        gc.collect(1)
        gc.freeze()


@contextmanager
def growing() -> Iterator[None]:
    """Let no full collection begin until all that grows at the same time has grown."""
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
