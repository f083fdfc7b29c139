"""The endpoints that anyone may call: the API's description, and the health of the process."""

from collections.abc import Callable
from dataclasses import dataclass

from handlers.reply import NotReady, Reply, success
from handlers.request import Request


@dataclass(frozen=True)
class Service:
    """The description is made once, before the first request.

    Args:
        description: the OpenAPI document.
        page: the page made of it.
        readiness: returns None when the gateway is ready, else why it is not.
    """

    description: Reply
    page: Reply
    readiness: Callable[[], str | None]

    def describe(self, _: Request) -> Reply:
        return self.description

    def show(self, _: Request) -> Reply:
        return self.page

    def is_alive(self, _: Request) -> Reply:
        return success()

    def is_ready(self, _: Request) -> Reply:
        reason = self.readiness()
        if reason is not None:
            raise NotReady(reason)
        return success()
