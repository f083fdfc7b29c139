"""An event loop without threads and without waiting.

A call that would run in a thread runs in the loop, some turns later. Time passes only when nothing else can
happen. So a test with journal, snapshots and an hour of waiting takes milliseconds.

Invariant: the seed alone decides the order of events, so a second run is the same.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar, TypeVarTuple, Unpack

from core.clock import NS_PER_SECOND

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MOST_TURNS = 6


class _SkippingSelector(selectors.SelectSelector):
    """A selector that never waits: it adds the time of the wait to its clock."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing will ever happen"
        self.passed_seconds += max(timeout, 0)
        return super().select(0)


class TurnLoop(asyncio.SelectorEventLoop):
    def __init__(self, seed: int) -> None:
        self._skipping = _SkippingSelector()
        self._random = Random(seed)
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.passed_seconds

    def run_in_executor(self, _: object, call: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()

        def after(turns: int) -> None:
            if turns:
                self.call_soon(after, turns - 1)
            elif not future.cancelled():
                try:
                    future.set_result(call(*args))
                except Exception as error:
                    future.set_exception(error)

        after(1 + self._random.randrange(MOST_TURNS))
        return future


class LoopClock:
    """A clock that shows the time of the loop."""

    def now_ms(self) -> int:
        return 1_750_000_000_000 + self.monotonic_ns() // 1_000_000

    def monotonic_ns(self) -> int:
        return round(asyncio.get_running_loop().time() * NS_PER_SECOND)

    def steady_ms(self) -> int:
        return self.now_ms()


def run_in_turns(main: Coroutine[Any, Any, T], seed: int = 0) -> T:
    with asyncio.Runner(loop_factory=lambda: TurnLoop(seed)) as runner:
        return runner.run(main)
