"""The free space of the data folder's disk. Invariant: the event loop never waits for the disk.

A disk may hang, so a thread asks it. The number is that of the last answer.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

LOOK_SECONDS = 5.0


class DiskSpace:
    """The free space, read every few seconds, and the space that is needed.

    Args:
        needed_bytes: returns the bytes that the gateway needs to go on; with fewer, space runs out soon.
    """

    def __init__(self, folder: Path, needed_bytes: Callable[[], int]) -> None:
        self._folder = folder
        self.needed_bytes = needed_bytes
        self.free_bytes: int | None = None
        """The bytes that this process may still write; None while that is unknown."""

    async def run(self) -> None:
        while True:
            await self.step()
            await asyncio.sleep(LOOK_SECONDS)

    async def step(self) -> None:
        """Ask once. Raises OSError."""
        self.free_bytes = None
        found = await asyncio.to_thread(os.statvfs, self._folder)
        self.free_bytes = found.f_bavail * found.f_frsize
