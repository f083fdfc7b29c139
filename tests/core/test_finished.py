"""core/finished.py: the caller of a function does not need to know if it is async."""

import asyncio

from core.finished import finished


def test_a_result_is_returned_and_an_awaitable_is_awaited() -> None:
    async def later() -> int:
        return 2

    async def both() -> tuple[int, int]:
        return await finished(1), await finished(later())

    assert asyncio.run(both()) == (1, 2)
