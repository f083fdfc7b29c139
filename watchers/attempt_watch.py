"""Requests that wait for an attempt of a delivery. Invariant: none waits longer than the limit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from core.events import DeliveryAttempted, Event


class AttemptWatch:
    """A reader of the log that wakes requests at an attempt of a delivery, or to an endpoint.

    Args:
        durable: waits until a position of the journal is on disk.
        seconds: the longest wait for an attempt.
    """

    def __init__(self, durable: Callable[[int], Awaitable[None]], seconds: float) -> None:
        self._durable = durable
        self._seconds = seconds
        self._waiting: dict[asyncio.Future[int], str] = {}

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, DeliveryAttempted):
                for waiter, name in self._waiting.items():  # few: the requests that wait now
                    if name in {event.delivery_id, event.ref} and not waiter.done():
                        waiter.set_result(position)

    @contextmanager
    def expecting(self, name: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Yield a function that waits for the first attempt since now, and until its record is on disk.

        Args:
            name: the id of a delivery, or the ref of a listing for any attempt to its endpoint.
        """
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = name

        async def attempt() -> None:
            await asyncio.wait([waiter], timeout=self._seconds)
            if waiter.done():
                await self._durable(waiter.result())

        try:
            yield attempt
        finally:
            del self._waiting[waiter]
