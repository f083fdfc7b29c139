"""The parts for tests of bots."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from votegate_client import Client, InvalidKey, RateLimited
from votegate_client.testing import FakeClock, FakeGateway, Push

ROOT = Path(__file__).parents[2]
USER, OTHER_USER = "333333333333333333", "444444444444444444"


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


def test_the_gateway_keeps_the_counts_of_a_bot(fake_gateway: FakeGateway) -> None:
    async def pushing() -> None:
        async with Client(fake_gateway.key, fake_gateway.bot_id, fake_gateway.url) as client:
            await client.post_stats(server_count=3)
            await client.post_stats(command_count=4)

    asyncio.run(pushing())
    assert fake_gateway.pushes == [Push(3, None), Push(None, 4)]


def test_the_gateway_knows_the_votes_that_it_is_given(fake_gateway: FakeGateway) -> None:
    fake_gateway.vote(USER)
    fake_gateway.vote(USER, hours_ago=25)
    fake_gateway.vote(OTHER_USER, hours_ago=25)

    async def asking() -> list[tuple[bool, int]]:
        async with Client(fake_gateway.key, fake_gateway.bot_id, fake_gateway.url) as client:
            statuses = [await client.vote_status(user) for user in (USER, OTHER_USER, "5" * 18)]
            return [(each.voted, each.votes) for each in statuses]

    assert asyncio.run(asking()) == [(True, 2), (False, 1), (False, 0)]


def test_the_gateway_fails_when_a_test_asks_for_it(fake_gateway: FakeGateway) -> None:
    fake_gateway.fail_next(429, retry_after="7157")

    async def asking() -> bool:
        async with Client(fake_gateway.key, fake_gateway.bot_id, fake_gateway.url) as client:
            with pytest.raises(RateLimited) as limited:
                await client.has_voted(USER)
            assert limited.value.wait == 7_157
            return await client.has_voted(USER)

    assert asyncio.run(asking()) is False


def test_the_gateway_refuses_another_key(fake_gateway: FakeGateway) -> None:
    async def asking() -> None:
        async with Client("vg_another_key", fake_gateway.bot_id, fake_gateway.url) as client:
            with pytest.raises(InvalidKey):
                await client.has_voted(USER)

    asyncio.run(asking())


def test_the_fixtures_come_into_the_tests_of_a_bot_by_one_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["votegate_client.testing.fixtures"]\n')
    (tmp_path / "test_bot.py").write_text(
        "def test_bot(fake_gateway, fake_clock):\n"
        "    fake_clock.advance(1)\n"
        "    assert fake_gateway.url.startswith('http://127.0.0.1:')\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        env={"PYTHONPATH": str(ROOT / "clients/python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
