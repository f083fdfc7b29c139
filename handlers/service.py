"""The endpoints that anyone may call: the API's description, and the health of the process."""

from collections.abc import Callable
from dataclasses import dataclass

from handlers.late import Late
from handlers.reply import Reply, success
from handlers.request import Request
from languages.refusals import Refusal


@dataclass(frozen=True)
class Service:
    """The description and the health of one gateway.

    Args:
        description: the OpenAPI document.
        page: the page made of it.
        readiness: returns None when the gateway is ready, else why it is not.
    """

    description: Late[Reply]
    page: Late[Reply]
    readiness: Callable[[], str | None]

    async def describe(self, _: Request) -> Reply:
        return await self.description.get()

    async def show(self, _: Request) -> Reply:
        return await self.page.get()

    def is_alive(self, _: Request) -> Reply:
        return success()

    def is_ready(self, _: Request) -> Reply:
        reason = self.readiness()
        if reason is not None:
            raise Refusal("not_ready", reason=reason)
        return success()
