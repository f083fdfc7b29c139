"""A receiver as an ASGI app, for Starlette, FastAPI, Quart and others, or for a server such as uvicorn alone.

    app = Starlette(routes=[Route("/votes", WebhookApp(receiver))])

Do not mount it: Starlette then redirects `/votes` to `/votes/`, and a gateway follows no redirect.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from votegate_client.receiver import MOST_BYTES, Answer, Receiver

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class WebhookApp:
    """An ASGI app that answers webhooks under every path."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        elif scope["method"] != "POST":
            await _answer(Answer(405, "Webhooks are sent with POST."), send)
        else:
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
            body = await _body(receive)
            if body is not None:
                await _answer(await self._receiver.receive(headers, body), send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Wait for the handlers when the server stops."""
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await self._receiver.finish()
        await send({"type": "lifespan.shutdown.complete"})


async def _body(receive: Receive) -> bytes | None:
    """Return the body, or its beginning if it is too large. None: the sender has gone away."""
    body = b""
    while len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


async def _answer(answer: Answer, send: Send) -> None:
    text = answer.text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8")] if text else []
    if answer.status == 405:
        headers.append((b"allow", b"POST"))
    if answer.status != 204:
        headers.append((b"content-length", str(len(text)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
