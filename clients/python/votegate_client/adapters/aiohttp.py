"""A receiver in an aiohttp application, or in a server of its own beside a bot."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from votegate_client.receiver import MOST_BYTES, TOO_LARGE, Receiver


def webhook_handler(receiver: Receiver) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler: `app.router.add_post("/votes", webhook_handler(receiver))`."""

    async def handle(request: web.Request) -> web.Response:
        if request.content_length is not None and request.content_length > MOST_BYTES:
            answer = TOO_LARGE
        else:
            answer = await receiver.receive(request.headers, await request.read())
        return web.Response(status=answer.status, text=answer.text or None)

    return handle


async def serve(
    receiver: Receiver, *, port: int, host: str = "127.0.0.1", path: str = "/votes"
) -> web.AppRunner:
    """Receive webhooks beside a bot, until `await runner.cleanup()`, which waits for the handlers.

    For discord.py, await it in `setup_hook`.

    Args:
        host: the address to listen on. With `0.0.0.0`, other machines can reach it.
    """

    async def finish(_: web.Application) -> None:
        await receiver.finish()

    app = web.Application()
    app.router.add_post(path, webhook_handler(receiver))
    app.on_cleanup.append(finish)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner
