"""A bot with the library of its environment: `python library_bot.py MODULE KIND CHAT GATEWAY KEY`.

It writes a line when it is ready.
"""

import importlib
import logging
import sys
from typing import Any

from votegate_client import AutoPoster, Client

module, kind, chat, gateway, key = sys.argv[1:]
discord: Any = importlib.import_module(module)
commands: Any = importlib.import_module(f"{module}.ext.commands")
logging.basicConfig(level=logging.WARNING)


def connect_to(address: str) -> None:
    """Let the library connect to another address than the chat platform's."""
    http: Any = importlib.import_module(f"{module}.http")
    socket: Any = importlib.import_module(f"{module}.gateway")
    http.Route.BASE = http.Route.API_BASE_URL = f"http://{address}/api/v10"
    url: Any = importlib.import_module("yarl").URL
    socket.DiscordWebSocket.DEFAULT_GATEWAY = url(f"ws://{address}/socket/")


def made_bot() -> Any:
    intents = discord.Intents.none()
    intents.guilds = True
    return getattr(commands, kind)(command_prefix="!", intents=intents)


connect_to(chat)
bot = made_bot()
poster = AutoPoster(bot, Client(key, "111111111111111111", gateway), every=0.2)


@bot.event  # type: ignore[untyped-decorator]
async def on_ready() -> None:
    poster.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()


bot.run("the.bots.token")
