"""A receiver as a view of Django, under WSGI or ASGI."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from votegate_client.adapters.blocking import BlockingReceiver
from votegate_client.receiver import MOST_BYTES, Receiver

View = Callable[[HttpRequest], HttpResponse]


def webhook_view(receiver: Receiver, loop: asyncio.AbstractEventLoop | None = None) -> View:
    """Return a view: `path("votes", webhook_view(receiver))`.

    Write handlers that use the database as `def`: Django refuses queries in an `async def`.

    Args:
        loop: the running loop of a bot in another thread. `async def` handlers run there and can use the bot.
            Without it, they run in a thread of their own.
    """
    blocking = BlockingReceiver(receiver, loop)

    def votes(request: HttpRequest) -> HttpResponse:
        headers = cast("Mapping[str, str]", request.headers)
        answer = blocking.receive(headers, request.read(MOST_BYTES + 1))
        text = answer.text.encode()
        return HttpResponse(text, status=answer.status, content_type="text/plain; charset=utf-8")

    return cast("View", csrf_exempt(require_POST(votes)))  # its signature replaces the CSRF token
