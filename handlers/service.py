"""The endpoints that anyone may call: the API's description, and the health of the process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from handlers.reply import NotReady, Reply, success
from handlers.request import Request


class LateReply:
    """A reply that is made in a thread when it is first asked for, and kept. A start does not wait for it."""

    def __init__(self, make: Callable[[], Reply]) -> None:
        self._make = make
        self._made: asyncio.Future[Reply] | None = None

    async def get(self) -> Reply:
        """Return the reply. Calls meanwhile wait for the same one."""
        if self._made is None:
            self._made = asyncio.ensure_future(asyncio.to_thread(self._make))
        return await asyncio.shield(self._made)


@dataclass(frozen=True)
class Service:
    """The description and the health of one gateway.

    Args:
        description: the OpenAPI document.
        page: the page made of it.
        readiness: returns None when the gateway is ready, else why it is not.
    """

    description: LateReply
    page: LateReply
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
            raise NotReady(reason)
        return success()
