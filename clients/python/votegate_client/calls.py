"""Requests to the gateway. Each is tried until it succeeds, cannot succeed, or would wait too long."""

import asyncio
import json
import logging
import random
from collections.abc import Callable, Mapping
from math import ceil
from urllib.parse import urlsplit

import aiohttp

from votegate_client.bodies import json_object
from votegate_client.clock import Clock
from votegate_client.errors import RateLimited, Unavailable, VotegateError
from votegate_client.replies import Reply

MOST_BYTES = 1024 * 1024
"""Bytes of a reply that are read."""
LONGEST_BACK_OFF = 60
"""Seconds; each back-off is twice the one before it, from one second to this."""
USER_AGENT = "votegate-client/0.1.0 (Python)"

_log = logging.getLogger("votegate_client")


class Endpoint:
    """One of the two endpoints. Each has a limit of its own."""

    def __init__(self, method: str) -> None:
        self.method: str = method
        self.free_at: float = 0
        """Monotonic seconds: the limit allows no request before this time."""


class Caller:
    """Sends requests with the key of a bot.

    Invariant: the key is in no exception. Those of aiohttp hold the request, so none leaves this class.
    """

    def __init__(
        self,
        key: str,
        timeout: float,
        longest_wait: float,
        session: aiohttp.ClientSession | None,
        clock: Clock,
    ) -> None:
        # The key is the whole header: no "Bearer", no "Bot".
        self._headers = {"Authorization": key, "Accept-Encoding": "identity", "User-Agent": USER_AGENT}
        self._headers_with_body = {**self._headers, "Content-Type": "application/json"}
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._longest_wait = longest_wait
        self._own_session: aiohttp.ClientSession | None = None
        self._given_session = session
        self._is_closed = False
        self._under_way = 0
        """The number of calls that have not ended."""
        self._clock = clock

    async def call(
        self,
        endpoint: Endpoint,
        url: str,
        counts: Callable[[], Mapping[str, int]] | None = None,
    ) -> Reply:
        """Send a request, and again after each failure that may pass, and return the reply 200.

        Args:
            endpoint: The endpoint that the URL belongs to.
            url: The whole URL.
            counts: Called before each try; the try sends its result as JSON.

        Raises:
            VotegateError: The last try failed, and the next one cannot succeed or would come too late.
        """
        self._under_way += 1
        try:
            return await self._called(endpoint, url, counts)
        finally:
            self._under_way -= 1
            if self._is_closed and not self._under_way:  # it may have opened one after `close`
                await self.close()

    async def close(self) -> None:
        """Close the connections, but not those of a session that was given.

        A call that has not ended, or a later one, opens new ones, and closes them at its end.
        """
        self._is_closed = True
        session, self._own_session = self._own_session, None
        if session is not None:
            await session.close()

    async def _called(
        self, endpoint: Endpoint, url: str, counts: Callable[[], Mapping[str, int]] | None
    ) -> Reply:
        error: VotegateError | None = None
        back_off = 0
        waited = 0.0
        while True:
            wait = max(self._wait_for_limit(endpoint), back_off, _asked_wait(error))
            if wait:
                waited += wait
                if waited > self._longest_wait:
                    raise error or RateLimited("The limit is used up.", wait=wait)
                level = logging.WARNING if back_off == 1 else logging.INFO  # 1: the call has failed once
                reason = error or "the limit is used up"
                _log.log(level, "A request to %s waits %d s: %s", urlsplit(url).netloc, ceil(wait), reason)
                await self._clock.sleep(wait + random.random())  # noqa: S311 -- it spreads requests
            reply = await self._try(endpoint, url, None if counts is None else counts())
            if isinstance(reply, Reply):
                if reply.status == 200 and reply.value is not None:
                    return reply
                error = reply.error()
            else:
                error = reply
            if not _may_pass(error):
                raise error
            back_off = min(back_off * 2 or 1, LONGEST_BACK_OFF)

    def _wait_for_limit(self, endpoint: Endpoint) -> float:
        # Rounded, so that 60 seconds are not 60.00000000000023.
        return max(0, round(endpoint.free_at - self._clock.monotonic(), 3))

    async def _try(
        self, endpoint: Endpoint, url: str, counts: Mapping[str, int] | None
    ) -> Reply | Unavailable:
        """Send a request once. Return its error: if it were raised, aiohttp's error would be its context."""
        try:
            reply = await self._exchange(endpoint.method, url, counts)
        except asyncio.TimeoutError:
            return Unavailable(f"No answer within {self._timeout.total:g} seconds.")
        except (aiohttp.ClientError, OSError) as problem:
            # It quotes a broken answer, which may quote the request.
            return Unavailable(f"No answer: {problem}".replace(self._headers["Authorization"], "[key]"))
        limit = reply.seconds_at_limit()
        if limit:
            endpoint.free_at = max(endpoint.free_at, self._clock.monotonic() + limit)
        return reply

    async def _exchange(self, method: str, url: str, counts: Mapping[str, int] | None) -> Reply:
        request = self._session().request(
            method,
            url,
            data=None if counts is None else json.dumps(counts).encode(),
            headers=self._headers if counts is None else self._headers_with_body,
            allow_redirects=False,  # a redirect would send the key to another server
            raise_for_status=False,
            timeout=self._timeout,
        )
        async with request as response:
            body = b""
            while not response.content.at_eof():
                body += await response.content.readany()
                if len(body) > MOST_BYTES:
                    body = b""  # which is no JSON object
                    response.close()
                    break
            return Reply(response.status, response.headers, json_object(body), self._clock.time())

    def _session(self) -> aiohttp.ClientSession:
        if self._given_session is not None:
            return self._given_session
        if self._own_session is None:
            self._own_session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self._own_session


def _may_pass(error: VotegateError) -> bool:
    return error.status in {0, 429} or error.status >= 500


def _asked_wait(error: VotegateError | None) -> float:
    return (error.wait or 0) if isinstance(error, RateLimited | Unavailable) else 0
