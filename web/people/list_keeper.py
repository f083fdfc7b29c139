"""Keeps the orders of lists, while the gateway serves. Law: one order is made at a time, and a reader waits
only where there is none that may be shown.
"""

import asyncio

from core.clock import Clock, month_of
from handlers.slices import in_slices
from listings.list_orders import Edition, ListOrder, ListOrders, ListPage


class ListKeeper:
    def __init__(self, orders: ListOrders, clock: Clock) -> None:
        self._orders = orders
        self._clock = clock
        self._wanted: dict[ListOrder, asyncio.Future[None]] = {}
        self._some = asyncio.Event()

    async def page(self, order: ListOrder, after: str | None, most: int) -> ListPage:
        """Return up to `most` listings behind a cursor. Raises Invalid for a cursor that is none."""
        edition = await self._edition(order)
        return self._orders.page(edition, after, most, self._clock.monotonic_ns())

    async def run(self) -> None:
        """Make the orders that are wanted, one after the other."""
        while True:
            await self._some.wait()
            self._some.clear()
            while self._wanted:
                order = next(iter(self._wanted))
                month, now_ns = month_of(self._clock.now_ms()), self._clock.monotonic_ns()
                await in_slices(self._orders.build(order, month, now_ns))
                self._wanted.pop(order).set_result(None)

    async def _edition(self, order: ListOrder) -> Edition:
        while True:
            month, now_ns = month_of(self._clock.now_ms()), self._clock.monotonic_ns()
            edition, is_due = self._orders.newest(order, month, now_ns)
            made = self._want(order) if is_due else None
            if edition is not None:
                return edition
            if made is not None:
                await asyncio.shield(made)

    def _want(self, order: ListOrder) -> asyncio.Future[None]:
        if order not in self._wanted:
            self._wanted[order] = asyncio.get_running_loop().create_future()
            self._some.set()
        return self._wanted[order]
