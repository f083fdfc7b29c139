"""The clock of stories: it stands still until the client sleeps."""

import asyncio


class StoryClock:
    """A clock whose sleeps end at once. It remembers how long they were."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.elapsed = 0.0
        """Seconds since the story began."""

    def monotonic(self) -> float:
        return 1_000 + self.elapsed

    def time(self) -> float:
        return self._now + self.elapsed

    async def sleep(self, seconds: float) -> None:
        self.elapsed += seconds
        await asyncio.sleep(0)
