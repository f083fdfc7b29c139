"""One scrape. Invariant: the loop copies the numbers, and a thread makes their text, one scrape at a time.

The text of a few thousand samples takes some ten milliseconds, and the first scrape imports the library. The
format is one that the request accepts, else plain text: every Prometheus since 2.5 asks for OpenMetrics, and
a person with a browser gets text.
"""

import asyncio
from collections.abc import Callable, Sequence

from handlers.reply import Reply
from handlers.request import Request
from metrics.families import Family

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus, for a request that asks for no other."""


class Scraping:
    """The endpoint that Prometheus reads."""

    def __init__(self, collect: Callable[[], Sequence[Family]]) -> None:
        """`collect` copies all numbers; it runs on the event loop."""
        self._collect = collect
        self._one_at_a_time = asyncio.Lock()

    async def metrics(self, request: Request) -> Reply:
        """Return the numbers of this moment, in the format that the Accept header asks for."""
        async with self._one_at_a_time:
            accept = request.headers.get("Accept", "")
            text, content_type = await asyncio.to_thread(_exposed, self._collect(), accept)
        return Reply(200, text, {"vary": "accept"}, content_type=content_type)


def _exposed(families: Sequence[Family], accept: str) -> tuple[bytes, str]:
    from metrics.exposition import exposition  # see there

    return exposition(families, accept)
