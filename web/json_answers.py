"""The JSON endpoints as pages ask them. Law: a page shows what its twin answers, and acts as the API.

A question is a row of `handlers/routes.py` by its name. It is asked without the guard of its row, because the
page has checked who asks.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from handlers.reply import Reply, encode_json
from handlers.request import Request
from handlers.route import AnyRoute

T = TypeVar("T", bound=Struct)


class AnswerRefused(Exception):
    """An endpoint answered with an error, instead of raising it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class JsonAnswers:
    """The endpoints of a gateway by the names of their routes."""

    def __init__(self, *tables: tuple[Iterable[AnyRoute], Any]) -> None:
        """Args: tables: routes, and the objects that answer them."""
        self._routes = {route.name: (route, to) for routes, to in tables for route in routes}

    async def ask(
        self,
        answer: type[T],
        name: str,
        visitor: Request,
        *params: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        """Return the answer of an endpoint. Raises the refusals of its row, and AnswerRefused."""
        view = (await self.reply(name, visitor, *params, query=query, body=body)).view
        if not isinstance(view, answer):
            raise TypeError(f"{name} answers with {type(view).__name__}, not {answer.__name__}")
        return view

    async def reply(
        self,
        name: str,
        visitor: Request,
        *params: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Return the reply of an endpoint, such as a stream. Raises as `ask` does."""
        route, to = self._routes[name]
        question = visitor._replace(
            method=route.method,
            path=route.path,
            params=params,
            query=query or {},
            body=encode_json(body) if body is not None else b"",
        )
        made = route.endpoint(to)(question)
        reply = await made if inspect.isawaitable(made) else made
        if reply.status >= 400:
            raise AnswerRefused(reply)
        return reply
