"""Runs stories of the side `poster` with the Python client: `clients/README.md` says how to read them."""

import asyncio
from types import ModuleType

from tests.clients.client_runner import Conductor, check_exchanges, check_waits
from tests.clients.scripted_server import ScriptedServer
from tests.clients.stories import NOW, Story, client_options
from tests.clients.story_clock import StoryClock
from tests.support.gateways import WAIT_SECONDS


class ReadyBot:
    """A bot that is ready. Its servers come from a function."""

    guilds = ()
    shard_count = None

    async def wait_until_ready(self) -> None:
        pass

    def is_closed(self) -> bool:
        return False


async def run(story: Story, package: ModuleType) -> None:
    """Tell a story to the poster of a package. Raises AssertionError where it departs from it."""
    clock = StoryClock(NOW)
    conductor = Conductor(clock)
    server = ScriptedServer(story["server"], conductor.report)
    counts, is_over = [*story["server_counts"]], asyncio.Event()

    async def count() -> int:
        if not counts:
            is_over.set()
            await asyncio.Event().wait()
        found: int | None = counts.pop(0)
        if found is None:
            raise RuntimeError("A process has died.")
        return found

    options = {**client_options(story), "base_url": server.address}
    client = package.Client(**options, clock=clock)
    every = {"every": story["every"]} if "every" in story else {}
    poster = package.AutoPoster(
        ReadyBot(),
        client,
        server_count=count,
        command_count=story.get("command_count"),
        clock=clock,
        **every,
    )
    poster.start()
    try:
        await asyncio.wait_for(is_over.wait(), WAIT_SECONDS)
    finally:
        await poster.stop()
        left = await asyncio.to_thread(server.close)
    check_waits(conductor.seen, story["server"], 0)
    check_exchanges(story, conductor.seen, left, options["key"])
