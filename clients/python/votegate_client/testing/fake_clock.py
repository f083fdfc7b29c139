"""A clock that a test moves."""

import asyncio


class FakeClock:
    """Stands still until `advance`."""

    def __init__(self, now: float = 1_750_000_000) -> None:
        """Begin at a Unix time."""
        self._start = now
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        """Return the seconds since the clock was made."""
        return self._elapsed

    def time(self) -> float:
        """Return Unix seconds."""
        return self._start + self._elapsed

    @property
    def waits(self) -> list[float]:
        """The seconds that each sleeper still has to wait, in the order of their calls."""
        return [due - self._elapsed for due, sleeper in self._sleepers if not sleeper.done()]

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved by so many seconds."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + seconds, sleeper))
        await sleeper

    def advance(self, seconds: float) -> None:
        """Move the clock, and wake the sleepers that are due."""
        self._elapsed += seconds
        for due, sleeper in self._sleepers:
            if due <= self._elapsed and not sleeper.done():
                sleeper.set_result(None)
        self._sleepers = [each for each in self._sleepers if not each[1].done()]
