"""serving/observers.py: when an observer fails, it is logged, counted and shown, and it goes on."""

import asyncio
from collections.abc import Sequence

import pytest

from core.events import Event
from serving.observers import FAILING_SECONDS, Observers
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock

LINE = "the observer gauge fails; everything else goes on"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def observers(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Observers:
    monkeypatch.setattr("serving.observers.PAUSE_SECONDS", 0)
    return Observers(clock)


def failing() -> int:
    raise FileNotFoundError(2, "No such file or directory", "/proc/self/status")


def test_a_loop_that_fails_runs_again(observers: Observers) -> None:
    async def main() -> None:
        steps: list[int] = []

        async def loop() -> None:
            while True:
                await asyncio.sleep(0)
                steps.append(len(steps))
                if len(steps) % 2:
                    raise ZeroDivisionError

        running = asyncio.create_task(observers.run("gauge", loop))
        await until(lambda: len(steps) > 7)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(main())
    assert observers.failures["gauge"] >= 4


def test_a_loop_that_has_done_its_work_is_over(observers: Observers) -> None:
    async def main() -> None:
        tries: list[None] = []

        async def loop() -> None:
            tries.append(None)
            if len(tries) < 3:
                raise ZeroDivisionError

        await observers.run("gauge", loop)
        assert len(tries) == 3

    run(main())
    assert observers.failures == {"gauge": 2}


def test_a_reader_that_fails_keeps_no_record_from_the_next_one(observers: Observers) -> None:
    def read(position: int, _: Sequence[Event]) -> None:
        raise KeyError(position)

    observers.calling("gauge", read)(7, [])

    assert observers.failures == {"gauge": 1}


def test_a_number_that_cannot_be_told_is_none(observers: Observers) -> None:
    assert observers.calling("gauge", failing)() is None
    assert observers.calling("other", lambda: 7)() == 7
    assert observers.failures == {"gauge": 1, "other": 0}


def test_an_observer_counts_as_failing_for_a_minute(clock: FakeClock, observers: Observers) -> None:
    observers.calling("gauge", failing)()
    clock.advance(FAILING_SECONDS - 1)
    assert observers.failing() == {"gauge": "[Errno 2] No such file or directory: '/proc/self/status'"}
    clock.advance(1)
    assert observers.failing() == {}


def test_what_fails_all_the_time_is_logged_once_a_minute(
    clock: FakeClock, observers: Observers, caplog: pytest.LogCaptureFixture
) -> None:
    ask = observers.calling("gauge", failing)
    for _ in range(2 * FAILING_SECONDS):
        ask()
        clock.advance(1)
    assert caplog.messages == [LINE, LINE]
    assert all(record.exc_info for record in caplog.records)
    assert observers.failures["gauge"] == 2 * FAILING_SECONDS


def test_what_an_error_quotes_is_shown_only_if_the_system_says_it(observers: Observers) -> None:
    def quoting() -> None:
        raise ValueError("a secret")

    observers.calling("gauge", quoting)()
    assert observers.failing() == {"gauge": "ValueError"}


def test_a_stop_is_no_failure(observers: Observers) -> None:
    async def main() -> None:
        running = asyncio.create_task(observers.run("gauge", asyncio.Event().wait))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(main())
    assert observers.failures == {"gauge": 0}
