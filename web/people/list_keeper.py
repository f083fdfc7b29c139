"""Keeps the orders of lists, while the gateway serves. Invariant: one order is made at a time, a reader waits
only where there is none that may be shown, and orders that nobody waits for take a small part of the time.
"""

import asyncio
import contextlib
from collections.abc import Iterable

from core.clock import Clock, month_of
from handlers.slices import in_slices
from listings.list_orders import Edition, ListOrder, ListOrders, ListPage

REST = 10
"""The rest behind an order, in times of what it took. Somebody who waits for another one ends it."""


class ListKeeper:
    def __init__(self, orders: ListOrders, clock: Clock) -> None:
        self._orders = orders
        self._clock = clock
        self._wanted: dict[ListOrder, asyncio.Future[None]] = {}
        self._awaited: dict[ListOrder, None] = {}
        """The wanted ones that somebody waits for."""
        self._some, self._waits = asyncio.Event(), asyncio.Event()

    async def page(self, order: ListOrder, after: str | None, most: int) -> ListPage:
        """Return up to `most` listings behind a cursor. Raises Invalid for a cursor that is none."""
        edition = await self._edition(order)
        return self._orders.page(edition, after, most, self._clock.monotonic_ns())

    def total(self, order: ListOrder) -> int | None:
        """Return the total of a list for a reader who begins now; None if its order is not made yet."""
        edition, _ = self._orders.newest(order, month_of(self._clock.now_ms()), self._clock.monotonic_ns())
        return edition.tally.present if edition is not None else None

    async def prepare(self, orders: Iterable[ListOrder]) -> None:
        """Make orders that there are not yet, one after the other."""
        for order in orders:
            await self._edition(order)

    async def run(self) -> None:
        """Make the orders that are wanted, one after the other. It may run again after a failure."""
        while True:
            while self._wanted:
                await self._rest(await self._make(next(iter(self._awaited or self._wanted))))
            self._some.clear()
            await self._some.wait()

    async def _make(self, order: ListOrder) -> float:
        """Make an order, and return how many seconds that took. A failure is told to all who wait, too."""
        month, now_ns = month_of(self._clock.now_ms()), self._clock.monotonic_ns()
        try:
            await in_slices(self._orders.build(order, month, now_ns))
        except Exception as error:
            self._awaited.pop(order, None)
            failed = self._wanted.pop(order)
            failed.set_exception(error)
            failed.exception()  # nobody may be waiting
            raise
        self._awaited.pop(order, None)
        self._wanted.pop(order).set_result(None)
        return (self._clock.monotonic_ns() - now_ns) / 1_000_000_000

    async def _rest(self, seconds: float) -> None:
        self._waits.clear()
        if self._awaited:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * REST):
                await self._waits.wait()

    async def _edition(self, order: ListOrder) -> Edition:
        while True:
            month, now_ns = month_of(self._clock.now_ms()), self._clock.monotonic_ns()
            edition, is_due = self._orders.newest(order, month, now_ns)
            made = self._want(order) if is_due else None
            if edition is not None:
                return edition
            if made is not None:
                self._awaited[order] = None
                self._waits.set()
                await asyncio.shield(made)

    def _want(self, order: ListOrder) -> asyncio.Future[None]:
        if order not in self._wanted:
            self._wanted[order] = asyncio.get_running_loop().create_future()
            self._some.set()
        return self._wanted[order]
