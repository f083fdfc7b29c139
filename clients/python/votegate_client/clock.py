"""The clock of the client, which tests replace."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Read by everything that waits. `votegate_client.testing` has one that a test moves."""

    def monotonic(self) -> float:
        """Return seconds that only grow, for waits."""
        ...

    def time(self) -> float:
        """Return Unix seconds, for dates."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
