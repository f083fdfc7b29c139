"""The endpoint that Prometheus reads. Invariant: the format is one that the request accepts, else plain text.

Every Prometheus since 2.5 asks for OpenMetrics. A person who asks with a browser gets text.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from handlers.reply import Reply
from handlers.request import Request

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus, for a request that asks for no other."""


class Exposed(NamedTuple):
    """The numbers of one moment, as text."""

    text: bytes
    content_type: str


class Scrape:
    def __init__(self, expose: Callable[[str], Awaitable[Exposed]]) -> None:
        """`expose` takes the value of an Accept header."""
        self._expose = expose

    async def metrics(self, request: Request) -> Reply:
        text, content_type = await self._expose(request.headers.get("Accept", ""))
        return Reply(200, text, {"vary": "accept"}, content_type=content_type)
