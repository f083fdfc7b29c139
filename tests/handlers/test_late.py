"""handlers/late.py: a value is made once, when it is first asked for; a failure is not kept."""

import asyncio
import threading
from functools import partial

import pytest

from handlers.late import Late
from tests.support.gateways import WAIT_SECONDS


def test_all_that_ask_at_once_wait_for_the_same_value() -> None:
    made, may_end = list[int](), threading.Event()

    def make() -> int:
        may_end.wait(WAIT_SECONDS)
        made.append(1)
        return len(made)

    async def story() -> None:
        late = Late(make)
        asking = [asyncio.create_task(late.get()) for _ in range(3)]
        await asyncio.sleep(0)
        assert made == []
        may_end.set()
        assert await asyncio.gather(*asking) == [1, 1, 1]
        assert (await late.get(), late.value) == (1, 1)

    asyncio.run(story())


def test_a_caller_that_gives_up_ends_nothing_for_the_others() -> None:
    may_end = threading.Event()

    async def story() -> None:
        late = Late(partial(may_end.wait, WAIT_SECONDS))
        leaving, staying = (asyncio.create_task(late.get()) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        may_end.set()
        assert await staying is True

    asyncio.run(story())


def test_after_a_failure_the_next_call_makes_it_again() -> None:
    outcomes = iter([OSError(24, "Too many open files"), OSError(24, "Too many open files"), None])

    def make() -> str:
        if (error := next(outcomes)) is not None:
            raise error
        return "made"

    async def story() -> None:
        late = Late(make)
        for _ in range(2):
            with pytest.raises(OSError, match="Too many open files"):
                await late.get()
        assert await late.get() == "made"

    asyncio.run(story())
