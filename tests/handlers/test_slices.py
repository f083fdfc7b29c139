"""The first of many values are found in slices, as by sorting all of them."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from handlers.slices import first_of


def even(number: int) -> int | None:
    return number if number % 2 == 0 else None


@given(st.lists(st.integers(-9, 9)), st.integers(0, 5), st.integers(1, 4))
def test_the_first_values_are_those_of_the_sorted_list(numbers: list[int], most: int, at_once: int) -> None:
    found = asyncio.run(first_of(numbers, even, lambda number: -number, most=most, at_once=at_once))
    assert found == sorted((number for number in numbers if number % 2 == 0), reverse=True)[:most]


def test_other_tasks_run_between_two_slices() -> None:
    async def both() -> list[str]:
        steps: list[str] = []

        def step(number: int) -> int:
            steps.append(f"slice {number}")
            return number

        async def other() -> None:
            steps.append("other")

        task = asyncio.create_task(other())
        await first_of([1, 2], step, lambda number: number, most=1, at_once=1)
        await task
        return steps

    assert asyncio.run(both()) == ["slice 1", "other", "slice 2"]
