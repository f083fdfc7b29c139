"""The health of the process: its resident memory, and the delay of its event loop."""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from core.clock import NS_PER_MS, NS_PER_SECOND, Clock
from core.durations import DurationCounts

SAMPLE_SECONDS = 0.25
SAMPLES = 240  # one minute


class LoopLag:
    """Measures how much too late a sleep ends, and keeps the samples of the last minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples_ms: deque[float] = deque([0.0], maxlen=SAMPLES)
        self.delays = DurationCounts()
        """All samples since the start."""

    @property
    def max_ms(self) -> float:
        """The longest delay of the last minute."""
        return max(self._samples_ms)

    @property
    def samples_ms(self) -> Sequence[float]:
        """The samples of the last minute, four a second, the oldest first."""
        return self._samples_ms

    def max_of_last(self, samples: int) -> float:
        return max(islice(reversed(self._samples_ms), samples))

    async def run(self) -> None:
        while True:
            await self.step()

    async def step(self) -> None:
        asked_ns = self._clock.monotonic_ns()
        await asyncio.sleep(SAMPLE_SECONDS)
        slept_ns = self._clock.monotonic_ns() - asked_ns
        late_ns = max(slept_ns - round(SAMPLE_SECONDS * NS_PER_SECOND), 0)
        self.delays.add(late_ns)
        self._samples_ms.append(round(late_ns / NS_PER_MS, 3))


def resident_bytes() -> int:
    """Return the resident set size (Linux: VmRSS in /proc/self/status)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1_024
    return 0
