"""The published Python packages of other lists, as their documentation shows them.

Call it with one of:

    host PACKAGE ADDRESS         push a count, and print the host that the client asks for
    overwritten PACKAGE ADDRESS  push a count after overwriting the client's address, and print the answer
    receiver top.py TOKEN        run the receiver, and print its port, then a line for each vote
    rewarded PROGRAM BODIES      hand bodies to on_dbl_vote of a program, and print the users that it rewards
"""

import asyncio
import contextlib
import importlib
import json
import sys
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver

MODULES: dict[str, Any] = {"topggpy": "topgg", "top.py": "toppy", "dblpy": "dbl"}


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 (the test reads it)


class Bot:
    """The parts of a discord.Client that the packages need."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.guilds = [SimpleNamespace(id=1)]
        self.shards = None
        self.user = SimpleNamespace(id=111111111111111111)

    def is_ready(self) -> bool:
        return True

    async def wait_until_ready(self) -> None:
        pass

    def dispatch(self, event: str, *values: Any) -> None:
        say(event, *values)


class Asked(AbstractResolver):
    """Says which host is asked for, and finds none."""

    async def resolve(self, host: str, *_: Any, **__: Any) -> Any:
        say(host)
        raise OSError

    async def close(self) -> None:
        pass


def client_of(package: str, session: aiohttp.ClientSession) -> Any:
    module = importlib.import_module(MODULES[package])
    if package == "topggpy":
        return module.DBLClient(Bot(), "the-key", session=session)
    client = module.TopGG(Bot(), token="the-key", autopost=False)
    client._session = session
    return client


async def push(client: Any) -> None:
    await (client.post_guild_count() if hasattr(client, "post_guild_count") else client.post_stats())


async def host(package: str, address: str) -> None:
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(resolver=Asked())) as session:
        with contextlib.suppress(aiohttp.ClientError, ValueError):
            await push(client_of(package, session))


async def overwritten(package: str, address: str) -> None:
    traced = aiohttp.TraceConfig()

    async def answered(_: Any, __: Any, found: aiohttp.TraceRequestEndParams) -> None:
        say(found.method, found.url.path, found.response.status)

    traced.on_request_end.append(answered)
    async with aiohttp.ClientSession(trace_configs=[traced]) as session:
        client = client_of(package, session)
        if package == "topggpy":
            client.http.BASE = address
        else:
            client._base_ = address
        with contextlib.suppress(Exception):
            await push(client)


async def receiver(package: str, token: str) -> None:
    server = importlib.import_module(f"{MODULES[package]}.server")
    started: list[web.AppRunner] = []
    setup = web.AppRunner.setup

    async def noted(runner: web.AppRunner) -> None:
        started.append(runner)
        await setup(runner)

    web.AppRunner.setup = noted  # type: ignore[assignment, method-assign]
    await server.start_server(Bot(), host="127.0.0.1", port=0, path="/votes", auth=token, verbose=False)
    say(started[0].addresses[0][1])
    await asyncio.Event().wait()


async def rewarded(program: str, bodies: str) -> None:
    async def reward(user: str) -> None:
        say(user)

    names: dict[str, Any] = {"bot": SimpleNamespace(event=lambda handler: handler), "reward": reward}
    exec(program, names)
    for body in json.loads(bodies):
        await names["on_dbl_vote"](importlib.import_module("topgg.types").BotVoteData(**body))


CALLS = {"host": host, "overwritten": overwritten, "receiver": receiver, "rewarded": rewarded}
asyncio.run(CALLS[sys.argv[1]](*sys.argv[2:]))
