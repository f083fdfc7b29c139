"""The endpoint that Prometheus reads. Law: it always answers in the OpenMetrics text format.

Every Prometheus since 2.5 asks for that format. It is also what a person gets who asks for anything else.
"""

from collections.abc import Awaitable, Callable

from handlers.reply import Reply
from handlers.request import Request

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Scrape:
    def __init__(self, text: Callable[[], Awaitable[bytes]]) -> None:
        self._text = text

    async def metrics(self, _: Request) -> Reply:
        return Reply(200, await self._text(), content_type=OPENMETRICS)
