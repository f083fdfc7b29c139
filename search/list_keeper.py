"""Keeps the orders of lists while the gateway serves.

Invariant: one order is made or drained at a time. A reader waits only if there is no order to show. Orders
that nobody waits for take a small part of the time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from core.clock import Clock, day_of, month_of_day
from search.list_orders import FRESH_SECONDS, ListOrder, ListOrders, OrderingSnapshot
from search.paging import ListPage

REST = 10
"""The rest after making an order, as a multiple of its time. Waiting readers and drains skip it."""


class ListKeeper:
    """The orders of one gateway.

    Args:
        in_slices: does long work slice by slice, with other requests between them.
    """

    def __init__(
        self, orders: ListOrders, clock: Clock, in_slices: Callable[[Iterable[None]], Awaitable[None]]
    ) -> None:
        self._orders = orders
        self._in_slices = in_slices
        self._clock = clock
        self._wanted: dict[ListOrder, asyncio.Future[None]] = {}
        self._awaited: dict[ListOrder, None] = {}
        """The wanted orders that a reader waits for."""
        self._some = asyncio.Event()
        self._rest_until_ns = 0

    async def page(self, order: ListOrder, after: str | None, limit: int) -> tuple[ListPage[str], int]:
        """Return a page of refs, and the total of its list. Raises Invalid for a cursor that is none."""
        snapshot = await self._snapshot(order)
        return self._orders.page(snapshot, after, limit, self._clock.monotonic_ns())

    def rank(self, order: ListOrder, votes: int) -> tuple[int, int] | None:
        """Return the place that a listing with so many votes has in an order by votes, and the total of the
        list; None if the order is not made yet. Listings with equal votes share a place."""
        day, now_ns = day_of(self._clock.now_ms()), self._clock.monotonic_ns()
        _, is_due = self._orders.newest(order, day, now_ns)
        if is_due:
            self._want(order)
        return self._orders.rank(order, votes, month_of_day(day), now_ns)

    def total(self, order: ListOrder) -> int | None:
        """Return the total of a list for a reader who begins now; None if its order is not made yet."""
        snapshot, _ = self._orders.newest(order, day_of(self._clock.now_ms()), self._clock.monotonic_ns())
        return snapshot.total if snapshot is not None else None

    async def prepare(self, orders: Iterable[ListOrder]) -> None:
        """Make the orders that are missing, one after the other."""
        for order in orders:
            await self._snapshot(order)

    async def run(self) -> None:
        """Make the orders that are wanted, one after the other, and keep all of them fresh. It may run again
        after a failure."""
        while True:
            while (order := self._next()) is not None:
                await self._make(order)
            self._some.clear()
            try:
                async with asyncio.timeout(FRESH_SECONDS):
                    await self._some.wait()
            except TimeoutError:
                await self._in_slices(self._orders.drain(self._clock.monotonic_ns()))

    def _next(self) -> ListOrder | None:
        """Return the order to make or to drain next; None if there is none, or during a rest."""
        if self._awaited:
            return next(iter(self._awaited))
        is_resting, day = self._clock.monotonic_ns() < self._rest_until_ns, day_of(self._clock.now_ms())
        return next(
            (each for each in self._wanted if not (is_resting and self._orders.is_to_make(each, day))), None
        )

    async def _make(self, order: ListOrder) -> None:
        """Make or drain an order. A failure also reaches all readers who wait."""
        day, begin_ns = day_of(self._clock.now_ms()), self._clock.monotonic_ns()
        is_to_make = self._orders.is_to_make(order, day)
        try:
            await self._in_slices(self._orders.renew(order, day, begin_ns))
        except Exception as error:
            self._awaited.pop(order, None)
            failed = self._wanted.pop(order)
            failed.set_exception(error)
            failed.exception()  # nobody may be waiting
            raise
        if is_to_make:
            end_ns = self._clock.monotonic_ns()
            self._rest_until_ns = end_ns + REST * (end_ns - begin_ns)
        self._awaited.pop(order, None)
        self._wanted.pop(order).set_result(None)

    async def _snapshot(self, order: ListOrder) -> OrderingSnapshot:
        while True:
            day, now_ns = day_of(self._clock.now_ms()), self._clock.monotonic_ns()
            snapshot, is_due = self._orders.newest(order, day, now_ns)
            made = self._want(order) if is_due else None
            if snapshot is not None:
                return snapshot
            if made is not None:
                self._awaited[order] = None
                self._some.set()
                await asyncio.shield(made)

    def _want(self, order: ListOrder) -> asyncio.Future[None]:
        if order not in self._wanted:
            self._wanted[order] = asyncio.get_running_loop().create_future()
            self._some.set()
        return self._wanted[order]
