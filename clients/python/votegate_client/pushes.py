"""Pushes of counts, one after the other. Those that wait become one, with the newest counts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from votegate_client.errors import VotegateError

Counts = Mapping[str, int]
Send = Callable[[Callable[[], Counts]], Awaitable[object]]
"""A function that sends counts. It calls its argument for the newest counts before each try."""


class Pushes:
    """The pushes of one bot.

    Invariant: at most one is under way.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._under_way = asyncio.Lock()
        self._callers: dict[int, Counts] = {}
        """The counts of all callers that have no result yet, oldest first, by number."""
        self._newest = 0
        """The number of the newest caller."""
        self._carried = 0
        """The number of the newest caller whose counts the last finished push carried."""
        self._failure: VotegateError | None = None
        """The error of that push."""

    async def push(self, counts: Counts) -> None:
        """Push counts, or wait for a push that carries them or newer ones.

        Raises:
            VotegateError: That push failed.
        """
        self._newest += 1
        number = self._newest
        self._callers[number] = counts
        try:
            async with self._under_way:  # first come, first served
                if self._carried < number:
                    await self._push()
                if self._failure is not None:
                    raise self._failure
        finally:
            del self._callers[number]

    async def _push(self) -> None:
        carried, self._failure = self._carried, None

        def newest() -> Counts:
            nonlocal carried
            waiting = [counts for number, counts in self._callers.items() if number > self._carried]
            carried = self._newest
            return {name: count for counts in waiting for name, count in counts.items()}

        try:
            await self._send(newest)
        except VotegateError as error:
            self._failure = error
        self._carried = carried
