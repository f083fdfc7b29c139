"""web/people/rounds.py: rounds go on until the gateway stops."""

import asyncio

from tests.support.coroutines import run
from web.people.rounds import in_rounds


def test_rounds_are_made_until_the_gateway_stops() -> None:
    async def main() -> None:
        stop, made = asyncio.Event(), list[int]()

        async def make() -> None:
            made.append(len(made))
            if len(made) == 3:
                stop.set()

        await in_rounds(make, 0, stop)
        assert made == [0, 1, 2]
        await in_rounds(make, 0, stop)
        assert made == [0, 1, 2]

    run(main())


def test_a_stop_does_not_wait_for_the_next_round() -> None:
    async def main() -> None:
        stop, made = asyncio.Event(), list[int]()

        async def make() -> None:
            made.append(len(made))
            asyncio.get_running_loop().call_soon(stop.set)

        await in_rounds(make, 86_400, stop)
        assert made == [0]

    run(main())
