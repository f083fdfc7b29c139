"""One scrape. Law: the loop copies the numbers, and a thread makes their text, one scrape at a time.

The text of a few thousand samples takes some ten milliseconds, and the first scrape imports the library.
"""

import asyncio
from collections.abc import Callable, Sequence

from handlers.scrape import Exposed
from metrics.families import Family


class Scraping:
    def __init__(self, collect: Callable[[], Sequence[Family]]) -> None:
        """`collect` copies all numbers; it runs on the event loop."""
        self._collect = collect
        self._one_at_a_time = asyncio.Lock()

    async def exposed(self, accept: str) -> Exposed:
        """Return the numbers of this moment, in the format that an Accept header asks for."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(_exposed, self._collect(), accept)


def _exposed(families: Sequence[Family], accept: str) -> Exposed:
    from metrics.exposition import exposition  # see there

    return exposition(families, accept)
