"""Walks through sorted refs in slices. Law: refs may come and go between two, and no other one is missed."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

SLICE = 64
"""Refs of one slice: to look at so many listings takes about 0.1 ms when they are packed."""


def ref_slices(refs: Sequence[str], after: str = "", most: int = SLICE) -> Iterator[Sequence[str]]:
    """Yield sorted refs, `most` at once, from the first that comes after another."""
    while found := refs[(start := bisect_right(refs, after)) : start + most]:
        yield found
        after = found[-1]
