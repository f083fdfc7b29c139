"""The share of the event loop that requests may take, so that vote checks do not wait for many of them.

A vote check takes microseconds and is answered in the call that brings it. Any other request is a coroutine,
and a step of it, from one suspension to the next, may take milliseconds. With hundreds of them ready at once,
one turn of the loop would take all of these steps. Here the steps of a turn have a bounded time. A request
that finds it used up waits in a queue and goes on in a later turn. So all requests share the time.

Invariant: no step begins in a turn in which others have used up the time. Steps begin in the order in which
they came. While nothing waits and there is time, a step begins at once.
"""

import asyncio
import types
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Generator
from itertools import islice
from typing import Any, TypeVar

from core.clock import NS_PER_MS

T = TypeVar("T")
TURN_NS = NS_PER_MS
"""The time after which no step begins in the same turn."""
WOKEN = 16
"""Requests that are woken for a turn. Those for which it has no time keep their places in the queue."""


class LoopShare:
    def __init__(self, monotonic_ns: Callable[[], int]) -> None:
        self._monotonic_ns = monotonic_ns
        self._left_ns = TURN_NS  # of this turn
        self._has_asked = False  # for the next turn
        self._queue: OrderedDict[object, asyncio.Future[None]] = OrderedDict()  # by request

    @types.coroutine
    def steps(self, request: object, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Await a coroutine, and begin each of its steps when there is time.

        Args:
            request: names the work for `give_up`; nothing else is done with it.
        """
        thrown: BaseException | None = None
        while True:
            try:
                if self._queue or self._left_ns <= 0:
                    yield from self._turn(request)
                self._ask_for_next()
            except BaseException as error:  # a cancellation, which the work itself has to see
                thrown = error
            began_ns = self._monotonic_ns()
            try:
                awaited = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._left_ns -= self._monotonic_ns() - began_ns
            thrown = None
            try:
                yield awaited
            except BaseException as error:
                thrown = error

    def give_up(self, request: object) -> None:
        """Let a request that waits go on at once, because its client has left: it has nothing to do."""
        woken = self._queue.pop(request, None)
        if woken is not None:
            _wake(woken)

    def _turn(self, request: object) -> Generator[Any, None, None]:
        """Return in a later turn of the loop that has time for the request."""
        self._queue[request] = asyncio.get_running_loop().create_future()
        self._ask_for_next()
        try:
            yield from self._queued(request)
        finally:
            self._queue.pop(request, None)

    def _queued(self, request: object) -> Generator[Any, None, None]:
        while request in self._queue:
            yield from self._queue[request]
            if self._left_ns > 0:
                return
            if request in self._queue:  # still in the same place
                self._queue[request] = asyncio.get_running_loop().create_future()

    def _ask_for_next(self) -> None:
        if not self._has_asked:
            self._has_asked = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._has_asked = False
        self._left_ns = TURN_NS
        for woken in islice(self._queue.values(), WOKEN):
            _wake(woken)
        if self._queue:
            self._ask_for_next()


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)
