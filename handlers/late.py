"""Values that a start does not wait for. Invariant: a value is made once, however many ask for it at once."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Late(Generic[T]):
    """A value that a thread makes when it is first asked for, and that is kept. A failure is not kept."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making: asyncio.Future[T] | None = None
        self.value: T | None = None
        """None until it is made."""

    async def get(self) -> T:
        """Return the value. Calls wait while it is made; after a failure the next call makes it again."""
        if self.value is not None:
            return self.value
        if self._making is None or (self._making.done() and self._making.exception() is not None):
            self._making = asyncio.ensure_future(asyncio.to_thread(self._make))
        self.value = await asyncio.shield(self._making)
        return self.value
