"""A receiver as a view of Django, under WSGI or ASGI."""

import asyncio
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from votegate_client.adapters.blocking import BlockingReceiver
from votegate_client.receiver import MOST_BYTES, Receiver


def webhook_view(
    receiver: Receiver, loop: asyncio.AbstractEventLoop | None = None
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a view: `path("votes", webhook_view(receiver))`.

    Write handlers that use the database as `def`: Django refuses queries in an `async def`.

    Args:
        loop: the running loop of a bot in another thread. `async def` handlers run there and can use the bot.
            Without it, they run in a thread of their own.
    """
    blocking = BlockingReceiver(receiver, loop)

    def votes(request: HttpRequest) -> HttpResponse:
        answer = blocking.receive(request.headers, request.read(MOST_BYTES + 1))
        return HttpResponse(answer.text, status=answer.status, content_type="text/plain; charset=utf-8")

    view: Callable[[HttpRequest], HttpResponse] = csrf_exempt(
        require_POST(votes)
    )  # the signature is the proof
    return view
