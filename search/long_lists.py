"""Long lists of texts or numbers that do not change. Invariant: neither garbage collection nor the end of a
list holds the event loop.

The garbage collector looks at each item of a list in each of its runs. That takes milliseconds for some
hundred thousand items. It looks at a tuple of texts and numbers once. Python frees a list in one piece;
`freed` frees it in slices.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", str, int, str | int)
RUN = 500
"""The items of a tuple, which is freed in about 20 us."""


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
