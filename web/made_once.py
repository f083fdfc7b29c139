"""Values that take some time to make: each is made once, and kept while there is room.

Invariants: only so many values are made at a time, so that a crowd of callers takes one thread. All who ask
for a value that is being made wait for the same one, and one who stops waiting stops no other.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from core.failures import Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class MadeOnce(Generic[K, V]):
    """The values of one kind, by their keys.

    Args:
        room: the most that is kept, in the unit of `size_of`. The least recently used leaves first.
        size_of: returns the size of a value with its key.
        most_waiting: the values that may wait, with those that are being made; None for any number.
        at_once: the values that are made at a time.
    """

    def __init__(
        self, room: int, size_of: Callable[[K, V], int], most_waiting: int | None = None, at_once: int = 1
    ) -> None:
        self._room = room
        self._size_of = size_of
        self._most_waiting = most_waiting
        self._kept: OrderedDict[K, V] = OrderedDict()
        self.kept_size = 0
        self._under_way: dict[K, asyncio.Task[V]] = {}
        self._turns = asyncio.Semaphore(at_once)

    def kept(self, key: K) -> V | None:
        """Return the value of a key, if it is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Return the value of a key, which `make` makes. Raises Unavailable if too many wait."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._under_way:
            if self._most_waiting is not None and len(self._under_way) >= self._most_waiting:
                raise Unavailable("too many values are being made")
            self._under_way[key] = asyncio.create_task(self._made(key, make))
        return await asyncio.shield(self._under_way[key])

    def forget(self, key: K) -> None:
        """Keep the value of a key no longer."""
        if key in self._kept:
            self.kept_size -= self._size_of(key, self._kept.pop(key))

    async def _made(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        try:
            async with self._turns:
                value = await make()
            self._keep(key, value)
            return value
        finally:
            del self._under_way[key]

    def _keep(self, key: K, value: V) -> None:
        self._kept[key] = value
        self.kept_size += self._size_of(key, value)
        while self.kept_size > self._room:
            self.kept_size -= self._size_of(*self._kept.popitem(last=False))
