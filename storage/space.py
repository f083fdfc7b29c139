"""The free space of the data folder's disk. Law: the event loop never waits for the disk.

A disk that hangs answers no question, so a thread asks. The numbers are those of the last answer.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

LOOK_SECONDS = 5.0


class DiskSpace:
    """Asks the file system every few seconds.

    Args:
        needed: returns how many bytes the gateway needs to go on as it is; with fewer, space runs out soon.
    """

    def __init__(self, folder: Path, needed: Callable[[], int]) -> None:
        self._folder = folder
        self._needed = needed
        self.free_bytes: int | None = None
        """The space that this process can still use; None while that is unknown."""

    @property
    def needed_bytes(self) -> int:
        return self._needed()

    @property
    def is_low(self) -> bool:
        return self.free_bytes is not None and self.free_bytes < self._needed()

    async def run(self) -> None:
        while True:
            await self.step()
            await asyncio.sleep(LOOK_SECONDS)

    async def step(self) -> None:
        """Ask once. Raises OSError."""
        self.free_bytes = None
        found = await asyncio.to_thread(os.statvfs, self._folder)
        self.free_bytes = found.f_bavail * found.f_frsize
