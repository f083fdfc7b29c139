"""Long lists of texts or numbers, which stay as they are. Law: no garbage collection, and no end of
one, holds the loop.

The garbage collector looks at each item of a list, again and again while the list lives, and that takes
milliseconds for some hundred thousand. It looks at a tuple of texts and numbers once. A list that ends is
freed in one piece, and `freed` frees it in slices.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", str, int, str | int)
RUN = 500
"""The items of a tuple: freed in about 20 us."""


class LongList(Generic[T]):
    def __init__(self, items: Iterable[T] = ()) -> None:
        self._runs: list[tuple[T, ...]] = []
        self._last: list[T] = []
        self.extend(items)

    def __len__(self) -> int:
        return len(self._runs) * RUN + len(self._last)

    def __getitem__(self, at: int) -> T:
        run, place = divmod(at, RUN)
        return self._runs[run][place] if run < len(self._runs) else self._last[place]

    def __iter__(self) -> Iterator[T]:
        for run in self._runs:
            yield from run
        yield from self._last

    def extend(self, items: Iterable[T]) -> None:
        last = self._last
        last += items
        while len(last) >= RUN:
            self._runs.append(tuple(last[:RUN]))
            del last[:RUN]

    def freed(self) -> Iterator[None]:
        """Empty the list, in slices."""
        self._last.clear()
        while self._runs:
            self._runs.pop()
            yield
