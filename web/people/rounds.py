"""Work that is done again and again. Law: it ends with the gateway, and not with its next round."""

import asyncio
from collections.abc import Awaitable, Callable


async def in_rounds(round_: Callable[[], Awaitable[None]], every_seconds: float, stop: asyncio.Event) -> None:
    """Make a round at once and then every so often, until `stop` is set."""
    while not stop.is_set():
        await round_()
        try:
            async with asyncio.timeout(every_seconds):
                await stop.wait()
        except TimeoutError:
            continue
