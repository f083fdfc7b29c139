"""The parts for tests of bots."""

import asyncio

from votegate_client.testing import FakeClock


def test_the_clock_wakes_sleepers_when_their_time_has_come(fake_clock: FakeClock) -> None:
    async def sleeping() -> None:
        woken: list[float] = []

        async def sleep(seconds: float) -> None:
            await fake_clock.sleep(seconds)
            woken.append(seconds)

        tasks = [asyncio.create_task(sleep(seconds)) for seconds in (0, 20, 10)]
        await asyncio.sleep(0)
        assert fake_clock.waits == [20, 10]
        for seconds, expected in ((9.5, [0]), (0.5, [0, 10]), (100, [0, 10, 20])):
            fake_clock.advance(seconds)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert woken == expected
        await asyncio.gather(*tasks)

    asyncio.run(sleeping())
    assert fake_clock.monotonic() == 110
    assert fake_clock.time() == FakeClock().time() + 110


def test_a_sleeper_that_is_cancelled_waits_no_longer(fake_clock: FakeClock) -> None:
    async def sleeping() -> list[float]:
        task = asyncio.create_task(fake_clock.sleep(10))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        fake_clock.advance(10)
        return fake_clock.waits

    assert asyncio.run(sleeping()) == []
