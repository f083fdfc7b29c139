"""serving/timeline.py: the delay of the event loop, and resident memory."""

import asyncio
import re
from pathlib import Path

import pytest

from serving import timeline
from serving.timeline import LoopLag, resident_bytes
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "SAMPLE_SECONDS", 0.001)


async def sample(lag: LoopLag, clock: FakeClock, milliseconds: float) -> None:
    """Take one sample, of a sleep that seems to take so long."""
    sampling = asyncio.create_task(lag.step())
    await asyncio.sleep(0)
    clock.advance(milliseconds / 1_000)
    await sampling


def test_the_lag_is_how_much_later_than_asked_a_sleep_ends() -> None:
    async def main() -> None:
        clock = FakeClock()
        lag = LoopLag(clock)
        assert (lag.samples_ms[-1], lag.max_ms) == (0.0, 0.0)
        await sample(lag, clock, 31)
        assert (lag.samples_ms[-1], lag.max_ms) == (30.0, 30.0)
        await sample(lag, clock, 6)
        assert (lag.samples_ms[-1], lag.max_ms) == (5.0, 30.0)

    run(main())


def test_a_sleep_that_seems_too_short_is_no_lag() -> None:
    async def main() -> None:
        clock = FakeClock()
        lag = LoopLag(clock)
        await sample(lag, clock, 0)
        assert lag.samples_ms[-1] == 0.0

    run(main())


def test_the_worst_lag_is_forgotten_after_a_minute() -> None:
    async def main() -> None:
        clock = FakeClock()
        lag = LoopLag(clock)
        await sample(lag, clock, 31)
        for _ in range(timeline.SAMPLES - 1):
            await sample(lag, clock, 1)
        assert lag.max_ms == 30.0
        await sample(lag, clock, 1)
        assert lag.max_ms == 0.0

    run(main())


def test_the_lag_is_sampled_again_and_again() -> None:
    async def main() -> None:
        clock = FakeClock()
        lag = LoopLag(clock)
        running = asyncio.create_task(lag.run())
        for expected in (1, 2):
            await asyncio.sleep(0)
            clock.advance(expected + 0.001)
            await until(lambda: lag.max_ms == expected * 1_000)  # noqa: B023 (waited for here)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(main())


def test_resident_memory_is_what_the_kernel_counts() -> None:
    def peak() -> int:
        status = Path("/proc/self/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1_024

    assert 1 << 20 < resident_bytes() <= peak()


def test_resident_memory_is_0_where_the_kernel_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: "Name:\tpython\n")
    assert resident_bytes() == 0
