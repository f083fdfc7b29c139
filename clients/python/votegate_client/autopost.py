"""Push the counts of a bot of discord.py, disnake, nextcord or py-cord, once an hour."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence, Sized
from math import ceil
from typing import Protocol

from votegate_client.client import Client
from votegate_client.clock import Clock, SystemClock
from votegate_client.errors import RateLimited, Unavailable, VotegateError
from votegate_client.replies import LONGEST_WAIT

HOUR = 3600
"""Seconds. The limit is two pushes in two hours."""
AFTER_FAILURE = 300
"""Seconds from a failure that may pass to the next push, if the gateway names no wait."""
LEAST_WAIT = 60
"""Seconds: the shortest wait after a failure, even if the gateway asks for less."""

Count = Callable[[], int | Awaitable[int]]
"""A function that returns a count. It may be `async`."""

_log = logging.getLogger("votegate_client")
_running: set[asyncio.Task[None]] = set()
"""Tasks under way. The event loop refers to them only weakly, and a bot need not keep its AutoPoster."""


class Bot(Protocol):
    """A bot of discord.py, disnake, nextcord or py-cord."""

    @property
    def guilds(self) -> Sequence[object]: ...

    @property
    def shard_count(self) -> int | None: ...

    async def wait_until_ready(self) -> None: ...

    def is_closed(self) -> bool: ...


class AutoPoster:
    """Pushes the counts of a bot as soon as it is ready, and then once an hour.

    A failure is logged, and the next push comes when the gateway allows it: nothing is raised into the bot.
    After a restart, the limit of an earlier push may still hold. Then the first push comes when it ends.
    """

    def __init__(
        self,
        bot: Bot,
        client: Client,
        *,
        server_count: Count | None = None,
        command_count: Count | int | None = None,
        every: float = HOUR,
        clock: Clock | None = None,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            bot: The bot, with all of its shards in this process.
            client: Sends the counts.
            server_count: Returns the servers of all shards together. Needed if several processes
                share the shards. Then start an AutoPoster in one of them only.
            command_count: The commands that the bot has, or a function that returns them. If absent, no
                command count is pushed.
            every: Seconds between two pushes.
            clock: Replaced in tests.
        """
        self._bot = bot
        self._client = client
        self._server_count = server_count or self._servers_here
        self._command_count = command_count
        self._every = every
        self._clock = clock or SystemClock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to push; call it in `on_ready` or `setup_hook`. Do nothing if it is running already.

        Raises:
            RuntimeError: No event loop is running yet.
        """
        loop = asyncio.get_running_loop()
        if not self.is_running:
            self._task = loop.create_task(self._run(), name="votegate-autoposter")
            _running.add(self._task)
            self._task.add_done_callback(_running.discard)

    @property
    def is_running(self) -> bool:
        """True from `start` until `stop`, or until the bot is closed."""
        return self._task is not None and not self._task.done()

    async def stop(self) -> None:
        """Stop pushing, and close the client's connections. A later call of the client opens new ones."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._bot.wait_until_ready()
            while not self._bot.is_closed():
                await self._clock.sleep(await self._push())
        except Exception:
            _log.exception("The AutoPoster has stopped. Call `start` to push counts again.")
        finally:
            await self._client.close()

    async def _push(self) -> float:
        """Push once. Return the seconds until the next push."""
        try:
            servers = await _counted(self._server_count)
            commands = None if self._command_count is None else await _counted(self._command_count)
            await self._client.post_stats(servers, commands)
        except VotegateError as error:
            wait = self._wait_after(error)
            level = logging.INFO if isinstance(error, RateLimited) else logging.WARNING
            _log.log(level, "The counts were not pushed (%s). Next try in %d s.", error, ceil(wait))
            return wait
        except Exception:
            _log.exception("The counts were not pushed.")
            return min(self._every, AFTER_FAILURE)
        return self._every

    def _wait_after(self, error: VotegateError) -> float:
        if not isinstance(error, RateLimited | Unavailable):
            return self._every
        if error.wait is None:
            return min(self._every, AFTER_FAILURE)
        return min(max(error.wait, LEAST_WAIT), LONGEST_WAIT)

    def _servers_here(self) -> int:
        """Return the number of servers, which is right only if this process has all shards."""
        shards: Sized | None = getattr(self._bot, "shards", None)  # a bot without sharding has none
        here, all_of_them = 1 if shards is None else len(shards), self._bot.shard_count or 1
        if here < all_of_them:
            raise ValueError(
                f"This process has {here} of {all_of_them} shards. Give AutoPoster a `server_count` that adds"
                " up the servers of all processes, and start it in one of them."
            )
        return len(self._bot.guilds)


async def _counted(count: Count | int) -> int:
    found = count() if callable(count) else count
    return await found if inspect.isawaitable(found) else found
