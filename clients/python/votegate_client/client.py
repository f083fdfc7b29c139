"""The client of the API: push counts, and ask whether a user has voted."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from votegate_client.bodies import time_of, whole_number
from votegate_client.calls import Caller, Endpoint
from votegate_client.clock import Clock, SystemClock
from votegate_client.pushes import Pushes

SNOWFLAKE = re.compile("[0-9]{17,20}")
KEY = re.compile("[!-~]+")


class VoteStatus(NamedTuple):
    """A user's votes for the bot."""

    voted: bool
    """True if the user has voted in the last 24 hours."""
    votes: int
    """All votes of the user for the bot, ever."""
    last_vote: datetime | None
    """The time of the latest vote, in UTC; None for never."""


class Client:
    """A client for one bot. Close it, or use it in `async with`.

    A request is sent again after a failure that may pass: 429, 5xx, a broken connection, a time-out. If a
    limit is used up, the next request waits. All waits of a call together are at most `longest_wait` seconds.
    A call that would have to wait longer raises its error at once.
    """

    def __init__(
        self,
        key: str,
        bot_id: str | int,
        base_url: str,
        *,
        timeout: float = 10,
        longest_wait: float = 60,
        session: aiohttp.ClientSession | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Check the arguments; nothing is sent.

        Args:
            key: The API key from the bot's management view. It is in no `repr`, log or error.
            bot_id: The bot's id.
            base_url: The address of the platform, such as "https://votes.example".
            timeout: Seconds that one request may take.
            longest_wait: Seconds that one call may wait between its requests.
            session: A session of aiohttp to send with. The client does not close it.
            clock: Replaced in tests.

        Raises:
            TypeError: The key is no text, or an id is neither text nor an integer.
            ValueError: An argument cannot be right.
        """
        if not KEY.fullmatch(key):
            raise ValueError(
                "The key must be the API key alone: text without spaces,"
                " and no word such as Bearer before it."
            )
        place = urlsplit(base_url)
        if place.scheme not in {"http", "https"} or not place.hostname or "@" in place.netloc or place.query:
            raise ValueError('The base address must be like "https://votes.example".')
        self.bot_id: str = _snowflake("bot_id", bot_id)
        self.base_url: str = base_url.rstrip("/")
        self._caller = Caller(key, timeout, longest_wait, session, clock or SystemClock())
        self._pushes = Pushes(self._send_counts)
        self._stats = Endpoint("PATCH")
        self._voters = Endpoint("GET")

    async def post_stats(self, server_count: int | None = None, command_count: int | None = None) -> None:
        """Push the bot's counts.

        At most one push is under way. Pushes that come meanwhile become one, with the newest counts, and all
        of them get its result.

        Args:
            server_count: The servers of all shards together.
            command_count: The commands that the bot has, not their uses.

        Raises:
            TypeError: There is no count, or one is no integer.
            VotegateError: The push failed.
        """
        given = {"server_count": server_count, "command_count": command_count}
        counts = {name: _count(name, count) for name, count in given.items() if count is not None}
        if not counts:
            raise TypeError("post_stats needs server_count, command_count, or both.")
        await self._pushes.push(counts)

    async def vote_status(self, user_id: str | int) -> VoteStatus:
        """Return a user's votes for the bot.

        Raises:
            TypeError: The id is neither text nor an integer.
            ValueError: The id does not have 17 to 20 digits.
            VotegateError: The request failed.
        """
        user = _snowflake("user_id", user_id)
        reply = await self._caller.call(self._voters, f"{self.base_url}/bots/{self.bot_id}/voters/{user}")
        status = None if reply.value is None else _vote_status(reply.value)
        if status is None:
            raise reply.error()
        return status

    async def has_voted(self, user_id: str | int) -> bool:
        """Return true if a user has voted for the bot in the last 24 hours.

        Raises:
            TypeError: The id is neither text nor an integer.
            ValueError: The id does not have 17 to 20 digits.
            VotegateError: The request failed.
        """
        return (await self.vote_status(user_id)).voted

    async def close(self) -> None:
        """Close the connections. A call that waits, or a later one, opens new ones until its end."""
        await self._caller.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Client(bot_id={self.bot_id!r}, base_url={self.base_url!r})"

    async def _send_counts(self, newest: Callable[[], Mapping[str, int]]) -> None:
        url = f"{self.base_url}/bots/{self.bot_id}/stats"
        reply = await self._caller.call(self._stats, url, newest)
        if reply.value is None or reply.value.get("success") is not True:
            raise reply.error()


def _vote_status(body: dict[str, Any]) -> VoteStatus | None:
    """Return the fields of a body; None if one is missing or cannot be right."""
    voted, votes, last_vote = body.get("voted"), whole_number(body.get("vote")), time_of(body.get("lastVote"))
    has_never_voted = body.get("lastVote", "missing") is None
    if not isinstance(voted, bool) or votes is None or (last_vote is None and not has_never_voted):
        return None
    return VoteStatus(voted, votes, last_vote)


def _snowflake(name: str, value: str | int) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{name} must be text or an integer, not {type(value).__name__}.")
    if not SNOWFLAKE.fullmatch(str(value)):
        raise ValueError(f"{name} must have 17 to 20 digits.")
    return str(value)


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}.")
    return value
