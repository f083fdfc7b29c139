"""Random bytes that are equal in each run, for all that this process draws through `secrets`.

A draw depends on its size and on how many draws of that size came since the last `begin`. So a request that
draws more, or in another order, changes no draw of the requests after it.

The seals of files draw from `os.urandom`, in threads of their own. They stay random: nobody sees them.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import shake_128
from unittest.mock import patch


class FixedRandom:
    """The source of bytes. `begin` starts the draws of a request."""

    def __init__(self) -> None:
        self._name = ""
        self._drawn = Counter[int]()

    def begin(self, name: str) -> None:
        self._name = name
        self._drawn.clear()

    def draw(self, size: int) -> bytes:
        self._drawn[size] += 1
        return shake_128(f"{self._name} {size} {self._drawn[size]}".encode()).digest(size)


@contextmanager
def fixed_random() -> Iterator[FixedRandom]:
    source = FixedRandom()
    with patch.object(random, "_urandom", source.draw):  # the one source of `secrets`
        yield source
