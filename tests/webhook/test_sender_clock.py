"""webhook/sender.py: a wall clock that is set dates attempts, and moves no wait."""

import asyncio
from collections.abc import Callable

import pytest

from core.rows import Webhook
from outbound.result import AtFault, HttpResult
from tests.support.coroutines import run, turns, until
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, listed
from tests.support.sender_stage import CHAT_URL, FAILED, URL, Stage, staged
from tests.support.slots_set import webhook_saved
from webhook import sender

DAY = 86_400
jumps = pytest.mark.parametrize("jump", [-20 * DAY, -3_600, 3_600, 20 * DAY])


async def attempt_while(stage: Stage, happens: Callable[[], None]) -> None:
    """An attempt during which something happens."""
    stage.client.may_answer.clear()
    attempt = asyncio.create_task(stage.attempt())
    await turns()
    happens()
    stage.client.may_answer.set()
    await attempt


@jumps
def test_a_retry_follows_its_failure_after_the_delay_although_the_clock_is_set_meanwhile(jump: int) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers, stage.client.takes_ms = [FAILED] * 2, 100
        stage.queue()
        await attempt_while(stage, lambda: stage.clock.set_wall(jump))
        (attempt,) = stage.delivery().attempts
        assert (attempt.at_ms, attempt.duration_ms) == (stage.clock.now_ms() - 100, 100)
        assert stage.delivery().next_attempt_ms == stage.clock.now_ms() + 5_000
        stage.clock.set_wall(-jump)
        stage.clock.advance_ms(4_999)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        assert await stage.attempt() == 1
        stage.fold()

    run(main())


@jumps
def test_an_outcome_that_waits_for_the_disk_while_the_clock_is_set_delays_nothing_for_longer(
    jump: int,
) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [FAILED]
        stage.queue()
        stage.journal.full = True
        assert await stage.attempt() == 1
        stage.clock.set_wall(jump)
        stage.journal.full = False
        assert await stage.attempt() == 0
        stage.clock.advance(5)
        assert await stage.attempt() == 1
        assert stage.delivery().delivered

    run(main())


@jumps
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_chat_platform_is_left_alone_for_as_long_as_it_says(jump: int, everywhere: bool) -> None:
    async def main() -> None:
        stage = staged()
        for ref in (BOT_REF, OTHER_REF):
            stage.commit(*listed(ref), webhook_saved(ref, Webhook(CHAT_URL, NOW_MS, language="en")))
        headers = {"retry-after": "7", **({"x-ratelimit-global": "true"} if everywhere else {})}
        stage.client.answers = [HttpResult(429, "http_429", headers=headers)]
        stage.queue("refused")
        await attempt_while(stage, lambda: stage.clock.set_wall(jump))
        stage.clock.set_wall(-2 * jump)
        stage.queue("elsewhere", ref=OTHER_REF)
        await stage.attempt()
        assert stage.delivery("elsewhere").delivered is not everywhere
        stage.clock.advance_ms(6_999)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        await stage.attempt()
        assert stage.delivery("refused").delivered

    run(main())


@jumps
def test_a_proxy_that_is_down_is_tried_again_in_its_time(jump: int) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [HttpResult(None, "proxy", AtFault.PROXY)]
        stage.queue("d1")
        stage.commit(*listed(OTHER_REF, url=URL))
        await attempt_while(stage, lambda: stage.clock.set_wall(jump))
        stage.queue("d2", ref=OTHER_REF)
        stage.clock.set_wall(-2 * jump)
        stage.clock.advance_ms(999)
        assert await stage.attempt() == 0
        stage.clock.advance_ms(1)
        assert await stage.attempt() == 1

    run(main())


@jumps
def test_what_waits_is_not_given_up_because_the_clock_was_set(jump: int) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [FAILED]
        stage.queue()
        await stage.attempt()
        stage.clock.set_wall(jump)
        stage.clock.advance(5)
        assert await stage.attempt() == 1
        assert (stage.delivery().delivered, stage.delivery().dropped) == (True, None)

    run(main())


def test_however_long_the_wait_it_is_looked_now_and_then_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "LONGEST_SLEEP_SECONDS", 0.001)

    async def main() -> None:
        stage = staged()
        stage.outbox.hold(BOT_REF, stage.clock.steady_ms() + DAY * 1_000)
        stage.queue()
        running = asyncio.create_task(stage.sender.run())
        await turns()
        stage.clock.advance(DAY)
        await until(lambda: stage.spawned)
        assert await stage.attempt() == 1
        stage.sender.stop()
        await running

    run(main())
