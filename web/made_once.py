"""Values that take a thread some time to make: each is made once, and kept while there is room.

Invariants: one value is made at a time, so that a crowd of callers takes one thread. All who ask for a value
that is being made wait for the same one, and one who stops waiting stops no other.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from core.failures import Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class MadeOnce(Generic[K, V]):
    """The values of one kind, by their keys.

    Args:
        room: the most that is kept, in the unit of `size_of`. The least recently used leaves first.
        size_of: returns the size of a value with its key.
        most_waiting: the values that may wait for the thread, with the one that is being made; None for any
            number.
    """

    def __init__(self, room: int, size_of: Callable[[K, V], int], most_waiting: int | None = None) -> None:
        self._room = room
        self._size_of = size_of
        self._most_waiting = most_waiting
        self._kept: OrderedDict[K, V] = OrderedDict()
        self.kept_size = 0
        self._under_way: dict[K, asyncio.Task[V]] = {}
        self._turn = asyncio.Lock()

    async def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, which `make` makes in a thread. Raises Unavailable if too many wait."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._under_way:
            if self._most_waiting is not None and len(self._under_way) >= self._most_waiting:
                raise Unavailable("too many wait for a thread")
            self._under_way[key] = asyncio.create_task(self._made(key, make))
        return await asyncio.shield(self._under_way[key])

    async def _made(self, key: K, make: Callable[[], V]) -> V:
        try:
            async with self._turn:
                value = await asyncio.to_thread(make)
            self._keep(key, value)
            return value
        finally:
            del self._under_way[key]

    def _keep(self, key: K, value: V) -> None:
        self._kept[key] = value
        self.kept_size += self._size_of(key, value)
        while self.kept_size > self._room:
            self.kept_size -= self._size_of(*self._kept.popitem(last=False))
