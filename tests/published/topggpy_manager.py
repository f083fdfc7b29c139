"""The WebhookManager of topggpy, used as in its documentation. It prints a line for each vote."""

import asyncio
import json
import sys
from typing import Any

from topgg.webhook import WebhookManager


class Bot:
    """The parts of a discord.Client that the manager needs: a loop, and a method that dispatches events."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()

    def dispatch(self, event: str, vote: Any) -> None:
        print(json.dumps({"event": event, **vote}, default=str), flush=True)  # noqa: T201 (the test reads it)


async def main(token: str) -> None:
    bot: Any = Bot()
    manager = WebhookManager(bot).dbl_webhook("/votes", token).dsl_webhook("/server-votes", token)
    await manager.run(0)
    site: Any = manager._webserver
    print(site._server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 (the test reads it)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
