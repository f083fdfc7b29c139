"""Coroutines of tests: run with a bound, and made to wait for what happens elsewhere."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.support.gateways import WAIT_SECONDS

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a test's coroutine; one that does not end fails the test."""

    async def bounded() -> T:
        async with asyncio.timeout(WAIT_SECONDS):
            return await main

    return asyncio.run(bounded())


async def happened(event: threading.Event) -> None:
    """Wait for an event that another thread sets."""
    assert await asyncio.to_thread(event.wait, WAIT_SECONDS), "it did not happen"


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition that has no event. `run` bounds the wait."""
    while not condition():  # noqa: ASYNC110 (there is no event to wait for)
        await asyncio.sleep(0.001)


async def turns(count: int = 20) -> None:
    """Lets everything run that could run now."""
    for _ in range(count):
        await asyncio.sleep(0)
