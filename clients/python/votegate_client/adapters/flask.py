"""A receiver as a view of Flask."""

import asyncio
from collections.abc import Callable

from flask import request

from votegate_client.adapters.blocking import BlockingReceiver
from votegate_client.receiver import MOST_BYTES, TOO_LARGE, Receiver


def webhook_view(
    receiver: Receiver, loop: asyncio.AbstractEventLoop | None = None
) -> Callable[[], tuple[str, int, dict[str, str]]]:
    """Return a view: `app.post("/votes")(webhook_view(receiver))`.

    Args:
        loop: the running loop of a bot in another thread. `async def` handlers run there and can use the bot.
            Without it, they run in a thread of their own.
    """
    blocking = BlockingReceiver(receiver, loop)

    def votes() -> tuple[str, int, dict[str, str]]:
        length = request.content_length
        if length is not None and length > MOST_BYTES:
            answer = TOO_LARGE
        else:
            body = request.get_data() if length is not None else request.stream.read(MOST_BYTES + 1)
            answer = blocking.receive(request.headers.items(), body)
        return answer.text, answer.status, {"content-type": "text/plain; charset=utf-8"}

    return votes
