"""The sources of actual server counts: none, the operator, and an HTTP service of the platform. Each gives a
number or None.

Whatever the service does wrong (slow, down, redirecting, wrong types or ranges), the result is None and never
an error.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import msgspec

from core.clock import NS_PER_SECOND, Clock
from core.state import State
from core.version import VERSION
from kinds.bots import BOTS
from outbound.client import HttpClient, open_client
from outbound.targets import AnyTarget


class NoCounts:
    """The source `none`: bots cannot update their server_count."""

    async def actual(self, ref: str) -> int | None:  # noqa: ARG002 (the protocol's signature)
        return None

    def missing(self, ref: str) -> str:  # noqa: ARG002 (the protocol's signature)
        return (
            "The bot cannot push server_count, only command_count: guild_counts.source is none. "
            "Set it to operator, http or platform in the gateway's settings."
        )

    def retry_seconds(self, ref: str) -> None:
        """Return None: nothing is on its way."""


class OperatorCounts:
    """The source `operator`: `PUT /manage/bots/{id}/actual-server-count` sets the counts."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def actual(self, ref: str) -> int | None:
        listing = self._state.listings.get(ref)
        return listing.actual if listing is not None else None

    def missing(self, ref: str) -> str | None:
        listing = self._state.listings.get(ref)
        if listing is not None and listing.actual is not None:
            return None
        return f"The bot cannot push server_count before its actual server count is set. {how_to_set(ref)}"

    def retry_seconds(self, ref: str) -> None:
        """Return None: nobody knows when the operator sets it."""


def how_to_set(ref: str) -> str:
    """Return how the operator sets the count of a bot."""
    return (
        f"Set it: votegate admin counts {ref.removeprefix(BOTS.prefix)} <number>, "
        f'or PUT /manage/{ref}/actual-server-count with {{"server_count": <number>}}.'
    )


# -- an HTTP service of the platform -------------------------------------------------------------------------

log = logging.getLogger(__name__)

AT_ONCE = 100
"""The most requests under way."""
MAX_CACHED = 10_000


class _LookupAnswer(msgspec.Struct):
    server_count: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class _NoCount(ValueError):
    """An answer without a count: the class of the failure."""


_decode = msgspec.json.Decoder(_LookupAnswer, strict=True).decode


class HttpCounts:
    """The source `http`: `GET <url with {id} filled in>` has to answer 200, `{"server_count": <integer>}`.

    An answer is cached for `cache_seconds`. Callers who ask for the same bot meanwhile share one request.
    `open_http_counts` makes the source.
    """

    def __init__(
        self, client: HttpClient, url: str, authorization: str | None, cache_seconds: float, clock: Clock
    ) -> None:
        self._client = client
        self._url = url
        self._headers = {"Authorization": authorization} if authorization else {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._cache_ns = round(cache_seconds * NS_PER_SECOND)
        self._clock = clock
        self._cached: dict[str, tuple[int, int]] = {}  # ref -> (count, asked at, monotonic ns)
        self._asking: dict[str, asyncio.Task[int | None]] = {}

    async def close(self) -> None:
        """Cancel the requests that run."""
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def actual(self, ref: str) -> int | None:
        known = self._cached.get(ref)
        if known is not None and self._clock.monotonic_ns() - known[1] < self._cache_ns:
            return known[0]
        asking = self._asking.get(ref)
        if asking is None:
            asking = self._asking[ref] = asyncio.create_task(self._ask(ref))
            asking.add_done_callback(lambda _: self._asking.pop(ref, None))
        return await asyncio.shield(asking)

    def missing(self, ref: str) -> str | None:  # noqa: ARG002 (the protocol's signature)
        """Return None: only a request can tell."""
        return None

    def retry_seconds(self, ref: str) -> None:
        """Return None: the push has waited for the answer."""

    async def _ask(self, ref: str) -> int | None:
        asked_ns = self._clock.monotonic_ns()
        try:
            count = await self._fetch(self._url.replace("{id}", ref.partition("/")[2]))
        except (ValueError, RecursionError) as error:
            # A message of the decoder quotes the answer: its class says enough.
            reason = error.args[0] if isinstance(error, _NoCount) else type(error).__name__
            log.warning("guild-count look-up for %s failed: %s", ref, reason)
            return None
        self._cached.pop(ref, None)
        self._cached[ref] = (count, asked_ns)
        if len(self._cached) > MAX_CACHED:
            del self._cached[next(iter(self._cached))]
        return count

    async def _fetch(self, url: str) -> int:
        """Return the count. Raises ValueError for an answer that holds none."""
        async with self._turns:
            result = await self._client.get(url, self._headers)
        if result.status != 200 or not result.is_whole:
            raise _NoCount(result.error or ("cut off" if result.status == 200 else f"http_{result.status}"))
        return _decode(result.body).server_count


@asynccontextmanager
async def open_http_counts(
    url: str, authorization: str | None, timeout_seconds: float, cache_seconds: float, clock: Clock
) -> AsyncIterator[HttpCounts]:
    """Open a source whose connections close with the context.

    Args:
        timeout_seconds: covers a whole exchange.
    """
    opening = open_client(
        AnyTarget(), timeout_seconds=timeout_seconds, user_agent=f"Votegate/{VERSION}", clock=clock
    )
    async with opening as client:
        counts = HttpCounts(client, url, authorization, cache_seconds, clock)
        try:
            yield counts
        finally:
            await counts.close()
