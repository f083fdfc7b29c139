"""Work in rounds. Invariant: it ends with the gateway, and does not wait for its next round."""

import asyncio
from collections.abc import Awaitable, Callable


async def in_rounds(round_: Callable[[], Awaitable[None]], every_seconds: float, stop: asyncio.Event) -> None:
    """Make a round now and then one every `every_seconds`, until `stop` is set."""
    while not stop.is_set():
        await round_()
        try:
            async with asyncio.timeout(every_seconds):
                await stop.wait()
        except TimeoutError:
            continue
